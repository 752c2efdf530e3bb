import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { VERSION } from "./version.ts";

export const METRIC_PREFIX = "ack_role_resolver_";

/** Seconds. Finer than the API server's own buckets, which start at 5 ms: most answers here take less. */
export const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 3];

/**
 * A registry of its own for each program, with the usual `process_*` and `nodejs_*` metrics and
 * `ack_role_resolver_build_info{component,version,node}`, always 1.
 */
export function createRegistry(options: { readonly component: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const buildInfo = new Gauge({
    name: `${METRIC_PREFIX}build_info`,
    help: "Always 1; the labels say what runs.",
    labelNames: ["component", "version", "node"],
    registers: [registry],
  });
  buildInfo.set({ component: options.component, version: VERSION, node: process.version }, 1);
  return registry;
}
