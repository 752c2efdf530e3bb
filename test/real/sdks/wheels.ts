import path from "node:path";
import type { RealEnvironment } from "../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

const PYTHON = "python3";

/** Packages from PyPI: the versions and hashes of a requirements file and nothing else. */
export interface Wheels {
  readonly name: string;
  /** The requirements file, beside this one. */
  readonly requirements: string;
  /** For a reader whose machine has none. */
  readonly needs: string;
}

/** The interpreter, and the folder to put on its PYTHONPATH. */
export interface InstalledWheels {
  readonly python: string;
  readonly folder: string;
}

/** Where packages are, or one sentence that says why a test is skipped and how to have it run. */
export type FoundWheels = { readonly found: true; readonly wheels: InstalledWheels } | { readonly found: false; readonly reason: string };

/** Finds the packages in the cache; with `CI=true` they are installed there first, and a failure to is one of the test. */
export async function findWheels(environment: RealEnvironment, wanted: Wheels): Promise<FoundWheels> {
  const python = await interpreter().catch((error: unknown) => {
    if (environment.ci) throw error;
    return null;
  });
  if (python === null) return { found: false, reason: `no ${PYTHON} here; with one, install ${wanted.name} with \`npm run setup:sdks\` (needs ${wanted.needs})` };
  const client = await findClient(environment, recipe(wanted, python));
  return client.found ? { found: true, wheels: { python: python.program, folder: client.folder } } : client;
}

/** The folder of the packages in the cache, filled from PyPI first when it is not there. */
export async function setUpWheels(environment: RealEnvironment, wanted: Wheels): Promise<string> {
  return setUpClient(environment, recipe(wanted, await interpreter()));
}

interface Interpreter {
  readonly program: string;
  /** What wheels are made for, such as `cpython-311`. */
  readonly tag: string;
}

/** The program itself: a version manager's stand-in for it needs variables that a test's clients do not get. */
async function interpreter(): Promise<Interpreter> {
  const ask = "import sys; print(sys.implementation.cache_tag); print(sys.executable)";
  const { stdout } = await runTool(PYTHON, ["-c", ask], import.meta.dirname);
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
