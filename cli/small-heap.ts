import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The time from the start to the garbage collection, in ms. Most objects of the startup are garbage by then. */
const STARTED_MS = 5_000;

/**
 * Limits the memory that the start of the process uses. V8 reads the flags at run time, so that no command-line flags
 * are necessary. During the start, the young generation stays at its initial 1 MB. Later, it may grow, because under
 * load, collections of 1 MB would take a third of the processor time. One full collection frees the memory that only
 * the start used. Measurements: docs/decisions/0009-what-the-sidecar-loads.md
 */
export function limitHeapGrowth(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setTimeout(endStart, STARTED_MS).unref();
}

function endStart(): void {
  collectGarbage();
  setFlagsFromString("--semi-space-growth-factor=2");
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") collect({ type: "major", flavor: "last-resort" });
}
