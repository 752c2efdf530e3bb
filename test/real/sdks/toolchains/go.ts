import path from "node:path";
import type { RealEnvironment } from "../../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

const PROGRAM = "go-client";

const RECIPE: Recipe = {
  name: PROGRAM,
  sources: path.join(import.meta.dirname, "..", "clients", "go"),
  files: ["go.mod", "go.sum", "clock.go", "controller.go", "main.go", "tally.go"],
  needs: "Go >= 1.25, once, about a minute",
  async build(folder, sources) {
    // With -buildvcs=false, the build does not need git.
    const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path.join(folder, PROGRAM)];
    await runTool("go", ["build", ...flags, "."], sources);
  },
};

/** The path of the Go program or, if the program is missing, the reason why its tests are skipped, with the fix. */
type FoundGo =
  | { readonly found: true; readonly program: string }
  | { readonly found: false; readonly reason: string };

/**
 * Finds the Go program in the cache. With `CI=true`, builds the Go program if it is missing, and rejects if the build
 * fails.
 */
export async function findGo(environment: RealEnvironment): Promise<FoundGo> {
  const client = await findClient(environment, RECIPE);
  return client.found ? { found: true, program: path.join(client.folder, PROGRAM) } : client;
}

/** Returns the path of the Go program. Builds the program if it is missing, with the versions in go.sum. */
export async function setUpGo(environment: RealEnvironment): Promise<string> {
  return path.join(await setUpClient(environment, RECIPE), PROGRAM);
}
