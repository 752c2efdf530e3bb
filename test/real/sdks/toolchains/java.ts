import path from "node:path";
import type { RealEnvironment } from "../../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

const RECIPE: Recipe = {
  name: "java-client",
  sources: path.join(import.meta.dirname, "..", "clients", "java"),
  files: ["pom.xml", path.join("src", "JavaClient.java")],
  needs: "a JDK >= 17 and Maven, once, about 10 seconds",
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

/**
 * The command of the Java program or, if the program is missing, the reason why its tests are skipped, with the fix.
 */
type FoundJava =
  | { readonly found: true; readonly command: JavaCommand }
  | { readonly found: false; readonly reason: string };

/**
 * Finds the Java program in the cache. With `CI=true`, builds the Java program if it is missing, and rejects if the
 * build fails.
 */
export async function findJava(environment: RealEnvironment): Promise<FoundJava> {
  const client = await findClient(environment, RECIPE);
  if (!client.found) return client;
  const java = await interpreter().catch((error: unknown) => {
    if (environment.ci) throw error;
    return null;
  });
  if (java === null) return { found: false, reason: `no Java found to run the client; it requires ${RECIPE.needs}` };
  const folders = [path.join(client.folder, "classes"), path.join(client.folder, "dependency", "*")];
  const classPath = folders.join(path.delimiter);
  // Turns off the optimizing compiler, because the program runs for only a second.
  const args = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, "JavaClient"];
  return { found: true, command: { java, args } };
}

/**
 * Returns the folder of the compiled classes. If the classes are missing, builds them with Maven and the versions in
 * pom.xml.
 */
export async function setUpJava(environment: RealEnvironment): Promise<string> {
  return setUpClient(environment, RECIPE);
}

/** Returns the path of the java binary, because the clients of a test have no PATH. */
async function interpreter(): Promise<string> {
  const { stderr } = await runTool("java", ["-XshowSettings:properties", "-version"], import.meta.dirname);
  const home = /^ *java\.home = (.+)$/mu.exec(stderr)?.[1];
  if (home === undefined) throw new Error(`java -XshowSettings:properties prints no java.home:\n${stderr}`);
  return path.join(home, "bin", "java");
}
