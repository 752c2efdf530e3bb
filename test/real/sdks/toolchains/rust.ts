import { rename, rm } from "node:fs/promises";
import path from "node:path";
import type { RealEnvironment } from "../../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

const PROGRAM = "rust-client";

const RECIPE: Recipe = {
  name: PROGRAM,
  sources: path.join(import.meta.dirname, "..", "clients", "rust"),
  files: ["Cargo.toml", "Cargo.lock", path.join("src", "main.rs")],
  needs: "Rust >= 1.94.1 with cargo and a C linker, once, about a minute",
  async build(folder, sources) {
    const target = path.join(folder, "target");
    await runTool("cargo", ["build", "--quiet", "--release", "--locked", "--target-dir", target], sources);
    await rename(path.join(target, "release", PROGRAM), path.join(folder, PROGRAM));
    await rm(target, { recursive: true });
  },
};

/** The path of the Rust program or, if the program is missing, the reason why its tests are skipped, with the fix. */
type FoundRust =
  | { readonly found: true; readonly program: string }
  | { readonly found: false; readonly reason: string };

/**
 * Finds the Rust program in the cache. With `CI=true`, builds the Rust program if it is missing, and rejects if the
 * build fails.
 */
export async function findRust(environment: RealEnvironment): Promise<FoundRust> {
  const client = await findClient(environment, RECIPE);
  return client.found ? { found: true, program: path.join(client.folder, PROGRAM) } : client;
}

/** Returns the path of the Rust program. Builds the program if it is missing, with the versions in Cargo.lock. */
export async function setUpRust(environment: RealEnvironment): Promise<string> {
  return path.join(await setUpClient(environment, RECIPE), PROGRAM);
}
