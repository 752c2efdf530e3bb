import type { Registry } from "prom-client";
import { registerInventoryMetrics, registerKindMetrics } from "../shared/server/inventory-metrics.ts";
import { createRegistry, METRIC_PREFIX } from "../shared/server/metrics.ts";
import { createSidecarMetrics, registerSidecarState } from "../sidecar/metrics.ts";
import { createWebhookMetrics } from "../webhook/metrics.ts";

/** What docs/metrics.md says of a metric beside its name, type and help, which its registry knows. */
export interface MetricNote {
  /** The values of each label. */
  readonly labels?: Readonly<Record<string, string>>;
  /** A Prometheus expression that is worth an alert. */
  readonly alert?: string;
}

const ERROR_CODE = "a code of [errors](errors.md)";
const ADMISSION_PATH = "the admission path, such as `/validate/iamroleselectors`";
const SIDECAR_PATH = "a route's pattern, such as `/v1/credentials/selectors/:name` or `/sts`; `unknown` for what is no path";
const UNPARSED_PATH = "`unparsed` for what was no request: no HTTP, or headers or a body that were too large or too slow";
const STS_ACTION = "`AssumeRole`, `GetCallerIdentity`";

const STS_CODES = [
  "AccessDenied", "ExpiredToken", "IncompleteSignature", "InvalidAction", "InvalidClientTokenId", "MalformedHttpRequest", "MalformedPolicyDocument",
  "MissingAction", "MissingAuthenticationToken", "SignatureDoesNotMatch", "ValidationError",
].map((code) => `\`${code}\``).join(", ");

/** By name, without the common prefix. */
export const METRIC_NOTES: Readonly<Record<string, MetricNote>> = {
  build_info: { labels: { component: "`webhook`, `sidecar`", version: "of this program", node: "of Node.js" } },
  inventory_loaded: { alert: "ack_role_resolver_inventory_loaded == 0" },
  inventory_faulty: {},
  inventory_age_seconds: { alert: "ack_role_resolver_inventory_age_seconds > 300" },
  inventory_selectors: {},
  inventory_malformed_selectors: { alert: "ack_role_resolver_inventory_malformed_selectors > 0" },
  unknown_ack_groups: { alert: "ack_role_resolver_unknown_ack_groups > 0" },
  unlisted_ack_kinds: {},
  webhook_requests_total: {
    labels: { path: ADMISSION_PATH, operation: "`CREATE`, `UPDATE`, `DELETE`, `CONNECT`, `unknown`", outcome: "`allowed`, `denied`, `patched`, `skipped`, `error`" },
  },
  webhook_request_duration_seconds: {
    labels: { path: ADMISSION_PATH },
    alert: "histogram_quantile(0.99, sum by (le) (rate(ack_role_resolver_webhook_request_duration_seconds_bucket[5m]))) > 1",
  },
  webhook_errors_total: { labels: { path: ADMISSION_PATH, code: ERROR_CODE }, alert: "rate(ack_role_resolver_webhook_errors_total[5m]) > 0" },
  webhook_findings_total: { labels: { code: "the id of a [check](checks.md)", severity: "`deny`, `warn`" } },
  webhook_resolutions_total: { labels: { outcome: "`selected`, `default`, `conflict`, `refused`" } },
  webhook_notices_total: { labels: { code: ERROR_CODE } },
  webhook_tls_handshake_errors_total: { alert: "rate(ack_role_resolver_webhook_tls_handshake_errors_total[5m]) > 0" },
  webhook_certificate_expiry_timestamp_seconds: { alert: "ack_role_resolver_webhook_certificate_expiry_timestamp_seconds - time() < 7 * 86400" },
  webhook_certificate_reloads_total: {
    labels: { outcome: "`ok`, `fault`" }, alert: 'increase(ack_role_resolver_webhook_certificate_reloads_total{outcome="fault"}[1h]) > 0',
  },
  sidecar_requests_total: {
    labels: { path: `${SIDECAR_PATH}, ${UNPARSED_PATH}`, code: "the HTTP status" }, alert: 'rate(ack_role_resolver_sidecar_requests_total{code=~"5.."}[5m]) > 0',
  },
  sidecar_request_duration_seconds: {
    labels: { path: SIDECAR_PATH },
    alert: "histogram_quantile(0.99, sum by (le) (rate(ack_role_resolver_sidecar_request_duration_seconds_bucket[5m]))) > 0.5",
  },
  sidecar_cache_lookups_total: { labels: { result: "`hit`, `miss`, `stale`" } },
  sidecar_sts_calls_total: {
    labels: { action: STS_ACTION, code: "`ok`, a documented code of STS, `other`, or `unreachable`" },
    alert: 'rate(ack_role_resolver_sidecar_sts_calls_total{code="AccessDenied"}[15m]) > 0',
  },
  sidecar_sts_call_duration_seconds: { labels: { action: STS_ACTION } },
  sidecar_refusals_total: { labels: { code: `${ERROR_CODE}, at \`/sts\` too whatever STS's word for it is; or where \`/sts\` refuses as STS itself would, STS's own code: ${STS_CODES}` } },
  sidecar_auth_failures_total: { labels: { kind: "`token`, `signature`, `host`" }, alert: "rate(ack_role_resolver_sidecar_auth_failures_total[5m]) > 0.1" },
  sidecar_token_reloads_total: { labels: { result: "`ok`, `failed`" }, alert: 'increase(ack_role_resolver_sidecar_token_reloads_total{result="failed"}[10m]) > 0' },
  sidecar_account_refusals_total: { alert: "increase(ack_role_resolver_sidecar_account_refusals_total[10m]) > 0" },
  sidecar_role_checks_total: { labels: { result: "`ok`, `refused`, `skipped` (STS could not be asked, or the role is refused before it)" } },
  sidecar_failing_roles: { alert: "ack_role_resolver_sidecar_failing_roles > 0" },
  sidecar_credentials_expiry_seconds: { labels: { role: "the role's ARN; at most the 1,000 that are kept" }, alert: "ack_role_resolver_sidecar_credentials_expiry_seconds < 300" },
  sidecar_circuit_state: { labels: { state: "`closed`, `open`, `half-open`" }, alert: 'ack_role_resolver_sidecar_circuit_state{state="closed"} == 0' },
  sidecar_refresh_lag_seconds: { alert: "ack_role_resolver_sidecar_refresh_lag_seconds > 300" },
  sidecar_sts_calls_in_flight: {},
  sidecar_sts_calls_waiting: {},
  // absent() would be silent while any other sidecar has one.
  sidecar_base_identity_age_seconds: {
    alert: 'ack_role_resolver_build_info{component="sidecar"} unless on (job, instance) ack_role_resolver_sidecar_base_identity_age_seconds',
  },
  sidecar_base_identity_expiry_seconds: { alert: "ack_role_resolver_sidecar_base_identity_expiry_seconds < 240" },
};

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
