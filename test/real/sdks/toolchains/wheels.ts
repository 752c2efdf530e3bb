import path from "node:path";
import type { RealEnvironment } from "../../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

const PYTHON = "python3";

/** Packages from PyPI, with the versions and hashes of a requirements file. */
export interface Wheels {
  readonly name: string;
  /** The requirements file, relative to this folder. */
  readonly requirements: string;
  /** The requirements of the installation. */
  readonly needs: string;
}

/** The Python interpreter, and the folder for the variable PYTHONPATH. */
export interface InstalledWheels {
  readonly python: string;
  readonly folder: string;
}

/** The installed packages or, if packages are missing, the reason why the tests are skipped, with the fix. */
type FoundWheels =
  | { readonly found: true; readonly wheels: InstalledWheels }
  | { readonly found: false; readonly reason: string };

/**
 * Finds the packages in the cache. With `CI=true`, installs the packages if they are missing, and rejects if the
 * installation fails.
 */
export async function findWheels(environment: RealEnvironment, packages: Wheels): Promise<FoundWheels> {
  const python = await interpreter().catch((error: unknown) => {
    if (environment.ci) throw error;
    return null;
  });
  if (python === null) {
    const fix = `install it, and then ${packages.name} with \`npm run setup:sdks\` (requires ${packages.needs})`;
    return { found: false, reason: `${PYTHON} is not installed; ${fix}` };
  }
  const client = await findClient(environment, recipe(packages, python));
  return client.found ? { found: true, wheels: { python: python.program, folder: client.folder } } : client;
}

/** Returns the folder of the packages. Installs the packages from PyPI if they are missing. */
export async function setUpWheels(environment: RealEnvironment, packages: Wheels): Promise<string> {
  return setUpClient(environment, recipe(packages, await interpreter()));
}

interface Interpreter {
  readonly program: string;
  /** The wheel tag, such as `cpython-311`. */
  readonly tag: string;
}

/**
 * Returns the path of the real Python binary. The shim of a version manager would need environment variables that the
 * clients of a test do not have.
 */
async function interpreter(): Promise<Interpreter> {
  const script = "import sys; print(sys.implementation.cache_tag); print(sys.executable)";
  const { stdout } = await runTool(PYTHON, ["-c", script], import.meta.dirname);
  const [tag = "", program = ""] = stdout.split(/\r?\n/);
  return { program, tag };
}

function recipe({ name, requirements, needs }: Wheels, { program, tag }: Interpreter): Recipe {
  return {
    name: `${name}-${tag}`,
    sources: import.meta.dirname,
    files: [requirements],
    needs,
    async build(folder, sources) {
      const flags = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", folder];
      await runTool(program, ["-m", "pip", "install", ...flags, "-r", path.join(sources, requirements)], folder);
    },
  };
}

export const BOTOCORE: Wheels = {
  name: "botocore",
  requirements: "../clients/requirements.txt",
  needs: "Python >= 3.10 with pip, once, about 10 seconds",
};
