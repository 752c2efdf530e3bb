import type { Registry } from "prom-client";
import { registerInventoryMetrics } from "../shared/server/inventory-metrics.ts";
import { registerKindMetrics } from "../shared/server/kind-metrics.ts";
import { createRegistry, METRIC_PREFIX } from "../shared/server/metrics.ts";
import { createSidecarMetrics } from "../sidecar/metrics.ts";
import { registerSidecarState } from "../sidecar/state-metrics.ts";
import { createWebhookMetrics } from "../webhook/metrics.ts";
import { METRIC_NOTES } from "./metric-notes.ts";

interface Described {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Read at a scrape alone, and here nothing is scraped. */
const NO_INVENTORY = {
  status: { loaded: false, lastSyncMs: null, fault: null },
  inventory: { selectors: new Map(), malformed: new Map(), groups: [], unlisted: () => new Map() },
  onChange: () => () => {},
};

/** The metrics of ours that each server has, as its registry knows them, by name. */
export function describeMetrics(): { readonly webhook: readonly Described[]; readonly sidecar: readonly Described[] } {
  return { webhook: described(webhookRegistry()), sidecar: described(sidecarRegistry()) };
}

function webhookRegistry(): Registry {
  const registry = createRegistry({ component: "webhook" });
  registerInventoryMetrics(registry, NO_INVENTORY, () => 0);
  registerKindMetrics(NO_INVENTORY, { registry, log: { warn: () => {} }, extraGroups: [] });
  createWebhookMetrics(registry);
  return registry;
}

function sidecarRegistry(): Registry {
  const registry = createRegistry({ component: "sidecar" });
  registerInventoryMetrics(registry, NO_INVENTORY, () => 0);
  createSidecarMetrics(registry);
  const quiet = { expirations: () => [], refreshLagMs: 0, circuit: "closed", inFlight: 0, waiting: 0, base: null, failingRoles: 0 } as const;
  registerSidecarState(registry, quiet, () => 0);
  return registry;
}

function described(registry: Registry): Described[] {
  const own = registry.getMetricsAsArray().filter(({ name }) => name.startsWith(METRIC_PREFIX));
  return own.map((metric) => ({ name: metric.name, type: String(metric.type), help: metric.help, labels: labelsOf(metric) }));
}

function labelsOf(metric: object): string[] {
  return "labelNames" in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [];
}

/** The lines of docs/metrics.md. Throws where the notes name a metric or label that is not there, or lack one that is. */
export function metricLines(): string[] {
  const { webhook, sidecar } = describeMetrics();
  const isShared = ({ name }: Described): boolean => [webhook, sidecar].every((all) => all.some((one) => one.name === name));
  const shared = sidecar.filter(isShared);
  const sections = { "Both servers": shared, Webhook: webhook.filter((one) => !isShared(one)), Sidecar: sidecar.filter((one) => !isShared(one)) };
  const all = Object.values(sections).flat();
  const unknown = Object.keys(METRIC_NOTES).filter((note) => !all.some(({ name }) => name === METRIC_PREFIX + note));
  if (unknown.length > 0) throw new Error(`docs/metric-notes.ts: there is no metric ${unknown.join(", ")}`);
  return [
    "Both servers serve them at `/metrics` of `--health-listen`, in Prometheus' text form, beside the usual `process_*` and `nodejs_*` of prom-client.",
    `Every name starts with \`${METRIC_PREFIX}\`. No label holds what a client sends: each has the few values told here.`,
    ...Object.entries(sections).flatMap(([title, metrics]) => ["", `## ${title}`, "", ...table(metrics)]),
    "", "## Alerts worth having", "", "| metric | expression |", "| --- | --- |",
    ...all.flatMap(({ name }) => {
      const alert = noteOf(name).alert;
      return alert === undefined ? [] : [`| ${shortName(name)} | \`${alert.replaceAll("|", "\\|")}\` |`];
    }),
  ];
}

function table(metrics: readonly Described[]): string[] {
  return ["| name | type | labels | meaning |", "| --- | --- | --- | --- |", ...metrics.map(row)];
}

function row({ name, type, help, labels }: Described): string {
  const notes = noteOf(name).labels ?? {};
  const wrong = [...labels.filter((label) => notes[label] === undefined), ...Object.keys(notes).filter((label) => !labels.includes(label))];
  if (wrong.length > 0) throw new Error(`docs/metric-notes.ts: ${name} has labels ${labels.join(", ") || "none"}; say of each what values it has (wrong: ${wrong.join(", ")})`);
  const values = labels.map((label) => `\`${label}\`: ${notes[label] ?? ""}`).join("; ");
  return `| ${shortName(name)} | ${type} | ${values} | ${help} |`;
}

function noteOf(name: string): (typeof METRIC_NOTES)[string] {
  const note = METRIC_NOTES[name.slice(METRIC_PREFIX.length)];
  if (note === undefined) throw new Error(`docs/metric-notes.ts: ${name} is missing`);
  return note;
}

function shortName(name: string): string {
  return `\`${name.slice(METRIC_PREFIX.length)}\``;
}
