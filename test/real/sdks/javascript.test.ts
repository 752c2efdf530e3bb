import { join } from "node:path";
import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";

const PROGRAM = join(import.meta.dirname, "clients", "javascript.ts");

testSDK("the AWS SDK for JavaScript", [], async () => ({
  sdk: "javascript", run: runWith(process.execPath, [PROGRAM]),
}));
