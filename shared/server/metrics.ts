import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { VERSION } from "./version.ts";

export const METRIC_PREFIX = "ack_role_resolver_";

/** In seconds. Finer than the buckets of the API server, which start at 5 ms: most responses take less. */
export const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 3];

/**
 * Returns a registry with the default `process_*` and `nodejs_*` metrics and
 * `ack_role_resolver_build_info{component,version,node}`.
 */
export function createRegistry(options: { readonly component: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const buildInfo = new Gauge({
    name: `${METRIC_PREFIX}build_info`,
    help: "Always 1. The labels are the component and its versions.",
    labelNames: ["component", "version", "node"],
    registers: [registry],
  });
  buildInfo.set({ component: options.component, version: VERSION, node: process.version }, 1);
  return registry;
}

interface GaugeConfig {
  /** Without the common prefix. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: string[];
}

/** Registers a gauge that `read` sets at each scrape. A series that `read` does not set is absent. */
export function registerGauge(registry: Registry, config: GaugeConfig, read: (gauge: Gauge) => void): void {
  const gauge = new Gauge({
    ...config,
    name: METRIC_PREFIX + config.name,
    registers: [],
    collect(): void {
      this.reset();
      // Without labels, reset() leaves a 0.
      if (config.labelNames === undefined) this.remove();
      read(this);
    },
  });
  registry.registerMetric(gauge);
}

/** Registers a gauge without labels. Null makes it absent. */
export function registerValue(registry: Registry, config: GaugeConfig, read: () => number | null): void {
  registerGauge(registry, config, (gauge) => {
    const value = read();
    if (value !== null) gauge.set(value);
  });
}
