import type { Registry } from "prom-client";
import {
  createRegistry, METRIC_PREFIX, registerInventoryMetrics, registerKindMetrics,
} from "../shared/server/metrics.ts";
import { createSidecarMetrics, registerSidecarState } from "../sidecar/metrics.ts";
import { createWebhookMetrics } from "../webhook/metrics.ts";

/** The parts of a metric's documentation that are not in the code of the metric. */
interface MetricNote {
  /** The values of each label. */
  readonly labels?: Readonly<Record<string, string>>;
  /** PromQL expressions to alert on. */
  readonly alert?: string | readonly string[];
}

const ERROR_CODE = "an [error code](errors.md)";
const ADMISSION_PATH = "the admission path, such as `/validate/iamroleselectors`";
const SIDECAR_PATH = "a route, such as `/v1/credentials/selectors/:name` or `/sts`; `unknown` for any other path";
const UNPARSED_PATH = "`unparsed` for a request that is not HTTP, or that exceeds the size or time limit";
const STS_ACTION = "`AssumeRole`, `GetCallerIdentity`";

const STS_CODES = [
  "AccessDenied", "ExpiredToken", "IncompleteSignature", "InvalidAction", "InvalidClientTokenId",
  "MalformedHttpRequest", "MalformedPolicyDocument", "MissingAction", "MissingAuthenticationToken",
  "SignatureDoesNotMatch", "ValidationError",
].map((code) => `\`${code}\``).join(", ");

/** The notes on the metrics. The keys are metric names without the common prefix. */
const METRIC_NOTES: Readonly<Record<string, MetricNote>> = {
  build_info: {
    labels: { component: "`webhook`, `sidecar`", version: "version of this program", node: "version of Node.js" },
  },
  inventory_loaded: { alert: "ack_role_resolver_inventory_loaded == 0" },
  inventory_faulty: {},
  inventory_age_seconds: { alert: "ack_role_resolver_inventory_age_seconds > 300" },
  inventory_selectors: {},
  inventory_malformed_selectors: { alert: "ack_role_resolver_inventory_malformed_selectors > 0" },
  unknown_ack_groups: { alert: "ack_role_resolver_unknown_ack_groups > 0" },
  pruned_selector_fields: {},
  unlisted_ack_kinds: {},
  webhook_requests_total: {
    labels: {
      path: ADMISSION_PATH, operation: "`CREATE`, `UPDATE`, `DELETE`, `CONNECT`, `unknown`",
      outcome: "`allowed`, `denied`, `patched`, `skipped`, `error`",
    },
  },
  webhook_request_duration_seconds: {
    labels: { path: ADMISSION_PATH },
    alert: p99Over("ack_role_resolver_webhook_request_duration_seconds", 1),
  },
  webhook_errors_total: {
    labels: { path: ADMISSION_PATH, code: ERROR_CODE },
    alert: [
      "rate(ack_role_resolver_webhook_errors_total[5m]) > 0",
      "increase(ack_role_resolver_webhook_errors_total"
        + '{code=~"ERR_INTERNAL|ERR_REQUEST_DEADLINE|ERR_NAMESPACE_UNREAD"}[5m]) > 0',
    ],
  },
  webhook_findings_total: { labels: { code: "a [check](checks.md) ID", severity: "`deny`, `warn`" } },
  webhook_resolutions_total: { labels: { outcome: "`selected`, `default`, `conflict`, `refused`" } },
  webhook_notices_total: { labels: { code: ERROR_CODE } },
  webhook_tls_handshake_errors_total: {
    alert: "rate(ack_role_resolver_webhook_tls_handshake_errors_total[5m]) > 0",
  },
  webhook_rejected_calls_total: {
    labels: {
      reason: "`client`: wrong client certificate, `connections`, `bytes`, `upload`: see [limits](limits.md)",
    },
    alert: "rate(ack_role_resolver_webhook_rejected_calls_total[5m]) > 0",
  },
  webhook_certificate_expiry_timestamp_seconds: {
    alert: "ack_role_resolver_webhook_certificate_expiry_timestamp_seconds - time() < 7 * 86400",
  },
  webhook_certificate_reloads_total: {
    labels: { outcome: "`ok`, `fault`" },
    alert: 'increase(ack_role_resolver_webhook_certificate_reloads_total{outcome="fault"}[1h]) > 0',
  },
  sidecar_requests_total: {
    labels: { path: `${SIDECAR_PATH}; ${UNPARSED_PATH}`, code: "the HTTP status" },
    alert: 'rate(ack_role_resolver_sidecar_requests_total{code=~"5.."}[5m]) > 0',
  },
  sidecar_request_duration_seconds: {
    labels: { path: SIDECAR_PATH },
    alert: p99Over("ack_role_resolver_sidecar_request_duration_seconds", 0.5),
  },
  sidecar_cache_lookups_total: { labels: { result: "`hit`, `miss`, `stale`" } },
  sidecar_sts_calls_total: {
    labels: { action: STS_ACTION, code: "`ok`, a documented STS error code, `other` or `unreachable`" },
    alert: 'rate(ack_role_resolver_sidecar_sts_calls_total{code="AccessDenied"}[15m]) > 0',
  },
  sidecar_sts_call_duration_seconds: { labels: { action: STS_ACTION } },
  sidecar_refusals_total: {
    labels: {
      code: `${ERROR_CODE}; for an invalid request to \`/sts\`, an STS error code: ${STS_CODES}`,
    },
  },
  sidecar_auth_failures_total: {
    labels: { kind: "`token`, `signature`, `host`" },
    alert: "rate(ack_role_resolver_sidecar_auth_failures_total[5m]) > 0.1",
  },
  sidecar_token_reloads_total: {
    labels: { result: "`ok`, `failed`" },
    alert: 'increase(ack_role_resolver_sidecar_token_reloads_total{result="failed"}[10m]) > 0',
  },
  sidecar_account_refusals_total: { alert: "increase(ack_role_resolver_sidecar_account_refusals_total[10m]) > 0" },
  sidecar_role_checks_total: {
    labels: { result: "`ok`, `refused`, `skipped` (no call: STS is unavailable, or the role is not allowed)" },
  },
  sidecar_failing_roles: { alert: "ack_role_resolver_sidecar_failing_roles > 0" },
  sidecar_credentials_expiry_seconds: {
    labels: { role: "the ARN of the role; at most 1,000 cached roles" },
    alert: "ack_role_resolver_sidecar_credentials_expiry_seconds < 300",
  },
  sidecar_circuit_state: {
    labels: { state: "`closed`, `open`, `half-open`" },
    alert: 'ack_role_resolver_sidecar_circuit_state{state="closed"} == 0',
  },
  sidecar_refresh_lag_seconds: { alert: "ack_role_resolver_sidecar_refresh_lag_seconds > 300" },
  sidecar_sts_calls_in_flight: {},
  sidecar_sts_calls_waiting: {},
  // The alert does not use absent(), which would not fire if another sidecar exposes the metric.
  sidecar_base_identity_age_seconds: {
    alert: 'ack_role_resolver_build_info{component="sidecar"} unless on (job, instance) '
      + "ack_role_resolver_sidecar_base_identity_age_seconds",
  },
  sidecar_base_identity_expiry_seconds: { alert: "ack_role_resolver_sidecar_base_identity_expiry_seconds < 240" },
};

function p99Over(histogram: string, limit: number): string {
  return `histogram_quantile(0.99, sum by (le) (rate(${histogram}_bucket[5m]))) > ${limit}`;
}

interface MetricDescription {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** An empty inventory. The metrics read values only when they are scraped. */
const NO_INVENTORY = {
  status: { loaded: false, lastSyncMs: null, fault: null },
  inventory: {
    selectors: { size: 0, malformed: new Map() },
    kinds: { groups: [], selectorFields: null },
    unlisted: () => new Map(),
  },
};

/** The metrics of each server, without the default metrics of prom-client. */
interface ServerMetrics {
  readonly webhook: readonly MetricDescription[];
  readonly sidecar: readonly MetricDescription[];
}

/** Returns the metrics that each server registers. */
export function describeMetrics(): ServerMetrics {
  return { webhook: descriptionsOf(webhookRegistry()), sidecar: descriptionsOf(sidecarRegistry()) };
}

function webhookRegistry(): Registry {
  const registry = createRegistry({ component: "webhook" });
  registerInventoryMetrics(registry, NO_INVENTORY, () => 0);
  registerKindMetrics(registry, NO_INVENTORY, []);
  createWebhookMetrics(registry);
  return registry;
}

function sidecarRegistry(): Registry {
  const registry = createRegistry({ component: "sidecar" });
  registerInventoryMetrics(registry, NO_INVENTORY, () => 0);
  createSidecarMetrics(registry);
  const idle = {
    expirations: () => [], refreshLagMs: 0, circuit: "closed", inFlight: 0, waiting: 0, base: null, failingRoles: 0,
  } as const;
  registerSidecarState(registry, idle, () => 0);
  return registry;
}

function descriptionsOf(registry: Registry): MetricDescription[] {
  const own = registry.getMetricsAsArray().filter(({ name }) => name.startsWith(METRIC_PREFIX));
  return own.map((metric) => ({
    name: metric.name, type: String(metric.type), help: metric.help, labels: labelsOf(metric),
  }));
}

function labelsOf(metric: object): string[] {
  return "labelNames" in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [];
}

/** Returns the lines of docs/metrics.md. Throws if METRIC_NOTES does not document exactly the metrics and labels. */
export function metricLines(): string[] {
  const { webhook, sidecar } = describeMetrics();
  const isShared = ({ name }: MetricDescription): boolean =>
    [webhook, sidecar].every((metrics) => metrics.some((one) => one.name === name));
  const sections = {
    "Both servers": sidecar.filter(isShared),
    Webhook: webhook.filter((one) => !isShared(one)),
    Sidecar: sidecar.filter((one) => !isShared(one)),
  };
  const all = Object.values(sections).flat();
  const unknown = Object.keys(METRIC_NOTES).filter((note) => !all.some(({ name }) => name === METRIC_PREFIX + note));
  if (unknown.length > 0) throw new Error(`docs/metrics.ts: METRIC_NOTES has unknown metrics: ${unknown.join(", ")}`);
  return [
    "Both servers expose their metrics at `/metrics` on `--health-listen`, in the Prometheus text format.",
    "Both servers also expose the `process_*` and `nodejs_*` metrics of prom-client.",
    `Every name starts with \`${METRIC_PREFIX}\`. Labels never contain client input; the tables list their values.`,
    ...Object.entries(sections).flatMap(([title, metrics]) => ["", `## ${title}`, "", ...table(metrics)]),
    "", "## Recommended alerts", "", "| metric | expression |", "| --- | --- |",
    ...all.flatMap(({ name }) => {
      const alerts = [noteOf(name).alert ?? []].flat();
      return alerts.map((alert) => `| ${shortName(name)} | \`${alert.replaceAll("|", "\\|")}\` |`);
    }),
  ];
}

function table(metrics: readonly MetricDescription[]): string[] {
  return ["| name | type | labels | meaning |", "| --- | --- | --- | --- |", ...metrics.map(row)];
}

function row({ name, type, help, labels }: MetricDescription): string {
  const notes = noteOf(name).labels ?? {};
  const undocumented = labels.filter((label) => notes[label] === undefined);
  const unknown = Object.keys(notes).filter((label) => !labels.includes(label));
  const faults = [...undocumented, ...unknown];
  if (faults.length > 0) {
    throw new Error(`docs/metrics.ts: labels of ${name} are undocumented or unknown: ${faults.join(", ")}`);
  }
  const values = labels.map((label) => `\`${label}\`: ${notes[label] ?? ""}`).join("; ");
  return `| ${shortName(name)} | ${type} | ${values} | ${help} |`;
}

function noteOf(name: string): (typeof METRIC_NOTES)[string] {
  const note = METRIC_NOTES[name.slice(METRIC_PREFIX.length)];
  if (note === undefined) throw new Error(`docs/metrics.ts: METRIC_NOTES does not contain ${name}`);
  return note;
}

function shortName(name: string): string {
  return `\`${name.slice(METRIC_PREFIX.length)}\``;
}
