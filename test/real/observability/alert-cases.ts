/** Series for which an alert fires after 20 minutes, and the labels and the summary of this alert. */
interface AlertCase {
  /**
   * Maps each series to its samples, one for each minute, in the notation of promtool: `1+2x20` stands for 1, 3, 5 and
   * so on.
   */
  readonly series: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
}

/**
 * Returns a case with one gauge or counter, whose labels are also the labels of the alert. `name` excludes the prefix
 * `ack_role_resolver_`.
 */
function one(name: string, labels: Readonly<Record<string, string>>, samples: string, summary: string): AlertCase {
  const all = { instance: "a:9444", ...labels };
  const matchers = Object.entries(all).map(([label, value]) => `${label}="${value}"`).join(",");
  return { series: { [`ack_role_resolver_${name}{${matchers}}`]: samples }, labels: all, summary };
}

/** Returns a case with one histogram. All its requests take between `aboveSeconds` and `upToSeconds`. */
function slow(name: string, aboveSeconds: number, upToSeconds: number, summary: string): AlertCase {
  const bucket = (le: number | string): string => `ack_role_resolver_${name}_bucket{instance="a:9444",le="${le}"}`;
  const series = { [bucket(aboveSeconds)]: "0x20", [bucket(upToSeconds)]: "0+60x20", [bucket("+Inf")]: "0+60x20" };
  return { series, labels: {}, summary };
}

/**
 * The samples of a counter that is absent until its first event, in the last minute. increase() does not count this
 * event.
 */
const FIRST_EVENT = "_x19 1";

/** Maps the name of each alert, without its prefix, to its case. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  InventoryNotLoaded: one(
    "inventory_loaded", {}, "0x20", "a:9444 has not loaded the Kubernetes objects, so it is not ready.",
  ),
  InventoryStale: one(
    "inventory_age_seconds", {}, "0+60x20", "The objects in a:9444 have not been current for 20m 0s.",
  ),
  MalformedSelectors: one(
    "inventory_malformed_selectors", {}, "2x20",
    "Malformed IAMRoleSelectors: 2. A malformed selector selects no resources.",
  ),
  UnknownACKGroups: one(
    "unknown_ack_groups", {}, "1x20",
    "ACK API groups that the webhook does not know: 1. It does not receive their resources.",
  ),
  UnlistedACKKinds: one(
    "unlisted_ack_kinds", {}, "1x20", "ACK kinds that cannot be listed: 1. The checks ignore their resources.",
  ),
  WebhookDown: {
    series: { 'ack_role_resolver_build_info{component="other"}': "1x20" }, labels: { component: "webhook" },
    summary: "No webhook is scraped. Changes of selectors are denied, and changes of ACK resources are not checked.",
  },
  WebhookBypassed: {
    series: {
      'apiserver_admission_webhook_fail_open_count{name="resources.mutate.ack-role-resolver.io"}': FIRST_EVENT,
      'apiserver_admission_webhook_fail_open_count{name="other.example.com"}': FIRST_EVENT,
    },
    labels: { name: "resources.mutate.ack-role-resolver.io" },
    summary: "The API server admitted changes that resources.mutate.ack-role-resolver.io did not review.",
  },
  WebhookErrors: one(
    "webhook_errors_total", { code: "ERR_NOT_READY" }, "0+1x20", "Reviews in a:9444 fail with ERR_NOT_READY.",
  ),
  WebhookReviewsFail: one(
    "webhook_errors_total", { code: "ERR_INTERNAL", path: "/validate/resources" }, FIRST_EVENT,
    "Objects were denied or admitted without a review, because of ERR_INTERNAL.",
  ),
  WebhookSlow: slow(
    "webhook_request_duration_seconds", 1, 3,
    "1% of the reviews take 2.98s or longer. The API server waits for 3 s.",
  ),
  WebhookTLSHandshakesFail: one(
    "webhook_tls_handshake_errors_total", {}, "0+1x20", "Clients cannot establish TLS connections to a:9444.",
  ),
  WebhookCallsRejected: one(
    "webhook_rejected_calls_total", { reason: "bytes" }, "0+1x20",
    "a:9444 rejects requests without a review. Reason: bytes.",
  ),
  WebhookCertificateExpires: one(
    "webhook_certificate_expiry_timestamp_seconds", {}, "87600x20",
    "The serving certificate of a:9444 expires in 1d 0h 0m 0s.",
  ),
  WebhookCertificateRejected: one(
    "webhook_certificate_reloads_total", { outcome: "fault" }, FIRST_EVENT,
    "a:9444 rejected a new certificate and continues to use the previous certificate.",
  ),
  WebhookCertificateNames: one(
    "webhook_certificate_missing_hosts", {}, "1x20", "The serving certificate of a:9444 lacks names of the webhook: 1.",
  ),
  WebhookCAExpires: one(
    "certificates_ca_expiry_timestamp_seconds", {}, "87600x20",
    "The CA of the webhook expires in 1d 0h 0m 0s, and was not rotated.",
  ),
  WebhookCertificateWritesFail: one(
    "certificates_writes_total", { outcome: "fault", step: "any" }, FIRST_EVENT,
    "a:9444 cannot write a Secret of the certificates, or the caBundle.",
  ),
  AnnotationsStayStale: one(
    "webhook_failing_refreshes", {}, "3x20", "Objects whose stale annotations cannot be updated: 3.",
  ),
  ReconcilingStopped: {
    series: { 'ack_role_resolver_webhook_reconciling_leader{instance="a:9444"}': "0x20" }, labels: {},
    summary: "No webhook searches for stale annotations.",
  },
  WebhookCABundleReverted: one(
    "certificates_writes_total", { outcome: "ok", step: "restore-bundle" }, "0+1x20",
    "Another program changes the caBundle of the webhook again and again.",
  ),
  SidecarErrors: {
    series: one("sidecar_requests_total", { code: "503", path: "/sts" }, "0+1x20", "").series,
    labels: { instance: "a:9444", path: "/sts" }, summary: "a:9444 fails to serve credentials on /sts.",
  },
  SidecarSlow: slow(
    "sidecar_request_duration_seconds", 0.5, 1,
    "1% of the credential requests take 995ms or longer. SDKs wait for about 1 s.",
  ),
  STSAccessDenied: one(
    "sidecar_sts_calls_total", { action: "AssumeRole", code: "AccessDenied" }, FIRST_EVENT,
    "STS denies AssumeRole calls of a:9444.",
  ),
  STSUnavailable: one(
    "sidecar_circuit_state", { state: "closed" }, "0x20",
    "a:9444 stopped calling STS, because the calls fail. It serves only cached sessions.",
  ),
  SessionsExpire: one(
    "sidecar_credentials_expiry_seconds", { role: "arn:aws:iam::111122223333:role/a" }, "240x20",
    "The session of arn:aws:iam::111122223333:role/a expires in 4m 0s and is not refreshed.",
  ),
  SessionRefreshLate: one(
    "sidecar_refresh_lag_seconds", {}, "600x20", "A session refresh in a:9444 is 10m 0s late.",
  ),
  RolesFailProbe: one("sidecar_failing_roles", {}, "1x20", "Granted roles that STS rejects: 1."),
  IdentitiesRefused: one(
    "sidecar_refused_identities", {}, "1x20", "Cluster API identities whose role STS rejects: 1.",
  ),
  BaseIdentityUnverified: one(
    "build_info", { component: "sidecar", job: "j" }, "1x20",
    "STS has not verified the identity of a:9444, so the sidecar is not ready.",
  ),
  BaseIdentityExpires: one(
    "sidecar_base_identity_expiry_seconds", {}, "120x20", "The credentials of a:9444 itself expire in 2m 0s.",
  ),
  SidecarRequestsUnauthorized: one(
    "sidecar_auth_failures_total", { kind: "token" }, "0+60x20", "a:9444 receives requests with a wrong token.",
  ),
  SidecarTokenRejected: one(
    "sidecar_token_reloads_total", { result: "failed" }, FIRST_EVENT,
    "a:9444 cannot read its new token and continues to use the previous token.",
  ),
  WrongAccountRequested: one(
    "sidecar_account_refusals_total", {}, "0x19 1",
    "Clients of a:9444 request roles that are not in the account of the sidecar.",
  ),
};

/** The series of a healthy webhook and a healthy sidecar. No alert fires for them. */
export const HEALTHY: Readonly<Record<string, string>> = Object.fromEntries([
  one("build_info", { component: "webhook", job: "w" }, "1x20", ""),
  one("build_info", { component: "sidecar", job: "s" }, "1x20", ""),
  one("inventory_loaded", {}, "1x20", ""),
  one("inventory_age_seconds", {}, "0x20", ""),
  one("inventory_malformed_selectors", {}, "0x20", ""),
  one("unknown_ack_groups", {}, "0x20", ""),
  one("unlisted_ack_kinds", {}, "0x20", ""),
  one("webhook_errors_total", { code: "ERR_REQUEST_MALFORMED" }, "0 0 1x18", ""),
  one("webhook_tls_handshake_errors_total", {}, "0x20", ""),
  one("webhook_certificate_expiry_timestamp_seconds", {}, "2592000x20", ""),
  one("webhook_certificate_reloads_total", { outcome: "ok" }, "0+1x20", ""),
  one("sidecar_requests_total", { code: "200", path: "/sts" }, "0+60x20", ""),
  one("sidecar_sts_calls_total", { action: "AssumeRole", code: "ok" }, "0+1x20", ""),
  one("sidecar_circuit_state", { state: "closed" }, "1x20", ""),
  one("sidecar_circuit_state", { state: "open" }, "0x20", ""),
  one("sidecar_credentials_expiry_seconds", { role: "arn:aws:iam::111122223333:role/a" }, "1800x20", ""),
  one("sidecar_refresh_lag_seconds", {}, "0x20", ""),
  one("sidecar_failing_roles", {}, "0x20", ""),
  one("sidecar_refused_identities", {}, "0x20", ""),
  one("sidecar_base_identity_age_seconds", { job: "s" }, "60x20", ""),
  one("sidecar_account_refusals_total", {}, "0x20", ""),
].flatMap(({ series }) => Object.entries(series)));
