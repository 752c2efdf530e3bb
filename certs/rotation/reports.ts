import { Counter, Gauge, type Registry } from "prom-client";
import type { Clock } from "../../shared/core/clock.ts";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import { countOf } from "../../shared/formats/text.ts";
import type { EventText } from "../../shared/server/event-series.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { METRIC_PREFIX } from "../../shared/server/metrics.ts";
import type { Step } from "./plan.ts";
import type { StoredAuthority, StoredLeaf } from "./secret.ts";
import type { WriteOutcome } from "./watched-objects.ts";

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
      name: `${PREFIX}writes_total`, help: "Changes of the Secrets and of the webhook configurations, by step.",
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

interface ReportOptions {
  readonly log: Logger;
  readonly metrics: CertificateMetrics;
  readonly clock: Pick<Clock, "now">;
  readonly secret: ObjectName;
}

/** What to do if the API server does not reach a ready Pod. */
export const UNREACHED = "the API server does not reach the webhook, although a Pod is ready: the failurePolicy stays "
  + "Ignore, and changes are admitted without checks. Let the control plane connect to the port ports.webhook of the "
  + "Pods (9443; on EKS, in the security group of the nodes), or set hostNetwork: docs/production.md";

/** An Event about the Secret. */
type CertificateEvent = Omit<EventText, "action">;

const EVENTS: Readonly<Record<Step["type"], Pick<EventText, "type" | "reason">>> = {
  restore: { type: "Warning", reason: "CertificatesRestored" },
  create: { type: "Normal", reason: "CertificatesCreated" },
  issue: { type: "Normal", reason: "CertificateIssued" },
  stage: { type: "Normal", reason: "CARotationStarted" },
  switch: { type: "Normal", reason: "CARotated" },
  retire: { type: "Normal", reason: "PreviousCARemoved" },
};

/** The activities whose faults are counted as failed writes. */
const WRITES: ReadonlySet<string> = new Set(["pass", "write", "caBundle", "serving Secret"]);

interface PublishResult {
  readonly outcome: WriteOutcome;
  /** Whether another program had changed or removed a caBundle that was correct. */
  readonly isReverted: boolean;
  /** Whether another program had set another caBundle. */
  readonly isReplaced: boolean;
  /** The number of webhooks that had no caBundle. */
  readonly filled: number;
}

/** A certificate is renewed at two thirds of its lifetime. Less than a sixth of the lifetime left is a fault. */
const EXPIRING_SHARE = 1 / 6;
const MS_PER_SECOND = 1000;

/** Reports what happens to the certificates: in the log, as metrics and as Events. No report contains a key. */
export class CertificateReports {
  readonly #options: ReportOptions;
  readonly #record: (event: CertificateEvent) => void;
  readonly #name: string;
  /** The last reported fault of each activity. */
  readonly #faults = new Map<string, string | null>();

  constructor(options: ReportOptions, record: (event: CertificateEvent) => void) {
    this.#options = options;
    this.#record = record;
    this.#name = `${options.secret.namespace}/${options.secret.name}`;
  }

  /** Logs a fault once, until the activity succeeds again (null). */
  fault(activity: string, fault: string | null): void {
    if (!this.#isNew(activity, fault) || fault === null) return;
    this.#options.log.error({ secret: this.#name, activity, fault }, "certificates cannot be maintained");
    if (WRITES.has(activity)) this.#options.metrics.writes.inc({ step: "any", outcome: "fault" });
  }

  leading(): void {
    this.#options.log.info({ secret: this.#name }, "this process renews the certificates");
  }

  /** Logs each fault of the Secret once, and that the Secret is valid again (null). */
  secretFault(fault: string | null): void {
    const { log } = this.#options;
    if (!this.#isNew("Secret", fault)) return;
    if (fault === null) log.info({ secret: this.#name }, "the certificates in the Secret are valid");
    else log.warn({ secret: this.#name, fault }, "the certificates in the Secret are missing or invalid");
  }

  /** Records the fault of an activity. Returns whether it differs from the last one. */
  #isNew(activity: string, fault: string | null): boolean {
    const last = this.#faults.get(activity) ?? null;
    this.#faults.set(activity, fault);
    return fault !== last;
  }

  /** Counts a write. Returns whether an object was written. */
  #count(step: string, outcome: WriteOutcome): boolean {
    if (outcome !== "skipped") this.#options.metrics.writes.inc({ step, outcome });
    return outcome === "ok";
  }

  performed(step: Step, outcome: WriteOutcome): void {
    const { log } = this.#options;
    if (!this.#count(step.type, outcome)) return;
    log.info({ secret: this.#name, step: step.type, reason: step.reason }, "certificates changed");
    this.#record({ ...EVENTS[step.type], note: `Step ${step.type}: ${step.reason}` });
  }

  /** Reports a write of the serving Secret. `isRestored` means that another program had changed a correct one. */
  served(name: string, outcome: WriteOutcome, { isRestored }: { readonly isRestored: boolean }): void {
    const { log } = this.#options;
    if (!this.#count(isRestored ? "restore-serving" : "serve", outcome)) return;
    if (!isRestored) {
      log.info({ secret: name }, "serving certificate stored");
      return;
    }
    log.warn({ secret: name }, "serving certificate restored: another program had changed or deleted it");
    const note = `Restored the Secret ${name}, which another program had changed or deleted`;
    this.#record({ type: "Warning", reason: "ServingCertificateRestored", note });
  }

  published(plural: string, { outcome, isReverted, isReplaced, filled }: PublishResult): void {
    const { log } = this.#options;
    if (!this.#count(isReverted ? "restore-bundle" : "publish", outcome)) return;
    if (isReplaced) {
      log.warn({ configurations: plural }, "caBundle restored: another program had changed it");
      const note = `Restored the caBundle in ${plural}; exclude this field from the program that changes it`;
      this.#record({ type: "Warning", reason: "CABundleRestored", note });
      return;
    }
    log.info({ configurations: plural, filled }, "caBundle set");
    if (filled === 0) return;
    const note = `Set the caBundle of ${countOf(filled, "webhook")} in ${plural} that had none`;
    this.#record({ type: "Normal", reason: "CABundleSet", note });
  }

  /** Reports the webhooks that now fail closed. `isRestored` means that this process had set a failurePolicy before. */
  failing(
    plural: string, names: readonly string[],
    { outcome, isRestored }: { readonly outcome: WriteOutcome; readonly isRestored: boolean },
  ): void {
    if (names.length === 0 || !this.#count(isRestored ? "restore-fail" : "fail", outcome)) return;
    const what = `failurePolicy ${isRestored ? "restored to" : "set to"} Fail`;
    this.#options.log[isRestored ? "warn" : "info"]({ configurations: plural, webhooks: names }, what);
    const note = `${isRestored ? "Restored" : "Set"} the failurePolicy Fail of ${countOf(names.length, "webhook")} in `
      + `${plural}, because the webhook is ready`;
    if (isRestored) this.#record({ type: "Warning", reason: "FailurePolicyRestored", note });
    else this.#record({ type: "Normal", reason: "FailurePolicySet", note });
  }

  /** Reports once that the API server does not reach a ready Pod of the webhook, until it does. */
  unreached(isUnreached: boolean): void {
    if (!this.#isNew("reach", isUnreached ? UNREACHED : null) || !isUnreached) return;
    this.#options.log.error({}, UNREACHED);
    this.#record({ type: "Warning", reason: "WebhookNotReached", note: UNREACHED });
  }

  /** Sets the metric of the CA, and writes an Event if a certificate should have been renewed long ago. */
  expiries(served: StoredLeaf | null, ca: StoredAuthority | null): void {
    if (ca !== null) this.#options.metrics.caExpiry.set(ca.notAfterMs / MS_PER_SECOND);
    this.#expiry("The serving certificate", served);
    this.#expiry("The CA", ca);
  }

  #expiry(what: string, certificate: Pick<StoredLeaf, "notBeforeMs" | "notAfterMs"> | null): void {
    if (certificate === null) return;
    const { notBeforeMs, notAfterMs } = certificate;
    if (notAfterMs - this.#options.clock.now() >= (notAfterMs - notBeforeMs) * EXPIRING_SHARE) return;
    const note = `${what} expires at ${new Date(notAfterMs).toISOString()} and was not renewed`;
    this.#record({ type: "Warning", reason: "CertificateExpiring", note });
  }
}
