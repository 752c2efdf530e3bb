import type { Paced } from "../../shared/decisions/paced.ts";
import type { SteadyClock } from "../../shared/inventory/clock.ts";
import { runInSlices } from "../../shared/server/slices.ts";
import type { TurnQueue } from "../../shared/server/turn-queue.ts";

/** The maximum time for which a scan blocks the event loop, in ms. */
const SLICE_MS = 10;
const UNLIMITED = (): number => Infinity;

export interface BackgroundPorts {
  readonly clock: Pick<SteadyClock, "steady">;
  /** The paused reviews. A scan pauses between them. */
  readonly turns: TurnQueue;
}

/** Runs a scan in slices without a deadline, between the reviews. Returns the result of the scan. */
export async function runInBackground<T>(scan: Paced<T>, { clock, turns }: BackgroundPorts): Promise<T> {
  return runInSlices(scan, {
    sliceMs: SLICE_MS, now: () => clock.steady(), remainingMs: UNLIMITED,
    pause: (pauses) => turns.pause(pauses, UNLIMITED),
  });
}
