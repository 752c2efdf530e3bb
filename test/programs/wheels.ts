import path from "node:path";
import type { Recipe } from "./cache.ts";
import { runTool } from "./run-program.ts";

const PYTHON = "python3";

/** The AWS SDK for Python. */
export const BOTOCORE: Recipe = wheels(
  "botocore", "requirements.txt", "Python >= 3.10 with pip, once, about 10 seconds",
);

/** moto, an independent implementation of AWS APIs. */
export const MOTO: Recipe = wheels("moto", "moto-requirements.txt", "Python >= 3.9 with pip, once, about 20 seconds");

/** Packages from PyPI, with the versions and hashes of a requirements file. */
function wheels(name: string, requirements: string, needs: string): Recipe {
  return {
    name,
    group: "sdks",
    needs,
    sources: path.join(import.meta.dirname, "../real/sdks/clients"),
    files: [requirements],
    variant: async () => (await interpreter()).tag,
    async build(folder, sources) {
      const flags = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", folder];
      const { program } = await interpreter();
      await runTool(program, ["-m", "pip", "install", ...flags, "-r", path.join(sources, requirements)], folder);
    },
  };
}

/** The Python interpreter, and the folder for the variable PYTHONPATH. */
export interface InstalledWheels {
  readonly python: string;
  readonly folder: string;
}

/** Returns the packages in the folder of BOTOCORE or MOTO. */
export async function wheelsIn(folder: string): Promise<InstalledWheels> {
  return { python: (await interpreter()).program, folder };
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
