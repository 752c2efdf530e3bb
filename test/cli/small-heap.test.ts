import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { test } from "tap";

const MODULE = path.join(import.meta.dirname, "../../cli/small-heap.ts");

/** Allocates objects that live for a while, like loaded modules. Prints the size of the young generation in bytes. */
const YOUNG = `
  const live = [];
  for (let i = 0; i < 2_000_000; i++) { live.push({ i }); if (live.length > 200_000) live.length = 0; }
  const spaces = process.getBuiltinModule("v8").getHeapSpaceStatistics();
  const young = spaces.find(({ space_name }) => space_name === "new_space");
  process.stdout.write(String(young.space_size));`;

/** Replaces long-lived objects after a collection. Prints the largest size of the heap in bytes. */
const LONG_LIVED = `
  const live = Array.from({ length: 200_000 }, (_, i) => ({ i }));
  globalThis.gc();
  let largest = 0;
  for (let i = 0; i < 1_500_000; i++) {
    live[i * 7919 % live.length] = { i, text: [i] };
    if (i % 1_000 !== 0) continue;
    await new Promise(setImmediate);
    largest = Math.max(largest, process.memoryUsage().heapTotal);
  }
  process.stdout.write(String(largest));`;

/** Makes the start of a server end at once. */
const ENDS_AT_ONCE = "globalThis.setTimeout = (run) => { run(); return { unref() {} }; };";

/**
 * Runs the program after the function for a server; with null, without it. Resolves to the number that the program
 * prints.
 */
async function numberOf(server: "sidecar" | "webhook" | null, program: string, before = ""): Promise<number> {
  const limit = `(await import(${JSON.stringify(MODULE)})).limitHeapGrowth(${JSON.stringify(server)});`;
  const argv = ["--expose-gc", "--input-type=module", "-e", before + (server === null ? "" : limit) + program];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  return Number(await text(child.stdout));
}

test("limits the young generation of a sidecar to 5 MB during the start", async (t) => {
  const limited = await numberOf("sidecar", YOUNG);
  const unlimited = await numberOf(null, YOUNG);
  t.ok(limited > 0 && limited <= 5 * 2 ** 20, `${limited} bytes with the limit`);
  t.ok(unlimited > 1.5 * limited, `${unlimited} bytes without the limit`);
  const later = await numberOf("sidecar", YOUNG, ENDS_AT_ONCE);
  t.ok(later > 1.5 * limited, `${later} bytes after the start`);
});

test("collects the garbage of a starting webhook before its heap has doubled", async (t) => {
  const limited = await numberOf("webhook", LONG_LIVED);
  const unlimited = await numberOf(null, LONG_LIVED);
  t.ok(limited > 0 && limited * 1.5 < unlimited, `${limited} bytes with the limit, ${unlimited} without it`);
  const later = await numberOf("webhook", LONG_LIVED, ENDS_AT_ONCE);
  t.ok(later > 1.2 * limited, `${later} bytes after the start`);
});

/** Prints whether an object of process.nextTick still exists after a full collection, as 1 or 0. */
const TICKS = `
  await new Promise(setImmediate);
  globalThis.gc();
  process.stdout.write(String(Number(ticks.some((tick) => tick.deref() !== undefined))));`;
/** The queued object holds its callback. Nothing else does. */
const WATCHES_TICKS = `
  const ticks = [];
  const { nextTick } = process;
  process.nextTick = (run, ...values) => { ticks.push(new WeakRef(run)); nextTick(run, ...values); };`;

test("keeps the hidden class of the objects of process.nextTick", async (t) => {
  for (const server of ["sidecar", "webhook"] as const) {
    t.equal(await numberOf(server, TICKS, WATCHES_TICKS), 1, server);
  }
  t.equal(await numberOf(null, TICKS, `${WATCHES_TICKS} process.nextTick(() => {});`), 0, "without the function");
});
