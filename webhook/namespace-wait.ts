import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";

/** A namespace and the first resource in it are often created at once; the watch is behind by less than this. */
const NAMESPACE_WAIT_MS = 100;

export interface NamespaceWait {
  readonly source: InventorySource;
  readonly clock: Clock;
  /** How long this request may still wait, in ms, for its answer to land in time. */
  readonly remainingMs: () => number;
}

/** Whether `known` holds of the inventory, at once or after a short wait. */
export async function whenKnown(known: () => boolean, { source, clock, remainingMs }: NamespaceWait): Promise<boolean> {
  const waitMs = Math.min(NAMESPACE_WAIT_MS, remainingMs());
  if (known() || waitMs <= 0) return known();
  const { promise, resolve: done } = Promise.withResolvers<void>();
  const callOff = clock.schedule(waitMs, done);
  const unsubscribe = source.onChange(() => {
    if (known()) done();
  });
  await promise;
  callOff();
  unsubscribe();
  return known();
}
