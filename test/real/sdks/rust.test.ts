import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";
import { findRust } from "./toolchains/rust.ts";

testSDK("the AWS SDK for Rust", async (environment) => {
  const found = await findRust(environment);
  return found.found ? { found: true, client: { sdk: "rust", run: runWith(found.program) } } : found;
});
