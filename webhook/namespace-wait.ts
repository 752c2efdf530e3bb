import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";

/**
 * The maximum wait for a new namespace, in ms. Clients often create a namespace and its first resource together. The
 * watch reports the namespace within this time.
 */
const NAMESPACE_WAIT_MS = 100;

export interface NamespaceWaitContext {
  readonly source: InventorySource;
  readonly clock: Clock;
  /** Returns the remaining time until the deadline of the response, in ms. */
  readonly remainingMs: () => number;
}

/** Waits until `isKnown` returns true, for at most 100 ms. Returns the last result of `isKnown`. */
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
