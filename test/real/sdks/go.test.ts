import { runWith } from "./client.ts";
import { findGo } from "./go.ts";
import { testSDK } from "./sdk-matrix.ts";

testSDK("the AWS SDK for Go", async (environment) => {
  const found = await findGo(environment);
  return found.found ? { found: true, client: { sdk: "go", run: runWith(found.program) } } : found;
});
