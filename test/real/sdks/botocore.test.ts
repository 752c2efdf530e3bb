import { join } from "node:path";
import { BOTOCORE, wheelsIn } from "../../programs/wheels.ts";
import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";

const PROGRAM = join(import.meta.dirname, "clients", "botocore_client.py");

testSDK("botocore", [BOTOCORE], async (installed) => {
  const { python, folder } = await wheelsIn(installed);
  const variables = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" };
  return { sdk: "botocore", run: runWith(python, [PROGRAM], variables) };
});
