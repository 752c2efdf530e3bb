import path from "node:path";
import type { Recipe } from "./cache.ts";
import { runTool } from "./run-program.ts";

/** A client of the AWS SDK for Java: compiled classes, and the versions of packages in pom.xml. */
export const JAVA_CLIENT: Recipe = {
  name: "java-client",
  group: "sdks",
  needs: "a JDK >= 17 and Maven, once, about 10 seconds",
  sources: path.join(import.meta.dirname, "../real/sdks/clients/java"),
  files: ["pom.xml", path.join("src", "JavaClient.java")],
  async build(folder, sources) {
    const goals = ["compiler:compile", "dependency:copy-dependencies", "-DincludeScope=runtime"];
    await runTool("mvn", ["--quiet", "--batch-mode", `-DbuildFolder=${folder}`, ...goals], sources);
  },
};

/** The command of the Java program. The caller appends the arguments of the client to this command. */
interface JavaCommand {
  readonly java: string;
  readonly args: readonly string[];
}

/** Returns the command that runs the classes in the folder of JAVA_CLIENT. Rejects if Java is not installed. */
export async function javaCommand(folder: string): Promise<JavaCommand> {
  const classPath = [path.join(folder, "classes"), path.join(folder, "dependency", "*")].join(path.delimiter);
  // Turns off the optimizing compiler, because the program runs for only a second.
  const args = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, "JavaClient"];
  return { java: await interpreter(), args };
}

/** Returns the path of the java binary, because the clients of a test have no PATH. */
async function interpreter(): Promise<string> {
  const { stderr } = await runTool("java", ["-XshowSettings:properties", "-version"], import.meta.dirname);
  const home = /^ *java\.home = (.+)$/mu.exec(stderr)?.[1];
  if (home === undefined) throw new Error(`java -XshowSettings:properties prints no java.home:\n${stderr}`);
  return path.join(home, "bin", "java");
}
