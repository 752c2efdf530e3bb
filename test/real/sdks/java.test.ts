import { runWith } from "./client.ts";
import { findJava } from "./java.ts";
import { testSDK } from "./sdk-matrix.ts";

testSDK("the AWS SDK for Java", async (environment) => {
  const found = await findJava(environment);
  return found.found ? { found: true, client: { sdk: "java", run: runWith(found.command.java, found.command.args) } } : found;
});
