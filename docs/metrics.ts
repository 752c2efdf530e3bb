import type { Registry } from "prom-client";
import { createCertificateMetrics } from "../certs/rotation/reports.ts";
import {
  createRegistry, METRIC_PREFIX, registerInventoryMetrics, registerKindMetrics,
} from "../shared/server/metrics.ts";
import { createIdentityMetrics } from "../sidecar/capa/identity-metrics.ts";
import { createSidecarMetrics, registerSidecarState } from "../sidecar/metrics.ts";
import { createWebhookMetrics } from "../webhook/metrics.ts";

const ERROR_CODE = "an [error](errors.md)";
const EVENT_OUTCOME = "`ok`, `limited` (see [rate](events.md#rate)), `failed`";
const ADMISSION_PATH = "such as `/validate/iamroleselectors`";
const SIDECAR_PATH = "such as `/sts`; `unknown`";
const UNPARSED_PATH = "`unparsed` (not HTTP, or beyond a limit)";
const STS_ACTION = "`AssumeRole`, `AssumeRoleWithWebIdentity`, `GetCallerIdentity`";

/** The values of each label. The keys are the names of the metrics that have labels, without the common prefix. */
const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  build_info: {
    component: "`webhook`, `sidecar`, `certificates`", version: "", node: "",
  },
  webhook_requests_total: {
    path: ADMISSION_PATH, operation: "`CREATE`, `UPDATE`, `DELETE`, `CONNECT`, `unknown`",
    outcome: "`allowed`, `denied`, `patched`, `skipped`, `error`",
  },
  webhook_request_duration_seconds: { path: ADMISSION_PATH },
  webhook_errors_total: { path: ADMISSION_PATH, code: ERROR_CODE },
  webhook_findings_total: {
    code: "a [check](checks.md) ID", severity: "`deny`, `warn`, `would-deny` (`observe` admits what `enforce` denies)",
  },
  webhook_resolutions_total: { outcome: "`selected`, `default`, `conflict`, `refused`" },
  webhook_notices_total: { code: ERROR_CODE },
  webhook_rejected_calls_total: {
    reason: "`client` (wrong certificate), or a [limit](limits.md): `connections`, `bytes`",
  },
  webhook_certificate_reloads_total: { outcome: "`ok`, `fault`" },
  certificates_writes_total: {
    step: "`create`, `restore`, `issue`, `stage`, `switch`, `retire` (Secret of the CA), `serve`, `restore-serving` "
      + "(certificate), `publish`, `restore-bundle` (caBundle), `fail`, `restore-fail` (failurePolicy), `any` (none "
      + "could start)",
    outcome: "`ok`, `conflict` (retried), `fault`",
  },
  certificates_events_total: {
    outcome: EVENT_OUTCOME,
  },
  webhook_events_total: {
    outcome: EVENT_OUTCOME,
  },
  webhook_controller_identity_creations_total: {
    outcome: "`ok`, `exists`, `failed` (retried)",
  },
  webhook_refreshes_total: {
    outcome: "`ok`, `gone`; retried: `conflict`, `outage`, `fault` (rejected)",
  },
  sidecar_requests_total: { path: `${SIDECAR_PATH}; ${UNPARSED_PATH}`, code: "the HTTP status" },
  sidecar_request_duration_seconds: { path: SIDECAR_PATH },
  sidecar_cache_lookups_total: { result: "`hit`, `miss`, `stale`" },
  sidecar_sts_calls_total: {
    action: STS_ACTION, code: "`ok`, an STS error, `other`, `unreachable`",
  },
  sidecar_sts_call_duration_seconds: { action: STS_ACTION },
  sidecar_refusals_total: {
    code: `${ERROR_CODE}; at \`/sts\` also of STS, such as \`AccessDenied\``,
  },
  sidecar_auth_failures_total: { kind: "`token`, `signature`, `host`" },
  sidecar_token_reloads_total: { result: "`ok`, `failed`" },
  sidecar_identity_token_requests_total: {
    result: "`ok`, `rejected`, `failed` (a retry may help)",
  },
  sidecar_identity_secret_reads_total: {
    result: "`ok`, `invalid` (no valid access key), `failed`",
  },
  sidecar_role_checks_total: {
    result: "`ok`, `refused`, `skipped` (STS unavailable, or role not allowed)",
  },
  sidecar_events_total: {
    outcome: EVENT_OUTCOME,
  },
  sidecar_credentials_expiry_seconds: { role: "the ARN of the role; at most 1,000 cached roles" },
  sidecar_circuit_state: { state: "`closed`, `open`, `half-open`" },
};

interface MetricDescription {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/**
 * An inventory without values is sufficient here, because the metrics read the inventory only when they are scraped.
 */
const NO_INVENTORY = {
  source: {
    status: { loaded: false, lastSyncMs: null, fault: null },
    inventory: { kinds: { groups: [], selectorFields: null } },
  },
  selectors: () => ({ size: 0, malformed: new Map() }), unlistedKinds: () => 0, steadyMs: () => 0,
};

/** The metrics of each server, without the default metrics of prom-client. */
interface ServerMetrics {
  readonly webhook: readonly MetricDescription[];
  readonly sidecar: readonly MetricDescription[];
  readonly certificates: readonly MetricDescription[];
}

/** Returns the metrics that each server registers. */
export function describeMetrics(): ServerMetrics {
  return {
    webhook: descriptionsOf(webhookRegistry()), sidecar: descriptionsOf(sidecarRegistry()),
    certificates: descriptionsOf(certificatesRegistry()),
  };
}

function certificatesRegistry(): Registry {
  const registry = createRegistry({ component: "certificates" });
  createCertificateMetrics(registry);
  return registry;
}

function webhookRegistry(): Registry {
  const registry = createRegistry({ component: "webhook" });
  registerInventoryMetrics(registry, NO_INVENTORY);
  registerKindMetrics(registry, NO_INVENTORY, []);
  createWebhookMetrics(registry);
  return registry;
}

function sidecarRegistry(): Registry {
  const registry = createRegistry({ component: "sidecar" });
  registerInventoryMetrics(registry, NO_INVENTORY);
  createSidecarMetrics(registry);
  const idle = {
    sessions: { expirations: () => [], refreshLagMs: 0 }, guard: { circuit: "closed", inFlight: 0, waiting: 0 },
    base: { lastVerification: null }, probe: null,
  } as const;
  registerSidecarState(registry, idle, () => 0);
  createIdentityMetrics(registry, { size: 0 });
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

/** Returns the lines of docs/metrics.md. Throws if LABELS does not document exactly the labels of the metrics. */
export function metricLines(): string[] {
  const { webhook, sidecar, certificates } = describeMetrics();
  const isShared = ({ name }: MetricDescription): boolean =>
    [webhook, sidecar].every((metrics) => metrics.some((one) => one.name === name));
  const sections = {
    "Both servers": sidecar.filter(isShared),
    Webhook: webhook.filter((one) => !isShared(one)),
    Sidecar: sidecar.filter((one) => !isShared(one)),
    "`certs manage`": certificates.filter((one) => !isShared(one)),
  };
  const all = Object.values(sections).flat();
  const unknown = Object.keys(LABELS).filter((key) => !all.some(({ name }) => name === METRIC_PREFIX + key));
  if (unknown.length > 0) throw new Error(`docs/metrics.ts: LABELS has unknown metrics: ${unknown.join(", ")}`);
  return [
    "Both servers and `certs manage` expose their metrics at `/metrics` on `--health-listen`, together with the",
    `\`process_*\` and \`nodejs_*\` metrics of prom-client. Every name starts with \`${METRIC_PREFIX}\`.`,
    "Each line ends with the labels and their values. The [runbook](runbook.md) has a section for each alert.",
    ...Object.entries(sections).flatMap(([title, metrics]) => ["", `## ${title}`, "", ...metrics.map(item)]),
  ];
}

/** What the unit in the name of a metric, or its labels, say too. */
const REPEATED
  = / The labels are .*|, in seconds since 1970-01-01|,? by (?:path|action|error code|outcome|result|step)\b[^.]*/;

function item({ name, type, help, labels }: MetricDescription): string {
  const notes = LABELS[name.slice(METRIC_PREFIX.length)] ?? {};
  const undocumented = labels.filter((label) => notes[label] === undefined);
  const unknown = Object.keys(notes).filter((label) => !labels.includes(label));
  const faults = [...undocumented, ...unknown];
  if (faults.length > 0) {
    throw new Error(`docs/metrics.ts: labels of ${name} are undocumented or unknown: ${faults.join(", ")}`);
  }
  const values = labels.map((label) => (notes[label] === "" ? code(label) : `${code(label)}: ${notes[label] ?? ""}`));
  const documented = values.length === 0 ? "" : ` ${values.join("; ")}.`;
  return `- ${shortName(name)} (${type}): ${help.replace(REPEATED, "")}${documented}`;
}

function shortName(name: string): string {
  return code(name.slice(METRIC_PREFIX.length));
}

function code(text: string): string {
  return `\`${text}\``;
}
