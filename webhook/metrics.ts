import { Counter, Gauge, type Registry } from "prom-client";
import { LATENCY_BUCKETS_SECONDS, METRIC_PREFIX } from "../shared/server/metrics.ts";
import { ResponseMetrics } from "../shared/server/response-metrics.ts";

/** The name of the webhook in Events. */
export const EVENT_CONTROLLER = "ack-role-resolver.io/webhook";

const PREFIX = `${METRIC_PREFIX}webhook_`;

/** The metrics of the webhook. The number of label values is limited: no label is a name, namespace, user or ARN. */
export interface WebhookMetrics {
  readonly responses: ResponseMetrics<"operation" | "outcome">;
  readonly errors: Counter<"path" | "code">;
  readonly findings: Counter<"code" | "severity">;
  readonly resolutions: Counter<"outcome">;
  readonly notices: Counter<"code">;
  readonly handshakeErrors: Counter;
  readonly rejectedCalls: Counter<"reason">;
  readonly certificateExpiry: Gauge;
  readonly missingHosts: Gauge;
  readonly certificateReloads: Counter<"outcome">;
  readonly events: Counter<"outcome">;
  /** `outcome` is `ok`, `exists` or `failed`. */
  readonly controllerIdentityCreations: Counter<"outcome">;
  readonly refreshes: Counter<"outcome">;
  /** Absent without --namespace. */
  readonly reconcilingLeader: Gauge;
  /** The leader sets the following gauges. They are absent on other replicas. */
  readonly staleResources: Gauge;
  readonly failingRefreshes: Gauge;
  readonly lastScan: Gauge;
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> => (
    new Counter({ name: `${PREFIX}${name}_total`, help, labelNames, registers })
  );
  const gauge = (name: string, help: string): Gauge => new Gauge({ name: `${PREFIX}${name}`, help, registers });
  return {
    responses: new ResponseMetrics(registry, {
      prefix: PREFIX, labelNames: ["operation", "outcome"], buckets: LATENCY_BUCKETS_SECONDS,
      help: {
        requests: "Admission reviews by path, operation and outcome.",
        duration: "Time from the request headers to the response, in seconds.",
      },
    }),
    errors: counter(
      "errors", "Failed reviews. --profile or failurePolicy determines the verdict.", ["path", "code"],
    ),
    findings: counter("findings", "Findings that the checks reported in validated objects.", ["code", "severity"]),
    resolutions: counter("resolutions", "Role resolutions of ACK resources and clusters by outcome.", ["outcome"]),
    notices: counter("notices", "Warnings that resolution annotations were not written or were overwritten.", ["code"]),
    handshakeErrors: counter("tls_handshake_errors", "Failed TLS handshakes, for example with a wrong caBundle.", []),
    rejectedCalls: counter("rejected_calls", "Requests rejected or denied before their body was received.", ["reason"]),
    certificateExpiry: gauge(
      "certificate_expiry_timestamp_seconds", "Expiry of the serving certificate, in seconds since 1970-01-01.",
    ),
    missingHosts: gauge(
      "certificate_missing_hosts", "Names of the webhook for which the serving certificate is not valid.",
    ),
    certificateReloads: counter(
      "certificate_reloads", "New serving certificates and client CAs, loaded (ok) or rejected (fault).", ["outcome"],
    ),
    events: counter("events", "Kubernetes Events, by outcome.", ["outcome"]),
    controllerIdentityCreations: counter(
      "controller_identity_creations", "Attempts of --auto-controller-identity to create the identity.", ["outcome"],
    ),
    refreshes: counter("refreshes", "Updates of stale annotations of resources and clusters, by outcome.", ["outcome"]),
    ...reconcilingGauges(gauge),
  };
}

type ReconcilingGauge = "reconcilingLeader" | "staleResources" | "failingRefreshes" | "lastScan";

function reconcilingGauges(
  gauge: (name: string, help: string) => Gauge,
): Pick<WebhookMetrics, ReconcilingGauge> {
  return {
    reconcilingLeader: absent(gauge(
      "reconciling_leader", "1 if this replica updates stale annotations, else 0. Absent without --namespace.",
    )),
    staleResources: absent(gauge(
      "stale_resources", "Resources and clusters whose annotations were stale in the last scan.",
    )),
    failingRefreshes: absent(gauge(
      "failing_refreshes", "Resources and clusters whose stale annotations could not be updated, and wait for a retry.",
    )),
    lastScan: absent(gauge(
      "last_scan_timestamp_seconds", "End of the last scan for stale annotations, in seconds since 1970-01-01.",
    )),
  };
}

/** Removes the initial value 0 of a gauge without labels, so that the gauge is absent until it is set. */
function absent(gauge: Gauge): Gauge {
  gauge.remove();
  return gauge;
}
