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
 * Measures the time and memory to load a cluster over HTTP. Each measurement runs in a new process, so that its memory
 * is measured separately.
 */
export async function run(): Promise<readonly Result[]> {
  const server = startProgram(new URL("inventory/api-server.ts", import.meta.url).pathname);
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-bench-"));
  try {
    const port = await firstLine(server);
    const client = path.join(folder, "client.mjs");
    // Bundles the client, as in a release, because type stripping at run time needs memory.
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
      { name: "peak memory of the synced inventory", value: synced.peakMB, unit: "MB", target: 300 },
      { name: "synced with V8's default heap size", value: defaultHeap.ms, unit: "ms", target: 60_000 },
      { name: "peak memory with V8's default heap size", value: defaultHeap.peakMB, unit: "MB", target: null },
      { name: "read all bytes of the cluster", value: read.ms, unit: "ms", target: null },
      { name: "parse and discard all pages of the cluster", value: parsed.ms, unit: "ms", target: null },
      { name: "peak memory to read all bytes", value: read.peakMB, unit: "MB", target: null },
      { name: "synced / read all bytes", value: synced.ms / read.ms, unit: "x", target: null },
      { name: "synced / parse and discard", value: synced.ms / parsed.ms, unit: "x", target: null },
    ];
  } finally {
    server.kill();
    await rm(folder, { recursive: true });
  }
}

/**
 * Limits the heap of V8. The inventory needs less than half of this limit. With the default heap limit, V8 would
 * accumulate several times as much garbage.
 */
const SMALL_HEAP = ["--max-old-space-size=192", "--max-semi-space-size=2"];

/** Defines `require`, because CommonJS modules in the bundle call `require`, and ES modules do not define it. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

function readCost(line: string): Cost {
  const cost: unknown = JSON.parse(line);
  const number = (name: string): number => Number(field(cost, name));
  return { ms: number("ms"), peakMB: number("peakMB") };
}

function startProgram(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

/** Returns the first line that the program prints. Rejects if the program exits before it prints a line. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the program has no standard output");
  const lines = createInterface(child.stdout);
  const line: unknown = (await Promise.race([once(lines, "line"), once(child, "exit")]))[0];
  if (typeof line !== "string") throw new Error(`${child.spawnargs.join(" ")} exited with ${String(line)}`);
  return line;
}
