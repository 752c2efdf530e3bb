import path from "node:path";
import type { Test } from "tap";
import { field } from "../../../shared/formats/json.ts";
import { runProgram } from "../../programs/run-program.ts";
import { readEnvironment, readPath } from "../../programs/environment.ts";

/** Runs buildah, and returns its standard output. Rejects with its standard error if buildah fails. */
export type Buildah = (args: readonly string[]) => Promise<string>;

const MISSING = "buildah is missing; install the Debian package buildah";
/** Short names are not resolved, so that no build contacts a registry. */
const REGISTRIES = 'short-name-mode = "enforcing"\nunqualified-search-registries = []\n';

/**
 * Returns buildah, with its storage in a folder of the test. Skips the test and returns null if buildah is not
 * installed. With `CI=true`, a missing buildah fails the test.
 */
export async function findBuildah(t: Test): Promise<Buildah | null> {
  const home = t.testdir({ "registries.conf": REGISTRIES });
  const storage = ["--root", path.join(home, "root"), "--runroot", path.join(home, "run"), "--storage-driver", "vfs"];
  const env = {
    HOME: home, PATH: readPath().join(path.delimiter), CONTAINERS_REGISTRIES_CONF: path.join(home, "registries.conf"),
  };
  const run: Buildah = async (args) => {
    const { code, stdout, stderr } = await runProgram("buildah", [...storage, ...args], { cwd: home, env });
    if (code !== 0) throw new Error(`buildah ${args.join(" ")} exited with ${code}:\n${stdout}${stderr}`);
    return stdout.trim();
  };
  try {
    await run(["--version"]);
    return run;
  } catch (error) {
    if (readEnvironment().ci) throw new Error(MISSING, { cause: error });
    t.plan(0, MISSING);
    return null;
  }
}

/** Returns the configuration of an image, which `buildah inspect` prints. */
export async function configOf(buildah: Buildah, image: string): Promise<unknown> {
  const inspected: unknown = JSON.parse(await buildah(["inspect", "--type", "image", image]));
  return field(field(inspected, "OCIv1"), "config");
}
