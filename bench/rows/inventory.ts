import { once } from "node:events";
import { createInterface } from "node:readline";
import { spawn } from "node:child_process";
import { field } from "../../shared/formats/json.ts";
import { atMost, single } from "../figure.ts";
import { startFakeAPIServer } from "../inventory/fake-cluster.ts";
import { bundle, stop } from "../programs.ts";
import type { Row } from "../row.ts";
import { type Stage, shared } from "../stage.ts";

const SIZE = { selectors: 10_000, namespaces: 5_000, kinds: 20, resources: 100_000 };
const QUICK_SIZE = { selectors: 100, namespaces: 50, kinds: 2, resources: 100 };
/**
 * Limits the heap of V8. The inventory needs less than half of this limit. With the default heap limit, V8 would
 * accumulate several times as much garbage.
 */
const SMALL_HEAP = ["--max-old-space-size=192", "--max-semi-space-size=4"];

interface Cost {
  readonly ms: number;
  readonly peakMB: number;
}

const client = shared((stage: Stage) => bundle(stage, "inventory/client"));

/**
 * Measures the time and memory to load a cluster over HTTP. Each measurement runs in a new process, so that its memory
 * is measured separately. The floor reads the same bytes.
 */
export const INVENTORY_ROW: Row = {
  name: "inventory-sync",
  title: "inventory of 10,000 selectors, 5,000 namespaces and 100,000 resources of 4 KB",
  measure: async (stage) => {
    const server = await startFakeAPIServer(stage, stage.isQuick ? QUICK_SIZE : SIZE);
    const program = await client(stage);
    const costOf = (mode: "read" | "sync", flags: readonly string[] = []): Promise<Cost> =>
      readCost([...flags, program, mode, String(server.port)]);
    const [read, defaultHeap] = [await costOf("read"), await costOf("sync")];
    const synced = await costOf("sync", SMALL_HEAP);
    await stop(server);
    return [
      { name: "synced", unit: "ms", ours: [synced.ms], floor: [read.ms], goal: atMost(60_000, "value") },
      { name: "peak memory", unit: "MB", ours: [synced.peakMB], floor: [read.peakMB], goal: atMost(300, "value") },
      { name: "synced with V8's default heap size", unit: "ms", ours: [defaultHeap.ms], floor: [read.ms] },
      single("peak memory with V8's default heap size", defaultHeap.peakMB, "MB"),
    ];
  },
};

/** Runs the client, which prints its cost. */
async function readCost(argv: readonly string[]): Promise<Cost> {
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  const line: unknown = (await Promise.race([once(createInterface(child.stdout), "line"), once(child, "exit")]))[0];
  if (typeof line !== "string") throw new Error(`${argv.join(" ")} exited with ${String(line)}`);
  const cost: unknown = JSON.parse(line);
  const number = (name: string): number => Number(field(cost, name));
  return { ms: number("ms"), peakMB: number("peakMB") };
}
