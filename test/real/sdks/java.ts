import path from "node:path";
import type { RealEnvironment } from "../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

const RECIPE: Recipe = {
  name: "java-client",
  sources: path.join(import.meta.dirname, "clients", "java"),
  files: ["pom.xml", path.join("src", "JavaClient.java")],
  needs: "a JDK >= 17 and Maven, once, about 10 seconds",
  async build(folder, sources) {
    const goals = ["compiler:compile", "dependency:copy-dependencies", "-DincludeScope=runtime"];
    await runTool("mvn", ["--quiet", "--batch-mode", `-DbuildFolder=${folder}`, ...goals], sources);
  },
};

/** What starts the Java program; its own arguments follow. */
export interface JavaCommand {
  readonly java: string;
  readonly args: readonly string[];
}

/** How the Java program is run, or one sentence that says why a test is skipped and how to have it run. */
export type FoundJava = { readonly found: true; readonly command: JavaCommand } | { readonly found: false; readonly reason: string };

/** Finds the Java program in the cache; with `CI=true` it is built there first, and a failure to is one of the test. */
export async function findJava(environment: RealEnvironment): Promise<FoundJava> {
  const client = await findClient(environment, RECIPE);
  if (!client.found) return client;
  const java = await interpreter().catch((error: unknown) => {
    if (environment.ci) throw error;
    return null;
  });
  if (java === null) return { found: false, reason: `no Java here to run the client with; it needs ${RECIPE.needs}` };
  const classPath = [path.join(client.folder, "classes"), path.join(client.folder, "dependency", "*")].join(path.delimiter);
  // A program that lives for a second gains nothing from the optimising compiler.
  return { found: true, command: { java, args: ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, "JavaClient"] } };
}

/** The folder of the Java program's classes in the cache, built there first with Maven when it is not: the versions of pom.xml. */
export async function setUpJava(environment: RealEnvironment): Promise<string> {
  return setUpClient(environment, RECIPE);
}

/** The program itself: a test's clients get no PATH to find it on. */
async function interpreter(): Promise<string> {
  const { stderr } = await runTool("java", ["-XshowSettings:properties", "-version"], import.meta.dirname);
  const home = /^ *java\.home = (.+)$/mu.exec(stderr)?.[1];
  if (home === undefined) throw new Error(`java -XshowSettings:properties names no java.home:\n${stderr}`);
  return path.join(home, "bin", "java");
}
