import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { LATENCY_BUCKETS_SECONDS, METRIC_PREFIX } from "../shared/server/metrics.ts";

const PREFIX = `${METRIC_PREFIX}webhook_`;

/** The webhook's own metrics. Every label has few values: never a name, a namespace, a user or an ARN. */
export interface WebhookMetrics {
  readonly requests: Counter<"path" | "operation" | "outcome">;
  readonly duration: Histogram<"path">;
  readonly errors: Counter<"path" | "code">;
  readonly findings: Counter<"code" | "severity">;
  readonly resolutions: Counter<"outcome">;
  readonly notices: Counter<"code">;
  readonly handshakeErrors: Counter;
  readonly certificateExpiry: Gauge;
  readonly certificateReloads: Counter<"outcome">;
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> => (
    new Counter({ name: `${PREFIX}${name}_total`, help, labelNames, registers })
  );
  return {
    requests: counter("requests", "Reviews answered: allowed, denied, patched, skipped or error.", ["path", "operation", "outcome"]),
    duration: new Histogram({
      name: `${PREFIX}request_duration_seconds`,
      help: "Time from the request's head to its answer.",
      labelNames: ["path"],
      buckets: LATENCY_BUCKETS_SECONDS,
      registers,
    }),
    errors: counter("errors", "Requests that got an error and no review, so that the failurePolicy decided.", ["path", "code"]),
    findings: counter("findings", "Faults found in judged objects.", ["code", "severity"]),
    resolutions: counter("resolutions", "Roles resolved for ACK resources.", ["outcome"]),
    notices: counter("notices", "ACK resources that could not be annotated, or whose annotations somebody else had written.", ["code"]),
    handshakeErrors: counter("tls_handshake_errors", "TLS handshakes that failed, as with a caBundle of another authority.", []),
    certificateExpiry: new Gauge({
      name: `${PREFIX}certificate_expiry_timestamp_seconds`,
      help: "When the certificate that is served expires, in seconds since 1970.",
      registers,
    }),
    certificateReloads: counter("certificate_reloads", "New certificates, taken (ok) or refused (fault) for the one before.", ["outcome"]),
  };
}
