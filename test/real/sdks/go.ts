import path from "node:path";
import type { RealEnvironment } from "../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

const PROGRAM = "go-client";

const RECIPE: Recipe = {
  name: PROGRAM,
  sources: path.join(import.meta.dirname, "clients", "go"),
  files: ["go.mod", "go.sum", "clock.go", "controller.go", "main.go", "tally.go"],
  needs: "Go >= 1.25, once, about a minute",
  async build(folder, sources) {
    // -buildvcs=false: building does not depend on git.
    const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path.join(folder, PROGRAM)];
    await runTool("go", ["build", ...flags, "."], sources);
  },
};

/** Where the Go program is, or one sentence that says why a test is skipped and how to have it run. */
export type FoundGo = { readonly found: true; readonly program: string } | { readonly found: false; readonly reason: string };

/** Finds the Go program in the cache; with `CI=true` it is built there first, and a failure to is one of the test. */
export async function findGo(environment: RealEnvironment): Promise<FoundGo> {
  const client = await findClient(environment, RECIPE);
  return client.found ? { found: true, program: path.join(client.folder, PROGRAM) } : client;
}

/** The Go program from the cache, built there first when it is not: the versions of go.sum and nothing else. */
export async function setUpGo(environment: RealEnvironment): Promise<string> {
  return path.join(await setUpClient(environment, RECIPE), PROGRAM);
}
