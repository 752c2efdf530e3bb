import type { RealEnvironment } from "../environment.ts";
import { BOTOCORE } from "./botocore.ts";
import { setUpGo } from "./go.ts";
import { setUpJava } from "./java.ts";
import { MOTO } from "./moto.ts";
import { setUpRust } from "./rust.ts";
import { setUpWheels } from "./wheels.ts";

type SetUp = (environment: RealEnvironment) => Promise<string>;

const TOOLCHAINS: Readonly<Record<string, SetUp>> = {
  botocore: (environment) => setUpWheels(environment, BOTOCORE),
  moto: (environment) => setUpWheels(environment, MOTO),
  go: setUpGo,
  java: setUpJava,
  rust: setUpRust,
};

/**
 * Has the clients of the SDKs and moto stand in the cache, or those named alone; resolves to where. One after the other, as each takes
 * what cores there are. Rejects with all that could not be set up, once the others are.
 */
export async function setUpSDKs(environment: RealEnvironment, names: readonly string[] = Object.keys(TOOLCHAINS)): Promise<readonly string[]> {
  const places: string[] = [];
  const faults: string[] = [];
  for (const name of names) {
    try {
      places.push(await setUpOne(name, environment));
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (faults.length === 0) return places;
  throw new Error(`not set up:\n${faults.join("\n")}\nThe tests of the others run without; name those alone to leave one out: npm run setup:sdks -- go moto`);
}

async function setUpOne(name: string, environment: RealEnvironment): Promise<string> {
  const setUp = TOOLCHAINS[name];
  if (setUp === undefined) throw new Error(`there is no such client; there are ${Object.keys(TOOLCHAINS).join(", ")}`);
  return setUp(environment);
}
