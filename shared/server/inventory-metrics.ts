import type { Registry } from "prom-client";
import { unknownGroups } from "../decisions/kubernetes/ack-groups.ts";
import type { SourceStatus } from "../inventory/source.ts";
import { registerValue } from "./metrics.ts";

interface InventoryView {
  readonly status: SourceStatus;
  readonly inventory: {
    readonly selectors: { readonly size: number; readonly malformed: { readonly size: number } };
  };
}

/** Registers the gauges `ack_role_resolver_inventory_*`. `nowMs` is the clock of `lastSyncMs`. */
export function registerInventoryMetrics(registry: Registry, source: InventoryView, nowMs: () => number): void {
  const gauge = (name: string, help: string, read: () => number | null): void =>
    registerValue(registry, { name: `inventory_${name}`, help }, read);
  gauge("loaded", "1 once the inventory was complete.", () => Number(source.status.loaded));
  gauge("faulty", "1 while the inventory is not current; the log has the reason.", () =>
    Number(source.status.fault !== null));
  gauge("age_seconds", "Time since the inventory was last known to be current, in seconds.", () => {
    const { lastSyncMs } = source.status;
    return lastSyncMs === null ? null : (nowMs() - lastSyncMs) / 1000;
  });
  gauge("selectors", "Effective IAMRoleSelectors.", () => source.inventory.selectors.size);
  gauge("malformed_selectors", "IAMRoleSelectors that are not effective because of a fault.", () =>
    source.inventory.selectors.malformed.size);
}

interface KindView {
  readonly inventory: {
    readonly kinds: { readonly groups: Iterable<string> };
    unlisted(sort: "resources"): { readonly size: number };
  };
}

/**
 * Registers the gauges `ack_role_resolver_unknown_ack_groups` and `ack_role_resolver_unlisted_ack_kinds`. `extraGroups`
 * are the groups of --extra-groups.
 */
export function registerKindMetrics(registry: Registry, source: KindView, extraGroups: readonly string[]): void {
  registerValue(registry, {
    name: "unknown_ack_groups",
    help: "Installed ACK API groups that are neither known to this release nor in --extra-groups; the log names them.",
  }, () => unknownGroups(source.inventory.kinds.groups, extraGroups).length);
  registerValue(registry, {
    name: "unlisted_ack_kinds",
    help: "Installed ACK kinds whose objects are not listed, so that checks do not see them.",
  }, () => source.inventory.unlisted("resources").size);
}
