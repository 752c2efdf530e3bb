import { METRIC_PREFIX } from "../../shared/server/metrics.ts";
import { renderYAML } from "../render.ts";

/** Returns the alerts as a rule file of Prometheus. The content is also valid as the spec of a PrometheusRule. */
export function renderRules(): string {
  const groups = Object.entries(ALERTS).map(([group, alerts]) => ({
    name: `ack-role-resolver-${group}`, rules: alerts.map(rule),
  }));
  return renderYAML([{ groups }]);
}

/** Returns the name of the alert in Prometheus. */
export function alertName({ name }: Pick<Alert, "name">): string {
  return `ACKRoleResolver${name}`;
}

function rule(alert: Alert): object {
  const { severity, expression, summary } = alert;
  return {
    alert: alertName(alert), expr: expression, for: alert.for, labels: { severity },
    annotations: { summary, runbook: `docs/runbook.md#${alertName(alert).toLowerCase()}` },
  };
}

/** Returns the PromQL selector of a metric. `name` excludes the prefix of all metrics. */
export function metric(name: string, labels = ""): string {
  return `${METRIC_PREFIX}${name}${labels === "" ? "" : `{${labels}}`}`;
}

export function rate(name: string): string {
  return `rate(${metric(name)}[5m])`;
}

/** Returns the expression of a quantile, such as 0.99, of all series of a histogram. */
export function quantile(share: number, histogram: string): string {
  return `histogram_quantile(${share}, sum by (le) (${rate(`${histogram}_bucket`)}))`;
}

/** An alert on the metrics of the webhook and the sidecar. docs/runbook.md has one section for each alert. */
export interface Alert {
  /** The name, without the prefix `ACKRoleResolver`. */
  readonly name: string;
  /** `critical`: changes or credentials fail now, or are not checked. `warning`: they will fail without a fix. */
  readonly severity: "critical" | "warning";
  /** The PromQL expression. An alert fires for each series that the expression returns. */
  readonly expression: string;
  /** How long the expression must return a series before the alert fires. */
  readonly for: string;
  /** The problem in one sentence. May contain labels, such as `{{ $labels.pod }}`. */
  readonly summary: string;
}

/** The errors after which an object is denied, or admitted, without a complete review. */
const UNREVIEWED = '{code=~"ERR_INTERNAL|ERR_REQUEST_DEADLINE|ERR_NAMESPACE_UNREAD"}';

/** The alerts by the name of their group. */
export const ALERTS: Readonly<Record<"inventory" | "webhook" | "sidecar", readonly Alert[]>> = {
  inventory: [
    {
      name: "InventoryNotLoaded", severity: "critical", for: "5m",
      expression: `${METRIC_PREFIX}inventory_loaded == 0`,
      summary: "{{ $labels.instance }} has not loaded the Kubernetes objects, so it is not ready.",
    },
    {
      name: "InventoryStale", severity: "critical", for: "1m",
      expression: `${METRIC_PREFIX}inventory_age_seconds > 300`,
      summary: "The objects in {{ $labels.instance }} have not been current for {{ $value | humanizeDuration }}.",
    },
    {
      name: "MalformedSelectors", severity: "warning", for: "15m",
      expression: `${METRIC_PREFIX}inventory_malformed_selectors > 0`,
      summary: "Malformed IAMRoleSelectors: {{ $value }}. A malformed selector selects no resources.",
    },
    {
      name: "UnknownACKGroups", severity: "warning", for: "15m",
      expression: `${METRIC_PREFIX}unknown_ack_groups > 0`,
      summary: "ACK API groups that the webhook does not know: {{ $value }}. It does not receive their resources.",
    },
    {
      name: "UnlistedACKKinds", severity: "warning", for: "15m",
      expression: `${METRIC_PREFIX}unlisted_ack_kinds > 0`,
      summary: "ACK kinds that cannot be listed: {{ $value }}. The checks ignore their resources.",
    },
  ],
  webhook: [
    {
      name: "WebhookDown", severity: "critical", for: "2m",
      // `up` names no component, and its job label depends on the scrape configuration.
      expression: `absent(${METRIC_PREFIX}build_info{component="webhook"})`,
      summary: "No webhook is scraped. Changes of selectors are denied, and changes of ACK resources are not checked.",
    },
    {
      name: "WebhookBypassed", severity: "critical", for: "0m",
      // A metric of the API server.
      expression: grew('apiserver_admission_webhook_fail_open_count{name=~".+[.]ack-role-resolver[.]io"}', "5m"),
      summary: "The API server admitted changes that {{ $labels.name }} did not review.",
    },
    {
      name: "WebhookErrors", severity: "warning", for: "5m",
      expression: `sum by (instance, code) (rate(${METRIC_PREFIX}webhook_errors_total[5m])) > 0`,
      summary: "Reviews in {{ $labels.instance }} fail with {{ $labels.code }}.",
    },
    {
      name: "WebhookReviewsFail", severity: "critical", for: "0m",
      expression: grew(`${METRIC_PREFIX}webhook_errors_total${UNREVIEWED}`, "5m"),
      summary: "Objects were denied or admitted without a review, because of {{ $labels.code }}.",
    },
    {
      name: "WebhookSlow", severity: "warning", for: "5m",
      expression: `${quantile(0.99, "webhook_request_duration_seconds")} > 1`,
      summary: "1% of the reviews take {{ $value | humanizeDuration }} or longer. The API server waits for 3 s.",
    },
    {
      name: "WebhookTLSHandshakesFail", severity: "critical", for: "5m",
      expression: `rate(${METRIC_PREFIX}webhook_tls_handshake_errors_total[5m]) > 0`,
      summary: "Clients cannot establish TLS connections to {{ $labels.instance }}.",
    },
    {
      name: "WebhookCallsRejected", severity: "warning", for: "5m",
      expression: `sum by (instance, reason) (rate(${METRIC_PREFIX}webhook_rejected_calls_total[5m])) > 0`,
      summary: "{{ $labels.instance }} rejects requests without a review. Reason: {{ $labels.reason }}.",
    },
    {
      name: "WebhookCertificateExpires", severity: "critical", for: "0m",
      expression: `${METRIC_PREFIX}webhook_certificate_expiry_timestamp_seconds - time() < 7 * 86400`,
      summary: "The serving certificate of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}.",
    },
    {
      name: "WebhookCertificateRejected", severity: "warning", for: "0m",
      expression: grew(`${METRIC_PREFIX}webhook_certificate_reloads_total{outcome="fault"}`, "1h"),
      summary: "{{ $labels.instance }} rejected a new certificate and continues to use the previous certificate.",
    },
    {
      name: "WebhookCertificateNames", severity: "critical", for: "5m",
      expression: `${METRIC_PREFIX}webhook_certificate_missing_hosts > 0`,
      summary: "The serving certificate of {{ $labels.instance }} lacks names of the webhook: {{ $value }}.",
    },
    {
      name: "WebhookCAExpires", severity: "warning", for: "0m",
      expression: `${METRIC_PREFIX}certificates_ca_expiry_timestamp_seconds - time() < 60 * 86400`,
      summary: "The CA of the webhook expires in {{ $value | humanizeDuration }}, and was not rotated.",
    },
    {
      name: "WebhookCertificateWritesFail", severity: "warning", for: "0m",
      expression: grew(`${METRIC_PREFIX}certificates_writes_total{outcome="fault"}`, "1h"),
      summary: "{{ $labels.instance }} cannot write a Secret of the certificates, or the caBundle.",
    },
    {
      name: "WebhookCABundleReverted", severity: "warning", for: "0m",
      expression: `increase(${METRIC_PREFIX}certificates_writes_total{step="restore-bundle"}[1h]) > 3`,
      summary: "Another program changes the caBundle of the webhook again and again.",
    },
    {
      name: "AnnotationsStayStale", severity: "warning", for: "15m",
      expression: `${METRIC_PREFIX}webhook_failing_refreshes > 0`,
      summary: "Objects whose stale annotations cannot be updated: {{ $value }}.",
    },
    {
      name: "ReconcilingStopped", severity: "warning", for: "10m",
      expression: `max(${METRIC_PREFIX}webhook_reconciling_leader) == 0 `
        + `or time() - max(${METRIC_PREFIX}webhook_last_scan_timestamp_seconds) > 600`,
      summary: "No webhook searches for stale annotations.",
    },
  ],
  sidecar: [
    {
      name: "SidecarErrors", severity: "critical", for: "5m",
      expression: `sum by (instance, path) (rate(${METRIC_PREFIX}sidecar_requests_total{code=~"5.."}[5m])) > 0`,
      summary: "{{ $labels.instance }} fails to serve credentials on {{ $labels.path }}.",
    },
    {
      name: "SidecarSlow", severity: "warning", for: "5m",
      expression: `${quantile(0.99, "sidecar_request_duration_seconds")} > 0.5`,
      summary: "1% of the credential requests take {{ $value | humanizeDuration }} or longer. SDKs wait for about 1 s.",
    },
    {
      name: "STSAccessDenied", severity: "warning", for: "0m",
      expression: grew(`${METRIC_PREFIX}sidecar_sts_calls_total{code="AccessDenied"}`, "15m"),
      summary: "STS denies AssumeRole calls of {{ $labels.instance }}.",
    },
    {
      name: "STSUnavailable", severity: "critical", for: "2m",
      expression: `${METRIC_PREFIX}sidecar_circuit_state{state="closed"} == 0`,
      summary: "{{ $labels.instance }} stopped calling STS, because the calls fail. It serves only cached sessions.",
    },
    {
      name: "SessionsExpire", severity: "critical", for: "0m",
      expression: `${METRIC_PREFIX}sidecar_credentials_expiry_seconds < 300`,
      summary: "The session of {{ $labels.role }} expires in {{ $value | humanizeDuration }} and is not refreshed.",
    },
    {
      name: "SessionRefreshLate", severity: "warning", for: "0m",
      expression: `${METRIC_PREFIX}sidecar_refresh_lag_seconds > 300`,
      summary: "A session refresh in {{ $labels.instance }} is {{ $value | humanizeDuration }} late.",
    },
    {
      name: "RolesFailProbe", severity: "warning", for: "15m",
      expression: `${METRIC_PREFIX}sidecar_failing_roles > 0`,
      summary: "Granted roles that STS rejects: {{ $value }}.",
    },
    {
      name: "IdentitiesRefused", severity: "warning", for: "15m",
      expression: `${METRIC_PREFIX}sidecar_refused_identities > 0`,
      summary: "Cluster API identities whose role STS rejects: {{ $value }}.",
    },
    {
      name: "BaseIdentityUnverified", severity: "critical", for: "5m",
      // absent() would not fire if another sidecar exposes the metric.
      expression: `${METRIC_PREFIX}build_info{component="sidecar"} unless on (job, instance) `
        + `${METRIC_PREFIX}sidecar_base_identity_age_seconds`,
      summary: "STS has not verified the identity of {{ $labels.instance }}, so the sidecar is not ready.",
    },
    {
      name: "BaseIdentityExpires", severity: "critical", for: "1m",
      expression: `${METRIC_PREFIX}sidecar_base_identity_expiry_seconds < 240`,
      summary: "The credentials of {{ $labels.instance }} itself expire in {{ $value | humanizeDuration }}.",
    },
    {
      name: "SidecarRequestsUnauthorized", severity: "warning", for: "5m",
      expression: `sum by (instance, kind) (rate(${METRIC_PREFIX}sidecar_auth_failures_total[5m])) > 0.1`,
      summary: "{{ $labels.instance }} receives requests with a wrong {{ $labels.kind }}.",
    },
    {
      name: "SidecarTokenRejected", severity: "warning", for: "0m",
      expression: grew(`${METRIC_PREFIX}sidecar_token_reloads_total{result="failed"}`, "10m"),
      summary: "{{ $labels.instance }} cannot read its new token and continues to use the previous token.",
    },
    {
      name: "WrongAccountRequested", severity: "warning", for: "0m",
      expression: grew(`${METRIC_PREFIX}sidecar_account_refusals_total`, "10m"),
      summary: "Clients of {{ $labels.instance }} request roles that are not in the account of the sidecar.",
    },
  ],
};

/** Returns the counters that grew in `window`. increase() alone would miss the event that creates a series. */
function grew(counter: string, window: string): string {
  return `increase(${counter}[${window}]) > 0 or (${counter} unless ${counter} offset ${window}) > 0`;
}
