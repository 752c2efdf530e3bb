import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** By then what only the start needed is garbage. */
const STARTED_MS = 5_000;

/**
 * Keeps the process as small as it can be without a command line of V8's own (docs/decisions/0009-what-the-sidecar-loads.md): the young
 * generation stays at the 1 MB that it starts with, since hardly anything of a request outlives it, and what loading modules has left behind is
 * collected once. V8 reads each flag when it would act on it.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setTimeout(collectOnce, STARTED_MS).unref();
}

function collectOnce(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") collect({ type: "major", flavor: "last-resort" });
}
