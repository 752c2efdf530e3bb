import type { DecisionSettings } from "../../shared/decisions/context.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import { resourceProblems, staleProblem } from "../../shared/decisions/problems/resource-problems.ts";
import {
  annotatedKey, type ResourceScope, type ResourceState,
} from "../../shared/decisions/resolution/stale-resources.ts";
import { sleep, type SteadyClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import type { ObjectName } from "../../shared/inventory/cluster/watched-kind.ts";
import type { InventorySource } from "../../shared/inventory/source.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { MAX_STALENESS_MS } from "../../shared/server/readiness.ts";
import { RetryQueue } from "../../shared/server/retry-queue.ts";
import type { TurnQueue } from "../../shared/server/turn-queue.ts";
import { LeaderElection } from "../../shared/server/leader-election.ts";
import type { WebhookMetrics } from "../metrics.ts";
import { ControllerIdentityCreator } from "./controller-identity.ts";
import { ProblemReporter } from "./problem-reporter.ts";
import { REFRESH_QPS, Refresher } from "./refresher.ts";
import { Scanner } from "./scanner.ts";

interface ReconcilerOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  readonly source: InventorySource;
  readonly settings: DecisionSettings;
  /** The groups of --extra-groups. */
  readonly extraGroups: readonly string[];
  /** The Lease in the namespace of the installation. The webhook does not annotate the resources in its namespace. */
  readonly lease: ObjectName;
  /** The unique name of this replica. */
  readonly identity: string;
  /** The namespaces of --auto-controller-identity; null without it. */
  readonly controllerIdentityNamespaces: readonly string[] | null;
  readonly turns: TurnQueue;
}

/** How often each replica checks whether a scan is due, in ms. */
const TICK_MS = 500;
/** The mutating webhook receives no resources of this namespace (manifests/webhooks.ts). */
const SYSTEM_NAMESPACE = "kube-system";

/**
 * Updates the annotations of resources whose resolution has changed since their admission, or that were admitted while
 * no webhook was available. Also writes Events about problems. Only the replica that holds the Lease writes.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #election: LeaderElection;
  readonly #queue = new RetryQueue(LIMITS.queuedRefreshes.value);
  readonly #scanner: Scanner;
  readonly #refresher: Refresher;
  readonly #reporter: ProblemReporter;
  /** Null without --auto-controller-identity. */
  readonly #controllerIdentity: ControllerIdentityCreator | null;
  readonly #scope: ResourceScope;
  readonly #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #removeListener = (): void => undefined;
  #wasLeader = false;
  #stale = 0;
  #leaseFault: string | null = null;

  constructor(options: ReconcilerOptions) {
    const { source, settings, lease, log, turns, clock, controllerIdentityNamespaces: namespaces } = options;
    this.#options = options;
    const exemptNamespaces = new Set([SYSTEM_NAMESPACE, lease.namespace]);
    const ports = { ...options, mayWrite: () => this.#mayWrite() };
    this.#reporter = new ProblemReporter(ports);
    this.#controllerIdentity = namespaces === null ? null : new ControllerIdentityCreator({ ...ports, namespaces });
    const scope = { inventory: source.inventory, settings, exemptNamespaces };
    this.#election = new LeaderElection({
      ...options, ...lease, onFault: (fault) => this.#reportLease(fault),
      onLeading: () => log.info({ lease: `${lease.namespace}/${lease.name}` }, "this replica updates annotations"),
    });
    this.#scanner = new Scanner({ clock, scope, turns });
    this.#scope = scope;
    this.#refresher = new Refresher({
      ...ports, scope, queue: this.#queue,
      onFault: (resource, fault) => this.#reporter.report(staleProblem(resource, fault)),
    });
  }

  start(): void {
    this.#removeListener = this.#options.source.onChange(() => this.#scanner.changed());
    this.#election.start();
    const { signal } = this.#stopping;
    this.#running = Promise.all([
      this.#run(), this.#refresher.run(signal), this.#reporter.run(signal),
      this.#controllerIdentity?.run(signal),
    ]);
  }

  /** Completes the write in flight, and then releases the Lease. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#removeListener();
    await this.#running;
    await this.#election.stop();
  }

  /** Whether this replica is the leader, and its inventory is loaded and not too old. */
  #mayWrite(): boolean {
    const { source: { status }, clock } = this.#options;
    const isCurrent = status.loaded && clock.steady() - (status.lastSyncMs ?? 0) <= MAX_STALENESS_MS;
    return isCurrent && this.#election.isLeader && !this.#stopping.signal.aborted;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#observeLeadership();
      // Scans are sequential.
      // oxlint-disable-next-line no-await-in-loop
      if (this.#mayWrite() && this.#reporter.isDue) await this.#reporter.scan();
      // oxlint-disable-next-line no-await-in-loop
      if (this.#mayWrite() && this.#scanner.isDue) await this.#scan();
      // oxlint-disable-next-line no-await-in-loop
      await sleep(this.#options.clock, TICK_MS, signal);
    }
  }

  /** Forgets the queue when another replica may lead. A new leader scans immediately. */
  #observeLeadership(): void {
    const { metrics } = this.#options;
    const { isLeader } = this.#election;
    metrics.reconcilingLeader.set(Number(isLeader));
    if (isLeader) metrics.failingRefreshes.set(this.#queue.failing);
    if (isLeader === this.#wasLeader) return;
    this.#wasLeader = isLeader;
    this.#scanner.reset();
    this.#queue.clear();
    this.#reporter.reset();
    if (isLeader) return;
    for (const gauge of [metrics.staleResources, metrics.failingRefreshes, metrics.lastScan]) gauge.remove();
  }

  async #scan(): Promise<void> {
    const { metrics, clock } = this.#options;
    let stale = 0;
    const isComplete = await this.#scanner.scan((state) => {
      if (this.#enqueue(state)) stale += 1;
      for (const problem of resourceProblems(state, this.#scope)) this.#reporter.report(problem);
      return this.#mayWrite();
    });
    if (!isComplete) return;
    metrics.staleResources.set(stale);
    metrics.lastScan.set(clock.now() / 1_000);
    this.#reportStale(stale);
  }

  /** Queues the resource if its annotations are stale. Returns whether they are. */
  #enqueue({ resource, stale }: ResourceState): boolean {
    if (stale.size === 0 || this.#refresher.isWritten(resource)) return false;
    this.#queue.add(annotatedKey(resource));
    return true;
  }

  #reportStale(stale: number): void {
    const { log } = this.#options;
    if (stale > 0 && this.#stale === 0) {
      const seconds = Math.ceil(stale / REFRESH_QPS);
      log.info({ stale, qps: REFRESH_QPS, seconds }, "stale annotations found; updating them");
    }
    if (stale === 0 && this.#stale > 0) log.info("all annotations are current");
    this.#stale = stale;
  }

  #reportLease(fault: string | null): void {
    if (fault !== null && fault !== this.#leaseFault) {
      this.#options.log.error({ fault }, "the Lease of the webhook cannot be read or written; annotations stay stale");
    }
    this.#leaseFault = fault;
  }
}
