import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";
import { findJava } from "./toolchains/java.ts";

testSDK("the AWS SDK for Java", async (environment) => {
  const found = await findJava(environment);
  if (!found.found) return found;
  return { found: true, client: { sdk: "java", run: runWith(found.command.java, found.command.args) } };
});
