import { Gauge, type Registry } from "prom-client";
import { unknownGroups } from "../decisions/kubernetes/ack-groups.ts";
import type { Logger } from "./logger.ts";
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

/** What is read of an inventory's source. */
export interface KindView {
  readonly inventory: { readonly groups: Iterable<string>; unlisted(sort: "resources"): { readonly size: number } };
  onChange(listener: () => void): () => void;
}

/**
 * Registers `ack_role_resolver_unknown_ack_groups` and `ack_role_resolver_unlisted_ack_kinds`, and logs a line when a group turns up that
 * neither this release nor `extraGroups` knows.
 */
export function registerKindMetrics(source: KindView, { registry, log, extraGroups }: KindMetricsOptions): void {
  const unknown = (): string[] => unknownGroups(source.inventory.groups, extraGroups);
  const gauges: readonly [string, string, () => number][] = [
    ["unknown_ack_groups", "Installed ACK API groups that neither this release nor --extra-groups names; the log says which.", () => unknown().length],
    ["unlisted_ack_kinds", "Installed ACK kinds whose objects are not known, so that checks do not see them.", () => source.inventory.unlisted("resources").size],
  ];
  for (const [name, help, read] of gauges) {
    registry.registerMetric(new Gauge({ name: METRIC_PREFIX + name, help, registers: [], collect() { this.set(read()); } }));
  }
  const told = new Set<string>();
  source.onChange(() => {
    for (const group of unknown()) {
      if (told.has(group)) continue;
      told.add(group);
      log.warn({ group }, UNKNOWN);
    }
  });
}

export interface KindMetricsOptions {
  readonly registry: Registry;
  readonly log: Pick<Logger, "warn">;
  readonly extraGroups: readonly string[];
}

const UNKNOWN = "an ACK API group is installed that this release does not know: its resources are not judged, and may not be read. "
  + "Render the manifests and start the webhook with --extra-groups of that group, or take a newer release";
