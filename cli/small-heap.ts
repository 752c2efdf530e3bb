import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** By this time, the objects that only the start needed are garbage. */
const STARTED_MS = 5_000;

/**
 * Limits the memory of the process without V8 command-line flags. The young generation stays at its initial 1 MB, since
 * few objects outlive their request. One full collection frees what loading the modules left behind. V8 reads each flag
 * when it acts on it. Measurements: docs/decisions/0009-what-the-sidecar-loads.md
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
