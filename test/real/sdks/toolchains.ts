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
 * what cores there are.
 */
export async function setUpSDKs(environment: RealEnvironment, names: readonly string[] = []): Promise<readonly string[]> {
  const unknown = names.filter((name) => TOOLCHAINS[name] === undefined);
  if (unknown.length > 0) throw new Error(`no such client: ${unknown.join(", ")}; there are ${Object.keys(TOOLCHAINS).join(", ")}`);
  const places: string[] = [];
  for (const [name, setUp] of Object.entries(TOOLCHAINS)) {
    if (names.length === 0 || names.includes(name)) places.push(await setUp(environment));
  }
  return places;
}
