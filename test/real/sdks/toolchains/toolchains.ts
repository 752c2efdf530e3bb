import type { RealEnvironment } from "../../environment.ts";
import { MOTO } from "../moto.ts";
import { setUpGo } from "./go.ts";
import { setUpJava } from "./java.ts";
import { setUpRust } from "./rust.ts";
import { BOTOCORE, setUpWheels } from "./wheels.ts";

type SetUp = (environment: RealEnvironment) => Promise<string>;

const TOOLCHAINS: Readonly<Record<string, SetUp>> = {
  botocore: (environment) => setUpWheels(environment, BOTOCORE),
  moto: (environment) => setUpWheels(environment, MOTO),
  go: setUpGo,
  java: setUpJava,
  rust: setUpRust,
};

/**
 * Builds the SDK clients and moto in the cache, or only those in `names`, and returns their paths. Builds run in
 * sequence, because each one uses all cores. If builds fail, rejects after the last build, with every failure.
 */
export async function setUpSDKs(
  environment: RealEnvironment, names: readonly string[] = Object.keys(TOOLCHAINS),
): Promise<readonly string[]> {
  const paths: string[] = [];
  const failures: string[] = [];
  for (const name of names) {
    try {
      paths.push(await setUpOne(name, environment));
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (failures.length === 0) return paths;
  const hint = "Tests of the other clients still run. To skip a client, name the others: npm run setup:sdks -- go moto";
  throw new Error(`not set up:\n${failures.join("\n")}\n${hint}`);
}

async function setUpOne(name: string, environment: RealEnvironment): Promise<string> {
  const setUp = TOOLCHAINS[name];
  if (setUp === undefined) throw new Error(`unknown client; use one of ${Object.keys(TOOLCHAINS).join(", ")}`);
  return setUp(environment);
}
