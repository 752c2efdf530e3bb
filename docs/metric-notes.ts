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
