import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { field } from "../shared/decisions/kubernetes/json.ts";
import { NAMESPACE_COUNT, RESOURCE_KINDS, RESOURCES_PER_KIND, SELECTOR_COUNT } from "./inventory/size.ts";
import type { Result } from "./result.ts";

interface Cost {
  readonly ms: number;
  readonly peakMB: number;
}

/**
 * Reads a cluster over HTTP from a separate process. Each measurement has a new process, to measure its memory alone.
 */
export async function run(): Promise<readonly Result[]> {
  const server = startProgram(new URL("inventory/api-server.ts", import.meta.url).pathname);
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-bench-"));
  try {
    const port = await firstLine(server);
    const client = path.join(folder, "client.mjs");
    // Bundled, as it is shipped: stripping types at run time takes memory.
    await build({
      entryPoints: [new URL("inventory/client.ts", import.meta.url).pathname], outfile: client, bundle: true,
      platform: "node", format: "esm", banner: { js: REQUIRE },
    });
    const costOf = async (mode: "read" | "parse" | "sync", flags: readonly string[] = []): Promise<Cost> =>
      readCost(await firstLine(startProgram(...flags, client, mode, port)));
    const [read, parsed] = [await costOf("read"), await costOf("parse")];
    const [defaultHeap, synced] = [await costOf("sync"), await costOf("sync", SMALL_HEAP)];
    const resources = RESOURCE_KINDS * RESOURCES_PER_KIND;
    const cluster = `${SELECTOR_COUNT} selectors, ${NAMESPACE_COUNT} namespaces, ${resources} resources of 4 KB`;
    return [
      { name: `${cluster}: synced`, value: synced.ms, unit: "ms", target: 60_000 },
      { name: "its peak memory", value: synced.peakMB, unit: "MB", target: 300 },
      { name: "synced with V8's default heap size", value: defaultHeap.ms, unit: "ms", target: 60_000 },
      { name: "its peak memory", value: defaultHeap.peakMB, unit: "MB", target: null },
      { name: "the same bytes only read", value: read.ms, unit: "ms", target: null },
      { name: "the same pages parsed and discarded", value: parsed.ms, unit: "ms", target: null },
      { name: "peak memory of only reading", value: read.peakMB, unit: "MB", target: null },
      { name: "synced / only read", value: synced.ms / read.ms, unit: "x", target: null },
      { name: "synced / parsed and discarded", value: synced.ms / parsed.ms, unit: "x", target: null },
    ];
  } finally {
    server.kill();
    await rm(folder, { recursive: true });
  }
}

/** The inventory takes under half of it. With its default, V8 lets several times as much garbage accumulate. */
const SMALL_HEAP = ["--max-old-space-size=192", "--max-semi-space-size=2"];

/** Bundled CommonJS modules call require, which ES modules do not define. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

function readCost(line: string): Cost {
  const cost: unknown = JSON.parse(line);
  const number = (name: string): number => Number(field(cost, name));
  return { ms: number("ms"), peakMB: number("peakMB") };
}

function startProgram(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

/** Rejects if the program ends without printing a line. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the program has no standard output");
  const lines = createInterface(child.stdout);
  const line: unknown = (await Promise.race([once(lines, "line"), once(child, "exit")]))[0];
  if (typeof line !== "string") throw new Error(`${child.spawnargs.join(" ")} exited with ${String(line)}`);
  return line;
}
