import { runWith } from "./client.ts";
import { findRust } from "./rust.ts";
import { testSDK } from "./sdk-matrix.ts";

testSDK("the AWS SDK for Rust", async (environment) => {
  const found = await findRust(environment);
  return found.found ? { found: true, client: { sdk: "rust", run: runWith(found.program) } } : found;
});
