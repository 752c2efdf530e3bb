import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { field } from "../shared/decisions/kubernetes/json.ts";
import { NAMESPACE_COUNT, RESOURCE_KINDS, RESOURCES_A_KIND, SELECTOR_COUNT } from "./inventory/size.ts";
import type { Result } from "./result.ts";

interface Cost {
  readonly ms: number;
  readonly peakMB: number;
}

/** A cluster read over HTTP from a process of its own, by fresh processes, so that each one's memory is its own. */
export async function run(): Promise<readonly Result[]> {
  const server = program(new URL("inventory/api-server.ts", import.meta.url).pathname);
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-bench-"));
  try {
    const port = await firstLine(server);
    const client = path.join(folder, "client.mjs");
    // As it is shipped: to strip the types of sources takes memory of its own.
    await build({ entryPoints: [new URL("inventory/client.ts", import.meta.url).pathname], outfile: client, bundle: true, platform: "node", format: "esm", banner: { js: REQUIRE } });
    const costOf = async (mode: "read" | "parse" | "hold", flags: readonly string[] = []): Promise<Cost> => readCost(await firstLine(program(...flags, client, mode, port)));
    const [read, parsed, free, held] = [await costOf("read"), await costOf("parse"), await costOf("hold"), await costOf("hold", SMALL_HEAP)];
    const what = `${SELECTOR_COUNT} selectors, ${NAMESPACE_COUNT} namespaces, ${RESOURCE_KINDS * RESOURCES_A_KIND} resources of 4 KB`;
    return [
      { name: `${what}: synced`, value: held.ms, unit: "ms", target: 60_000 },
      { name: "memory of the process that holds it, at its highest", value: held.peakMB, unit: "MB", target: 300 },
      { name: "the same with the heap that V8 takes where there is memory: synced", value: free.ms, unit: "ms", target: 60_000 },
      { name: "memory of that process, at its highest", value: free.peakMB, unit: "MB", target: null },
      { name: "the same bytes merely read", value: read.ms, unit: "ms", target: null },
      { name: "the same pages parsed and let go", value: parsed.ms, unit: "ms", target: null },
      { name: "memory of the process that merely reads, at its highest", value: read.peakMB, unit: "MB", target: null },
      { name: "synced over merely read", value: held.ms / read.ms, unit: "x", target: null },
      { name: "synced over parsed and let go", value: held.ms / parsed.ms, unit: "x", target: null },
    ];
  } finally {
    server.kill();
    await rm(folder, { recursive: true });
  }
}

/** Under half of it is held; left to itself V8 lets garbage pile up to several times that before it looks. */
const SMALL_HEAP = ["--max-old-space-size=192", "--max-semi-space-size=2"];

/** What bundled CommonJS asks of an ES module. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

function readCost(line: string): Cost {
  const told: unknown = JSON.parse(line);
  const number = (name: string): number => Number(field(told, name));
  return { ms: number("ms"), peakMB: number("peakMB") };
}

function program(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

/** Rejects when the program ends without one. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the program has no standard output");
  const lines = createInterface(child.stdout);
  const line: unknown = (await Promise.race([once(lines, "line"), once(child, "exit")]))[0];
  if (typeof line !== "string") throw new Error(`${child.spawnargs.join(" ")} ended with ${String(line)}`);
  return line;
}
