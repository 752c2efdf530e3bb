import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { LATENCY_BUCKETS_SECONDS, METRIC_PREFIX } from "../shared/server/metrics.ts";

const PREFIX = `${METRIC_PREFIX}webhook_`;

/** The metrics of the webhook. The number of label values is limited: no label is a name, namespace, user or ARN. */
export interface WebhookMetrics {
  readonly requests: Counter<"path" | "operation" | "outcome">;
  readonly duration: Histogram<"path">;
  readonly errors: Counter<"path" | "code">;
  readonly findings: Counter<"code" | "severity">;
  readonly resolutions: Counter<"outcome">;
  readonly notices: Counter<"code">;
  readonly handshakeErrors: Counter;
  readonly rejectedCalls: Counter<"reason">;
  readonly certificateExpiry: Gauge;
  readonly certificateReloads: Counter<"outcome">;
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> => (
    new Counter({ name: `${PREFIX}${name}_total`, help, labelNames, registers })
  );
  return {
    requests: counter("requests", "Admission reviews by path, operation and outcome.", [
      "path",
      "operation",
      "outcome",
    ]),
    duration: new Histogram({
      name: `${PREFIX}request_duration_seconds`,
      help: "Time from the request headers to the response, in seconds.",
      labelNames: ["path"],
      buckets: LATENCY_BUCKETS_SECONDS,
      registers,
    }),
    errors: counter("errors", "Failed reviews. --on-internal-error or failurePolicy determines the verdict.", [
      "path",
      "code",
    ]),
    findings: counter("findings", "Findings that the checks reported in validated objects.", ["code", "severity"]),
    resolutions: counter("resolutions", "Role resolutions of ACK resources by outcome.", ["outcome"]),
    notices: counter("notices", "Warnings that resolution annotations were not written or were overwritten.", ["code"]),
    handshakeErrors: counter("tls_handshake_errors", "Failed TLS handshakes, for example with a wrong caBundle.", []),
    rejectedCalls: counter("rejected_calls", "Requests that were rejected before their body was received.", ["reason"]),
    certificateExpiry: new Gauge({
      name: `${PREFIX}certificate_expiry_timestamp_seconds`,
      help: "Expiry of the serving certificate, in seconds since 1970-01-01.",
      registers,
    }),
    certificateReloads: counter(
      "certificate_reloads", "New serving certificates and client CAs, loaded (ok) or rejected (fault).", ["outcome"],
    ),
  };
}
