import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";

/** Clients often create a namespace and its first resource together. The watch lags behind by less than this. */
const NAMESPACE_WAIT_MS = 100;

export interface NamespaceWaitContext {
  readonly source: InventorySource;
  readonly clock: Clock;
  /** Returns the milliseconds left until the deadline of the response. */
  readonly remainingMs: () => number;
}

/** Waits up to 100 ms until `isKnown` returns true for the inventory. Returns the last value of `isKnown`. */
export async function waitUntilKnown(
  isKnown: () => boolean,
  { source, clock, remainingMs }: NamespaceWaitContext,
): Promise<boolean> {
  const waitMs = Math.min(NAMESPACE_WAIT_MS, remainingMs());
  if (isKnown() || waitMs <= 0) return isKnown();
  const { promise, resolve: done } = Promise.withResolvers<void>();
  const cancelTimer = clock.schedule(waitMs, done);
  const unsubscribe = source.onChange(() => {
    if (isKnown()) done();
  });
  await promise;
  cancelTimer();
  unsubscribe();
  return isKnown();
}
