import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The time from the start to the garbage collection, in ms. Most objects of the startup are garbage by then. */
const STARTED_MS = 5_000;

/**
 * Limits the memory of the process. V8 reads the flags at run time, so that no command-line flags are necessary. The
 * young generation stays at its initial 1 MB, because few objects are used longer than their request. One full
 * collection frees the memory that only the start used. Measurements: docs/decisions/0009-what-the-sidecar-loads.md
 */
export function limitHeapGrowth(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setTimeout(collectGarbage, STARTED_MS).unref();
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") collect({ type: "major", flavor: "last-resort" });
}
