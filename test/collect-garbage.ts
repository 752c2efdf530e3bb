import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Frees all objects that nothing refers to. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  // Node.js frees what belongs to a request in the next turns of the event loop.
  for (let turn = 0; turn < 5; turn++) {
    await setImmediate();
  }
  if (typeof collect === "function") collect();
}
