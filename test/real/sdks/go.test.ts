import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";
import { findGo } from "./toolchains/go.ts";

testSDK("the AWS SDK for Go", async (environment) => {
  const found = await findGo(environment);
  return found.found ? { found: true, client: { sdk: "go", run: runWith(found.program) } } : found;
});
