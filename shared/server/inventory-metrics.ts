import { Gauge, type Registry } from "prom-client";
import { METRIC_PREFIX } from "./metrics.ts";

/** What the gauges read of an inventory's source, at each scrape. */
export interface InventoryView {
  readonly status: { readonly loaded: boolean; readonly lastSyncMs: number | null; readonly fault: string | null };
  readonly inventory: { readonly selectors: { readonly size: number }; readonly malformed: { readonly size: number } };
}

/** Registers `ack_role_resolver_inventory_{loaded,faulty,age_seconds,selectors}`. `nowMs` is the clock of `lastSyncMs`. */
export function registerInventoryMetrics(registry: Registry, source: InventoryView, nowMs: () => number): void {
  const gauge = (name: string, help: string, read: () => number | null): void => {
    const metric = new Gauge({
      name: `${METRIC_PREFIX}inventory_${name}`,
      help,
      registers: [],
      collect() {
        const value = read();
        if (value === null) this.remove();
        else this.set(value);
      },
    });
    registry.registerMetric(metric);
  };
  gauge("loaded", "1 once a complete view was had.", () => Number(source.status.loaded));
  gauge("faulty", "1 while the view is not current; the log says why.", () => Number(source.status.fault !== null));
  gauge("age_seconds", "Time since the view was last known to be current.", () => {
    const { lastSyncMs } = source.status;
    return lastSyncMs === null ? null : (nowMs() - lastSyncMs) / 1000;
  });
  gauge("selectors", "IAMRoleSelectors that take part.", () => source.inventory.selectors.size);
  gauge("malformed_selectors", "IAMRoleSelectors that take no part because of a fault.", () => source.inventory.malformed.size);
}
