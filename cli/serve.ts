import type { Logger } from "../shared/server/logger.ts";
import { type Drain, stopOnSignals } from "../shared/server/stopping.ts";

export interface Serving {
  readonly log: Logger;
  readonly drain: Drain;
  /** How long requests are still taken after the signal, in ms. */
  readonly drainMs: number;
  readonly close: () => Promise<void>;
  /** How long `close` may take after that, in ms; default as `stopOnSignals` has it. */
  readonly closeMs?: number;
}

/** Serves until a signal ends the process; never resolves. */
export async function serveUntilStopped(serving: Serving): Promise<never> {
  stopOnSignals(serving);
  return await new Promise<never>(() => {});
}
