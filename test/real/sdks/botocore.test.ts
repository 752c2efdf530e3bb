import { join } from "node:path";
import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";
import { BOTOCORE, findWheels } from "./toolchains/wheels.ts";

const PROGRAM = join(import.meta.dirname, "clients", "botocore_client.py");

testSDK("botocore", async (environment) => {
  const found = await findWheels(environment, BOTOCORE);
  if (!found.found) return found;
  const { python, folder } = found.wheels;
  const variables = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" };
  return { found: true, client: { sdk: "botocore", run: runWith(python, [PROGRAM], variables) } };
});
