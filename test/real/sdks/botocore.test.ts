import { join } from "node:path";
import { BOTOCORE } from "./botocore.ts";
import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";
import { findWheels } from "./wheels.ts";

const PROGRAM = join(import.meta.dirname, "clients", "botocore_client.py");

testSDK("botocore", async (environment) => {
  const found = await findWheels(environment, BOTOCORE);
  if (!found.found) return found;
  const { python, folder } = found.wheels;
  return { found: true, client: { sdk: "botocore", run: runWith(python, [PROGRAM], { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" }) } };
});
