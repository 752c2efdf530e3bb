import type { ServingPair } from "../../certs/read.ts";
import { errorMessage } from "../../shared/decisions/errors.ts";
import { field, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import type { EventSubject } from "../../shared/decisions/problems/problem.ts";
import { sleep, type SteadyClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import type { ObjectName } from "../../shared/inventory/cluster/watched-kind.ts";
import { EventRecorder } from "../../shared/server/events.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { EVENT_CONTROLLER, type WebhookMetrics } from "../metrics.ts";
import { applyStep } from "./apply-step.ts";
import { BundlePublisher } from "./bundle-publisher.ts";
import { caBundle, trustedCAs } from "./ca-bundle.ts";
import { LeaderElection } from "../leader-election.ts";
import { nextStep, type Step, type Timing } from "./plan.ts";
import { CertificateReports } from "./reports.ts";
import { annotationFault, type CertificateSet, type StoredCertificates, withCertificates } from "./secret.ts";
import { SecretState } from "./secret-state.ts";
import { WatchedObjects } from "./watched-objects.ts";
import { writeSecret } from "./writer.ts";

interface CertificateManagerOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  /** The Secret of --tls-secret. The Lease has the same namespace and name. */
  readonly secret: ObjectName;
  /** The names of the webhook, from --tls-host. */
  readonly hosts: readonly string[];
  /** The name of both webhook configurations. */
  readonly configuration: string;
  /** The unique name of this replica. */
  readonly identity: string;
  readonly timing: Timing;
  /** Uses the certificate for new connections. */
  readonly serve: (pair: ServingPair) => void;
}

/** How often each replica checks the time, in ms. Changes of the objects are noticed immediately. */
const TICK_MS = 10_000;

/** How long the certificates of a rejected write are used for a retry, in ms. */
const PREPARED_MS = 3_600_000;

interface Prepared {
  readonly stored: StoredCertificates;
  readonly type: Step["type"];
  readonly set: CertificateSet;
  readonly atMs: number;
}

/**
 * Serves the certificate in a Secret, which all replicas share. The replica that holds the Lease also creates, renews
 * and rotates the certificates, and maintains the caBundles of the webhook configurations.
 */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #watched: WatchedObjects;
  readonly #election: LeaderElection;
  readonly #state: SecretState;
  readonly #reports: CertificateReports;
  readonly #publisher: BundlePublisher;
  readonly #events: EventRecorder;
  readonly #stopping = new AbortController();
  #wake = new AbortController();
  /** Since when (steady time) the data of the Secret has been `text`. */
  #content = { text: "", sinceMs: 0 };
  /** The certificates of the last step, for a retry if the API server rejects the write: keys need CPU time. */
  #prepared: Prepared | null = null;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: CertificateManagerOptions) {
    const { clock, metrics, secret, hosts, serve } = options;
    this.#options = options;
    const events = new EventRecorder({ ...options, controller: EVENT_CONTROLLER, mayWrite: () => true });
    this.#events = events;
    const reports = new CertificateReports(options, (event) => (
      events.record(this.#secretSubject(), { ...event, action: "Rotate" })
    ));
    this.#reports = reports;
    const state = new SecretState({
      hosts, nowMs: () => clock.now(), serve, onFault: (fault) => reports.secretFault(fault, state.served !== null),
    });
    this.#state = state;
    const wake = (): void => this.#wake.abort();
    this.#watched = new WatchedObjects({
      ...options, onChange: wake, onFault: (plural, fault) => reports.fault(`watch of ${plural}`, fault),
    });
    this.#election = new LeaderElection({
      ...options, ...secret, onFault: (fault) => reports.fault("lease", fault),
      onLeading: () => {
        reports.leading();
        wake();
      },
    });
    this.#publisher = new BundlePublisher({
      ...options, reports, watched: this.#watched, election: this.#election, stopping: this.#stopping.signal,
    });
    metrics.certificateLeader.set(0);
  }

  start(): void {
    this.#watched.start();
    this.#election.start();
    this.#running = Promise.all([this.#run(), this.#events.run(this.#stopping.signal)]);
  }

  #secretSubject(): EventSubject {
    const uid = stringAt(this.#watched.secret, "metadata", "uid");
    return { apiVersion: "v1", kind: "Secret", ...this.#options.secret, uid };
  }

  /** Ends all requests and releases the Lease. The served certificate stays in use. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    await this.#running;
    await Promise.all([this.#watched.stop(), this.#election.stop()]);
  }

  async #run(): Promise<void> {
    const { clock, timing, metrics } = this.#options;
    const { signal } = this.#stopping;
    const tickMs = Math.min(TICK_MS, timing.publishMs);
    while (!signal.aborted) {
      this.#wake = new AbortController();
      // Passes are sequential.
      // oxlint-disable-next-line no-await-in-loop
      const hasChanged = await this.#pass().catch((error: unknown) => {
        this.#reports.fault("write", errorMessage(error));
        return false;
      });
      metrics.certificateLeader.set(Number(this.#election.isLeader));
      // oxlint-disable-next-line no-await-in-loop
      if (!hasChanged && !signal.aborted) await sleep(clock, tickMs, this.#wake.signal);
    }
  }

  /** Serves the certificate. The leader also writes what is due. Returns whether another pass is due immediately. */
  async #pass(): Promise<boolean> {
    const { clock } = this.#options;
    this.#state.update(this.#watched.secret);
    const { stored, remembered, served, canRestore } = this.#state;
    if (stored === null) return false;
    this.#reports.expiries(served, stored.ca);
    const unchangedMs = this.#unchangedMs();
    if (!this.#election.isLeader || this.#watched.isListing) return false;
    this.#reports.fault("annotation", annotationFault(stored));
    if (stored.isForeign) {
      this.#reports.fault("write", "cert-manager writes the Secret; mount the Secret and use --tls-dir instead");
      return false;
    }
    // While the Secret is invalid, its CAs may be incomplete.
    const inForceMs = await this.#publish(stored.faults.length === 0 ? stored : remembered);
    const { timing } = this.#options;
    const step = nextStep({ nowMs: clock.now(), timing, stored, canRestore, inForceMs, unchangedMs });
    if (step !== null) return await this.#perform(step);
    this.#reports.fault("write", null);
    return false;
  }

  /** Returns how long the caBundles have been correct, in ms; null if a caBundle cannot be read or written. */
  async #publish(stored: StoredCertificates | null): Promise<number | null> {
    if (stored === null || this.#watched.configurations === null) return null;
    try {
      const inForceMs = await this.#publisher.publish(caBundle(stored));
      this.#reports.fault("caBundle", null);
      return inForceMs;
    } catch (error) {
      // The certificate must be renewed even if the caBundle cannot be written.
      this.#reports.fault("caBundle", errorMessage(error));
      return null;
    }
  }

  #unchangedMs(): number {
    const nowMs = this.#options.clock.steady();
    const text = JSON.stringify(field(this.#watched.secret, "data") ?? null);
    if (text !== this.#content.text) this.#content = { text, sinceMs: nowMs };
    return nowMs - this.#content.sinceMs;
  }

  async #perform(step: Step): Promise<boolean> {
    // The watch may have reported a newer Secret meanwhile. The update must fail then.
    const { stored, object } = this.#state;
    if (stored === null) return false;
    const set = await this.#prepare(step, stored);
    if (!this.#election.isLeader) return false;
    const written = await writeSecret(
      this.#options, withCertificates(object ?? {}, set, step.type), this.#options.secret,
    );
    this.#reports.performed(step, { isConflict: written === null });
    if (written === null) return false;
    this.#watched.store(written);
    return true;
  }

  /** Returns the certificates after the step. Returns the same certificates for a retry. */
  async #prepare({ type }: Step, stored: StoredCertificates): Promise<CertificateSet> {
    const { hosts, timing, clock } = this.#options;
    const nowMs = clock.now();
    const prepared = this.#prepared;
    if (prepared?.stored === stored && prepared.type === type && clock.steady() - prepared.atMs < PREPARED_MS) {
      return prepared.set;
    }
    const configurations = (this.#watched.configurations ?? []).map(([, configuration]) => configuration);
    const trusted = trustedCAs(configurations, hosts);
    const { remembered } = this.#state;
    const set = await applyStep(type, { stored, remembered, trusted, hosts, timing, nowMs });
    this.#prepared = { stored, type, set, atMs: clock.steady() };
    return set;
  }
}
