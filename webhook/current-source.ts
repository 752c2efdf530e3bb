import type { Server } from "node:http";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import type { Clock, SteadyClock } from "../shared/inventory/clock.ts";
import type { InventorySource, SourceStatus } from "../shared/inventory/source.ts";
import { MAX_STALENESS_MS } from "../shared/server/readiness.ts";

/**
 * An inventory source that counts as not loaded while its inventory is older than MAX_STALENESS_MS. The webhook then
 * answers reviews like before the first load: a replica that lost the API server must not decide based on objects that
 * have changed long ago.
 */
export class CurrentSource implements InventorySource {
  readonly #source: InventorySource;
  readonly #clock: Pick<SteadyClock, "steady">;

  constructor(source: InventorySource, clock: Pick<SteadyClock, "steady">) {
    this.#source = source;
    this.#clock = clock;
  }

  get inventory(): Inventory {
    return this.#source.inventory;
  }

  get status(): SourceStatus {
    const { status } = this.#source;
    const isStale = this.#clock.steady() - (status.lastSyncMs ?? 0) > MAX_STALENESS_MS;
    return isStale ? { ...status, loaded: false } : status;
  }

  positionOf(kind: string): string | null {
    return this.#source.positionOf(kind);
  }

  start(): Promise<void> {
    return this.#source.start();
  }

  stop(): Promise<void> {
    return this.#source.stop();
  }

  onChange(listener: () => void): () => void {
    return this.#source.onChange(listener);
  }
}

const CHECK_MS = 1_000;

/**
 * Closes idle connections each second while the inventory is not loaded, so that the API server connects to another
 * replica. Removing a replica from the endpoints of the Service does not close connections. Returns a function that
 * stops this.
 */
export function closeIdleWhileUnloaded(
  server: Pick<Server, "closeIdleConnections">, source: Pick<InventorySource, "status">, clock: Pick<Clock, "schedule">,
): () => void {
  const check = (): void => {
    if (!source.status.loaded) server.closeIdleConnections();
    cancel = clock.schedule(CHECK_MS, check);
  };
  let cancel = clock.schedule(CHECK_MS, check);
  return () => cancel();
}
