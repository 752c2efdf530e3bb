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
 * Has the clients of the SDKs and moto stand in the cache, or those named alone; tells where through `tell`. One after the other, as
 * each takes what cores there are. Rejects with what every one that could not be set up said, once the others are.
 */
export async function setUpSDKs(environment: RealEnvironment, names: readonly string[] = [], tell: (line: string) => void = () => {}): Promise<void> {
  const unknown = names.filter((name) => TOOLCHAINS[name] === undefined);
  if (unknown.length > 0) throw new Error(`no such client: ${unknown.join(", ")}; there are ${Object.keys(TOOLCHAINS).join(", ")}`);
  const faults: string[] = [];
  for (const [name, setUp] of Object.entries(TOOLCHAINS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    await setUp(environment).then(tell, (error: unknown) => faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`));
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
