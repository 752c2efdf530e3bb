import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { unknownGroups } from "../core/ack-groups.ts";
import type { KnownFields } from "../core/shape.ts";
import { prunedFields } from "../core/iamroleselector.ts";
import type { SourceStatus } from "../sources/source.ts";
import { VERSION } from "../core/installation.ts";

export const METRIC_PREFIX = "ack_role_resolver_";

/**
 * The histogram buckets of latencies, in seconds. Several buckets are below 5 ms, which is the first bucket of the API
 * server's histograms, because most responses take less than 5 ms.
 */
export const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 3];

/**
 * Returns a registry that has the default `process_*` and `nodejs_*` metrics and
 * `ack_role_resolver_build_info{component,version,node}`.
 */
export function createRegistry(options: { readonly component: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const buildInfo = new Gauge({
    name: `${METRIC_PREFIX}build_info`,
    help: "Always 1. The labels are the component, its version and the Node.js version.",
    labelNames: ["component", "version", "node"],
    registers: [registry],
  });
  buildInfo.set({ component: options.component, version: VERSION, node: process.version }, 1);
  return registry;
}

interface GaugeConfig {
  /** The metric name, excluding the prefix `ack_role_resolver_`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: string[];
}

/**
 * Registers a gauge. `read` sets the series of the gauge at each scrape. A series that `read` does not set is absent.
 */
export function registerGauge(registry: Registry, config: GaugeConfig, read: (gauge: Gauge) => void): void {
  const gauge = new Gauge({
    ...config,
    name: METRIC_PREFIX + config.name,
    registers: [],
    collect(): void {
      this.reset();
      // After reset(), a gauge that has no labels has the value 0. After remove(), the gauge is absent until `read`
      // sets a value.
      if (config.labelNames === undefined) this.remove();
      read(this);
    },
  });
  registry.registerMetric(gauge);
}

/** Registers a gauge that has no labels. If the value is null, the gauge is absent. */
export function registerValue(registry: Registry, config: GaugeConfig, read: () => number | null): void {
  registerGauge(registry, config, (gauge) => {
    const value = read();
    if (value !== null) gauge.set(value);
  });
}

/** The numbers of effective and of malformed selectors. */
export interface SelectorCounts {
  readonly size: number;
  readonly malformed: { readonly size: number };
}

interface InventoryView {
  readonly source: { readonly status: SourceStatus };
  readonly selectors: () => SelectorCounts;
  /** Returns the current time of the steady clock, which sets `lastSyncMs`. */
  readonly steadyMs: () => number;
}

/** Registers the gauges `ack_role_resolver_inventory_*`. */
export function registerInventoryMetrics(
  registry: Registry, { source, selectors, steadyMs }: InventoryView,
): void {
  const gauge = (name: string, help: string, read: () => number | null): void =>
    registerValue(registry, { name: `inventory_${name}`, help }, read);
  gauge("loaded", "1 if the inventory has been loaded, else 0.", () => Number(source.status.loaded));
  gauge("faulty", "1 if the inventory is not current, else 0. The log and /readyz contain the reason.", () =>
    Number(source.status.fault !== null));
  gauge("age_seconds", "Age of the inventory: seconds since the inventory was last known to be current.", () => {
    const { lastSyncMs } = source.status;
    return lastSyncMs === null ? null : (steadyMs() - lastSyncMs) / 1000;
  });
  gauge("selectors", "Effective IAMRoleSelectors.", () => selectors().size);
  gauge("malformed_selectors", "IAMRoleSelectors that are not effective because of a fault.", () =>
    selectors().malformed.size);
}

interface KindView {
  readonly source: {
    readonly inventory: {
      readonly kinds: { readonly groups: Iterable<string>; readonly selectorFields: KnownFields | null };
    };
  };
  /** The number of ACK kinds that have not been listed. */
  readonly unlistedKinds: () => number;
}

/**
 * Registers the gauges `ack_role_resolver_unknown_ack_groups`, `ack_role_resolver_unlisted_ack_kinds` and
 * `ack_role_resolver_pruned_selector_fields`. `extraGroups` are the groups of --extra-groups.
 */
export function registerKindMetrics(
  registry: Registry, { source, unlistedKinds }: KindView, extraGroups: readonly string[],
): void {
  registerValue(registry, {
    name: "unknown_ack_groups",
    help: "Installed ACK API groups that are unknown to this release and not in --extra-groups. See the log.",
  }, () => unknownGroups(source.inventory.kinds.groups, extraGroups).length);
  registerValue(registry, {
    name: "unlisted_ack_kinds",
    help: "Installed ACK kinds whose objects have not been listed. Checks ignore these objects.",
  }, unlistedKinds);
  registerValue(registry, {
    name: "pruned_selector_fields",
    help: "Documented IAMRoleSelector fields that the installed CRD does not define. See AUD-08.",
  }, () => {
    const { selectorFields } = source.inventory.kinds;
    return selectorFields === null ? null : prunedFields(selectorFields).length;
  });
}
