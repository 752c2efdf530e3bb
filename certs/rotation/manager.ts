import { errorMessage } from "../../shared/formats/errors.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import { sleep } from "../../shared/core/clock.ts";
import type { ClusterPorts } from "../../shared/api/api.ts";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import { EventRecorder } from "../../shared/server/events.ts";
import { LeaderElection } from "../../shared/api/leader-election.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { applyStep, nextStep, type Step, type Timing } from "./plan.ts";
import { caBundle, trustedCAs } from "./ca-bundle.ts";
import { ConfigurationPublisher } from "./configuration-publisher.ts";
import { REACH_MS, Reachability } from "./reachability.ts";
import { ReadyServices } from "./ready-services.ts";
import { type CertificateMetrics, CertificateReports, EVENT_CONTROLLER } from "./reports.ts";
import { annotationFault, type CertificateSet, type StoredCertificates, withCertificates } from "./secret.ts";
import { SecretState, ServingSecret } from "./secret-state.ts";
import { WatchedObjects } from "./watched-objects.ts";
import type { EventSubject } from "../../shared/formats/object-meta.ts";

interface CertificateManagerOptions extends ClusterPorts {
  readonly log: Logger;
  readonly metrics: CertificateMetrics;
  /** The Secret that contains the CA. The Lease has the same namespace and name. */
  readonly secret: ObjectName;
  /** The Secret that the Pods of the webhook mount. */
  readonly serving: ObjectName;
  /** The names of the webhook, from its Service or --url. */
  readonly hosts: readonly string[];
  /** The name of both webhook configurations. */
  readonly configuration: string;
  /** The unique name of this replica. */
  readonly identity: string;
  readonly timing: Timing;
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
 * Creates, renews and rotates the CA and the certificate of the webhook in one Secret, copies the certificate to the
 * Secret that the Pods of the webhook mount, and maintains the caBundles of the webhook configurations. Sets their
 * failurePolicy when the webhook is ready. Only the process that holds the Lease writes.
 */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #watched: WatchedObjects;
  readonly #services: ReadyServices;
  readonly #election: LeaderElection;
  readonly #state: SecretState;
  readonly #reports: CertificateReports;
  readonly #reachability: Reachability;
  readonly #publisher: ConfigurationPublisher;
  readonly #serving: ServingSecret;
  readonly #events: EventRecorder;
  readonly #stopping = new AbortController();
  #wake = new AbortController();
  /** Since when (steady time) the data of the Secret has been `text`, and its certificate has been served. */
  #content = { text: "", sinceMs: 0 };
  /** The certificates of the last step, for a retry if the API server rejects the write: keys need CPU time. */
  #prepared: Prepared | null = null;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: CertificateManagerOptions) {
    const { clock, metrics, secret, hosts } = options;
    this.#options = options;
    const events = new EventRecorder({ ...options, controller: EVENT_CONTROLLER, mayWrite: () => true });
    this.#events = events;
    const reports = new CertificateReports(options, (event) => (
      events.record(this.#secretSubject(), { ...event, action: "Rotate" })
    ));
    this.#reports = reports;
    this.#state = new SecretState({
      hosts, nowMs: () => clock.now(), onFault: (fault) => reports.secretFault(fault),
    });
    const wake = (): void => this.#wake.abort();
    const watched = new WatchedObjects({
      ...options, onChange: wake, mayWrite: () => this.#election.isLeader,
      onFault: (object, fault) => reports.fault(`watch of ${object}`, fault),
    });
    const election = new LeaderElection({
      ...options, ...secret, onFault: (fault) => reports.fault("lease", fault),
      onLeading: () => {
        reports.leading();
        wake();
      },
    });
    this.#watched = watched;
    this.#election = election;
    const ports = { ...options, reports, watched };
    const services = new ReadyServices({
      ...options, namespace: secret.namespace, onChange: wake,
      onFault: (fault) => reports.fault("watch of endpointslices", fault),
    });
    this.#services = services;
    const isReady = (service: string): boolean => services.has(service);
    const reachability = new Reachability({ ...options, reports, lease: secret });
    this.#reachability = reachability;
    this.#publisher = new ConfigurationPublisher({
      ...ports, isReady, reachability, stopping: this.#stopping.signal,
    });
    this.#serving = new ServingSecret(ports);
    metrics.leader.set(0);
  }

  /** Whether all objects were read, so that this process can do its work when it gets the Lease. */
  get isReady(): boolean {
    return this.#watched.isComplete;
  }

  start(): void {
    this.#watched.start();
    this.#services.start();
    this.#election.start();
    this.#running = Promise.all([this.#run(), this.#events.run(this.#stopping.signal)]);
  }

  /** Whether the API server does not reach a ready Pod of the webhook. */
  get isUnreached(): boolean {
    return this.#reachability.isUnreached;
  }

  #tickMs(publishMs: number): number {
    return Math.min(this.#reachability.isWaiting ? REACH_MS : TICK_MS, publishMs);
  }

  #secretSubject(): EventSubject {
    const { secret } = this.#options;
    const uid = stringAt(this.#watched.secret(secret), "metadata", "uid");
    return { apiVersion: "v1", kind: "Secret", ...secret, uid };
  }

  /** Ends all requests and releases the Lease. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    await this.#running;
    await Promise.all([this.#watched.stop(), this.#services.stop(), this.#election.stop()]);
  }

  async #run(): Promise<void> {
    const { clock, timing, metrics } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      // Passes are sequential.
      // oxlint-disable-next-line no-await-in-loop
      const hasChanged = await this.#attempt("pass", false, () => this.#pass());
      metrics.leader.set(Number(this.#election.isLeader));
      // oxlint-disable-next-line no-await-in-loop
      if (!hasChanged && !signal.aborted) await sleep(clock, this.#tickMs(timing.publishMs), this.#wake.signal);
    }
  }

  /** Returns the result of `run`. If `run` rejects, reports the fault of the activity, and returns `otherwise`. */
  async #attempt<T>(activity: string, otherwise: T, run: () => Promise<T>): Promise<T> {
    try {
      const result = await run();
      this.#reports.fault(activity, null);
      return result;
    } catch (error) {
      this.#reports.fault(activity, errorMessage(error));
      return otherwise;
    }
  }

  /** Reads the objects, and writes what is due. Returns whether another pass is due immediately. */
  async #pass(): Promise<boolean> {
    const { secret, serving } = this.#options;
    const watched = this.#watched;
    const trusted = this.#trusted();
    this.#state.update({ secret: watched.secret(secret), serving: watched.secret(serving), trusted });
    const { stored } = this.#state;
    if (stored === null) return false;
    this.#reports.expiries(stored.leaf, stored.ca);
    if (!this.#election.isLeader || watched.isListing) return false;
    return await this.#attempt("write", false, () => this.#maintain(stored));
  }

  /** Writes what is due. Returns whether the Secret changed. */
  async #maintain(stored: StoredCertificates): Promise<boolean> {
    const { serving } = this.#options;
    this.#reports.fault("annotation", annotationFault(stored));
    if (this.#serving.isForeign) {
      throw new Error(`cert-manager writes the Secret ${serving.name} too; set certificates.mode to cert-manager`);
    }
    // While the Secret is invalid, its CAs may be incomplete.
    const valid = stored.faults.length === 0 ? stored : this.#state.remembered;
    // A fault of one object must not prevent the writes of the others: the certificate must be renewed even if the
    // caBundle cannot be written, and the Secret of the CA must be repaired even if the serving Secret cannot.
    const inForceMs = await this.#attempt("caBundle", null, () => this.#publish(valid));
    const isServed = await this.#attempt("serving Secret", false, () => this.#serve(valid, inForceMs));
    return await this.#advance(stored, inForceMs, this.#unchangedMs(isServed));
  }

  /** Performs the step that is due. Returns whether the Secret changed. */
  async #advance(stored: StoredCertificates, inForceMs: number | null, unchangedMs: number): Promise<boolean> {
    const { clock, timing } = this.#options;
    const { canRestore } = this.#state;
    const step = nextStep({ nowMs: clock.now(), timing, stored, canRestore, inForceMs, unchangedMs });
    return step !== null && await this.#perform(step, stored);
  }

  /** Returns the CAs in the caBundles; null if a configuration was never read. */
  #trusted(): readonly string[] | null {
    const configurations = this.#watched.configurations?.map(([, configuration]) => configuration) ?? null;
    return configurations === null ? null : trustedCAs(configurations, this.#options.hosts);
  }

  /** Whether the API server trusts the CA of the certificate, or cannot trust the replaced certificate either. */
  #mayServe({ ca }: StoredCertificates, inForceMs: number | null): boolean {
    const trusted = this.#trusted() ?? [];
    return inForceMs !== null || trusted.length === 0 || trusted.includes(ca?.cert ?? "");
  }

  /** Returns how long the caBundles have been correct, in ms; null if a caBundle cannot be read or written. */
  async #publish(stored: StoredCertificates | null): Promise<number | null> {
    if (stored === null || this.#watched.configurations === null) return null;
    return await this.#publisher.publish(caBundle(stored));
  }

  /** Returns whether the serving Secret contains the certificate. */
  async #serve(stored: StoredCertificates | null, inForceMs: number | null): Promise<boolean> {
    return stored !== null && await this.#serving.write(stored, { isTrusted: this.#mayServe(stored, inForceMs) });
  }

  #unchangedMs(isServed: boolean): number {
    const nowMs = this.#options.clock.steady();
    const text = isServed ? JSON.stringify(field(this.#state.object, "data") ?? null) : "";
    if (text === "" || text !== this.#content.text) this.#content = { text, sinceMs: nowMs };
    return nowMs - this.#content.sinceMs;
  }

  async #perform(step: Step, stored: StoredCertificates): Promise<boolean> {
    // The watch may have reported a newer Secret meanwhile. The update must fail then.
    const { object } = this.#state;
    const set = await this.#prepare(step, stored);
    const secret = withCertificates(object ?? {}, set, step.type);
    const outcome = await this.#watched.writeSecret(secret, this.#options.secret);
    this.#reports.performed(step, outcome);
    return outcome === "ok";
  }

  /** Returns the certificates after the step. Returns the same certificates for a retry. */
  async #prepare({ type }: Step, stored: StoredCertificates): Promise<CertificateSet> {
    const { hosts, timing, clock } = this.#options;
    const nowMs = clock.now();
    const prepared = this.#prepared;
    if (prepared?.stored === stored && prepared.type === type && clock.steady() - prepared.atMs < PREPARED_MS) {
      return prepared.set;
    }
    const { remembered } = this.#state;
    const set = await applyStep(type, { stored, remembered, trusted: this.#trusted() ?? [], hosts, timing, nowMs });
    this.#state.addCreated(set);
    this.#prepared = { stored, type, set, atMs: clock.steady() };
    return set;
  }
}
