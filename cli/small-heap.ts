import { executionAsyncResource } from "node:async_hooks";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The time from the start to the garbage collection, in ms. Most objects of the startup are garbage by then. */
const STARTED_MS = 5_000;

/**
 * The flags of V8 for each server. While a sidecar starts, its young generation stays at its initial 1 MB; later it may
 * grow, because under load, collections of 1 MB would take a third of the processor time. The reviews of the webhook
 * are larger, and would move to the old generation. So V8 collects the webhook's garbage 2 s after a burst of reviews,
 * and while it starts, when the heap has grown by a third, not when it has doubled. Later this would cost a quarter of
 * the processor time of a selector's review.
 */
const FLAGS = {
  sidecar: { start: ["--semi-space-growth-factor=1"], later: ["--semi-space-growth-factor=2"], since: 22 },
  webhook: {
    start: ["--memory-saver-mode", "--memory-reducer-delay-ms=2000"], later: ["--no-memory-saver-mode"], since: 26,
  },
} as const;

/**
 * Limits the memory of a server. V8 reads the flags at run time, so that no command-line flags are necessary; a version
 * of Node.js before `since` would report them as unknown. One full collection frees the memory that only the start
 * used. Measurements: docs/decisions/0009-what-the-sidecar-loads.md
 */
export function limitHeapGrowth(server: keyof typeof FLAGS): void {
  const { start, later, since } = FLAGS[server];
  const isKnown = Number.parseInt(process.versions.node, 10) >= since;
  const set = (flags: readonly string[]): void => void (isKnown && flags.forEach((flag) => setFlagsFromString(flag)));
  set(start);
  keepTickClass();
  setTimeout(() => {
    collectGarbage();
    set(later);
  }, STARTED_MS).unref();
}

const kept: object[] = [];

/**
 * Keeps one object of `process.nextTick` in memory, and so the hidden class of all of them. A full collection while
 * none exists would free the class, to which V8 has specialized nextTick, and does not specialize it again: each call,
 * of which a request needs five, would take 0.5 us more for the rest of the process.
 */
function keepTickClass(): void {
  process.nextTick(() => kept.push(executionAsyncResource()));
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") collect({ type: "major", flavor: "last-resort" });
}
