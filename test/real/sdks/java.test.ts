import { JAVA_CLIENT, javaCommand } from "../../programs/java-client.ts";
import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";

testSDK("the AWS SDK for Java", [JAVA_CLIENT], async (folder) => {
  const { java, args } = await javaCommand(folder);
  return { sdk: "java", run: runWith(java, args) };
});
