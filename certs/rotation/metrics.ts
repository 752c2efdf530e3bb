import { Counter, Gauge, type Registry } from "prom-client";
import { METRIC_PREFIX } from "../../shared/server/metrics.ts";

/** The name of `certs manage` in Events. */
export const EVENT_CONTROLLER = "ack-role-resolver.io/certificates";

const PREFIX = `${METRIC_PREFIX}certificates_`;

/** The metrics of `certs manage`. No label is a name. */
export interface CertificateMetrics {
  /** Absent until a CA is known. */
  readonly caExpiry: Gauge;
  readonly writes: Counter<"step" | "outcome">;
  readonly leader: Gauge;
  readonly events: Counter<"outcome">;
}

export function createCertificateMetrics(registry: Registry): CertificateMetrics {
  const registers = [registry];
  const caExpiry = new Gauge({
    name: `${PREFIX}ca_expiry_timestamp_seconds`,
    help: "Expiry of the CA of the webhook, in seconds since 1970-01-01.", registers,
  });
  // Without this call, the gauge would be 0 until it is set.
  caExpiry.remove();
  return {
    caExpiry,
    writes: new Counter({
      name: `${PREFIX}writes_total`, help: "Changes of the Secrets and of the caBundles, by step.",
      labelNames: ["step", "outcome"], registers,
    }),
    leader: new Gauge({
      name: `${PREFIX}leader`, help: "1 if this process holds the Lease and renews the certificates, else 0.",
      registers,
    }),
    events: new Counter({
      name: `${PREFIX}events_total`, help: "Kubernetes Events, by outcome.", labelNames: ["outcome"], registers,
    }),
  };
}
