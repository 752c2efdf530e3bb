import type { Problem } from "../../shared/core/problem.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import {
  objectProblems, problemsRevision, staleProblem, storeProblems,
} from "../../shared/diagnosis/problems.ts";
import { annotatedKey } from "../../shared/core/annotated-objects.ts";
import { repeat } from "../../shared/core/clock.ts";
import type { ClusterPorts } from "../../shared/api/api.ts";
import { LeaderElection } from "../../shared/api/leader-election.ts";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { type ResourceScope, type ResourceState, scanResources } from "../../shared/diagnosis/stale-resources.ts";
import { EventRecorder } from "../../shared/server/events.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { isCurrent } from "../../shared/server/readiness.ts";
import { RetryQueue } from "../../shared/server/retry-queue.ts";
import type { TurnQueue } from "../../shared/sources/slices.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import { EVENT_CONTROLLER, type WebhookMetrics } from "../metrics.ts";
import type { LeaderFlags, LeaderTask } from "./leader-task.ts";
import { MAX_QPS, Refresher } from "./refresher.ts";
import { Scanner } from "./scanner.ts";
import { TASKS } from "./tasks.ts";

interface ReconcilerOptions extends ClusterPorts {
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  readonly source: InventorySource;
  readonly settings: DecisionSettings;
  /** The Lease in the namespace of the installation. */
  readonly lease: ObjectName;
  /** The unique name of this replica. */
  readonly identity: string;
  /** The flags that ask for tasks of the leader. */
  readonly flags: LeaderFlags;
  readonly turns: TurnQueue;
}

/** How often each replica checks whether a scan is due, in ms. */
const TICK_MS = 500;

/**
 * Updates the annotations of resources whose resolution has changed since their admission, or that were admitted while
 * no webhook was available. Also writes Events about problems. Only the replica that holds the Lease writes.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #election: LeaderElection;
  readonly #queue = new RetryQueue(LIMITS.queuedRefreshes.value);
  /** Scans the annotations of all resources. */
  readonly #scanner: Scanner;
  /** Scans the problems of stored objects that choose roles, such as selectors. */
  readonly #problems: Scanner;
  readonly #refresher: Refresher;
  readonly #events: EventRecorder;
  readonly #tasks: readonly LeaderTask[];
  readonly #scope: ResourceScope;
  readonly #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #removeListener = (): void => undefined;
  #wasLeader = false;
  #stale = 0;
  #scans = 0;
  #leaseFault: string | null = null;

  constructor(options: ReconcilerOptions) {
    const { source: { inventory }, settings, lease, log } = options;
    this.#options = options;
    const ports = { ...options, mayWrite: () => this.#mayWrite() };
    this.#events = new EventRecorder({ ...ports, controller: EVENT_CONTROLLER });
    const report = (problem: Problem): void => this.#report(problem);
    this.#tasks = TASKS.flatMap((start) => start({ ...ports, report }) ?? []);
    const scope = { inventory, settings };
    this.#election = new LeaderElection({
      ...options, ...lease, onFault: (fault) => this.#reportLease(fault),
      onLeading: () => log.info({ lease: `${lease.namespace}/${lease.name}` }, "this replica updates annotations"),
    });
    const selectors = inventory.of(SELECTORS);
    const { namespaces } = inventory;
    this.#scanner = new Scanner({ ...options, revision: () => selectors.revision + namespaces.revision });
    this.#problems = new Scanner({ ...options, revision: () => problemsRevision(scope) });
    this.#scope = scope;
    this.#refresher = new Refresher({
      ...ports, scope, queue: this.#queue,
      onFault: (resource, fault) => this.#report(staleProblem(resource, fault)),
    });
  }

  start(): void {
    this.#removeListener = this.#options.source.onChange(() => this.#scanner.changed());
    this.#election.start();
    const { signal } = this.#stopping;
    this.#running = Promise.all([
      this.#run(), this.#refresher.run(signal), this.#events.run(signal),
      ...this.#tasks.map((task) => task.run(signal)),
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
    return isCurrent(status, clock.steady()) && this.#election.isLeader && !this.#stopping.signal.aborted;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    await repeat(clock, this.#stopping.signal, async () => {
      this.#observeLeadership();
      if (this.#mayWrite() && this.#problems.isDue) {
        await this.#problems.scan(storeProblems(this.#scope, (problem) => this.#report(problem)));
      }
      if (this.#mayWrite() && this.#scanner.isDue) await this.#scan();
      return TICK_MS;
    });
  }

  #report({ subject, reason, note }: Problem): void {
    this.#events.record(subject, { type: "Warning", reason, action: "Resolve", note });
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
    this.#problems.reset();
    this.#queue.clear();
    this.#events.clear();
    if (isLeader) return;
    for (const gauge of [metrics.staleResources, metrics.failingRefreshes, metrics.lastScan]) gauge.remove();
  }

  async #scan(): Promise<void> {
    const { metrics, clock } = this.#options;
    let stale = 0;
    this.#scans += 1;
    const isComplete = await this.#scanner.scan(scanResources(this.#scope, (state) => {
      if (this.#enqueue(state)) stale += 1;
      for (const problem of objectProblems(state, this.#scope)) this.#report(problem);
      return this.#mayWrite();
    }));
    if (!isComplete) return;
    metrics.staleResources.set(stale);
    metrics.lastScan.set(clock.now() / 1_000);
    this.#reportStale(stale);
  }

  /**
   * Queues the resource if its annotations are stale. Returns whether they are. What a scan finds first in a namespace
   * is a flow: another namespace, and a later change of the same one, do not wait for a mass of resources.
   */
  #enqueue({ resource, stale }: ResourceState): boolean {
    if (stale.size === 0 || this.#refresher.isWritten(resource)) return false;
    this.#queue.add(annotatedKey(resource), `${resource.namespace} ${this.#scans}`);
    return true;
  }

  #reportStale(stale: number): void {
    const { log } = this.#options;
    if (stale > 0 && this.#stale === 0) {
      const minSeconds = Math.ceil(stale / MAX_QPS);
      log.info({ stale, maxQps: MAX_QPS, minSeconds }, "stale annotations found; updating them");
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
