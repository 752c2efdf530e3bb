import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import manifest from "../../../package.json" with { type: "json" };
import { readEnvironment } from "../../programs/environment.ts";
import { findPackages } from "../../programs/packages.ts";
import { RELEASE_NODES, RELEASE_TOOLS } from "../../programs/release-tools.ts";
import { RENDERERS } from "../../programs/renderers.ts";
import { runProgram } from "../../programs/run-program.ts";
import { copyOfCheckout, environmentWith, withoutTap } from "../ci/packed.ts";
import { findPrograms } from "../find-programs.ts";
import { setTimeLimit } from "../time-limit.ts";

const LIMIT_MS = 40 * 60_000;
export const VERSION = manifest.version;
export const REVISION = "0123456789abcdef0123456789abcdef01234567";

/** The files of a release, and the programs that its tests run. */
export interface Release {
  readonly folder: string;
  readonly helm: string;
  readonly registry: string;
}

/**
 * Builds a release with `npm run release` in a copy of the checkout. Skips the test and returns null if a program is
 * missing. With `CI=true`, a missing program fails the test.
 */
export async function buildRelease(t: Test): Promise<Release | null> {
  const programs = await findPrograms(t, RENDERERS, RELEASE_TOOLS, RELEASE_NODES);
  if (programs === null) return null;
  const packages = await findPackages("release");
  if ("fault" in packages) {
    if (readEnvironment().ci) throw new Error(packages.fault);
    t.plan(0, packages.fault);
    return null;
  }
  const [renderers, tools, nodes] = programs;
  const release = { helm: path.join(renderers, "helm"), registry: path.join(tools, "registry") };
  setTimeLimit(t, LIMIT_MS);
  const home = t.testdir({});
  const folder = path.join(home, "release");
  const cwd = await copyOfCheckout(home);
  const env = {
    ...environmentWith(home, renderers), REVISION, SOURCE_DATE_EPOCH: "1700000000", IMAGE: "registry.example.com/a",
    npm_config_cache: nodes, npm_config_offline: "true",
  };
  const { code, stdout, stderr } = await runProgram(
    ...withoutTap("npm", ["run", "release", "--", folder]), { cwd, env },
  );
  if (code !== 0) throw new Error(`npm run release exited with ${code}:\n${stdout}${stderr}`);
  t.comment(stdout);
  return { ...release, folder };
}

/** Returns a text file of a release. */
export function textOf({ folder }: Release, name: string): Promise<string> {
  return readFile(path.join(folder, name), "utf8");
}
