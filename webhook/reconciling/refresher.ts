import { setImmediate as nextTurn } from "node:timers/promises";
import {
  annotatedKey, type AnnotatedObject, annotatedWithKey, type ResourceScope, type ResourceState, resourceState,
} from "../../shared/decisions/resolution/stale-resources.ts";
import { sleep, type SteadyClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import { Backoff } from "../../shared/inventory/cluster/backoff.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { RetryQueue } from "../../shared/server/retry-queue.ts";
import type { WebhookMetrics } from "../metrics.ts";
import { writeAnnotations, type WriteResult } from "./annotation-writer.ts";

interface RefresherOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Pick<WebhookMetrics, "refreshes">;
  readonly scope: ResourceScope;
  readonly queue: RetryQueue;
  /** Called if the API server rejected the write of a resource. */
  readonly onFault: (resource: AnnotatedObject, fault: string) => void;
  /** Whether this replica is the leader and its inventory is current. */
  readonly mayWrite: () => boolean;
}

/** How long the refresher waits if it has nothing to write, in ms. */
const IDLE_MS = 500;
/** The number of resources that need no write after which the event loop serves other requests. */
const SKIPPED_BETWEEN_PAUSES = 20;
/** The maximum number of writes whose result the inventory does not contain yet. */
const MAX_UNSEEN = 1_000;
/** The maximum number of writes per second. */
export const REFRESH_QPS = 5;
const WRITE_MS = 1_000 / REFRESH_QPS;

/** Updates the annotations of the queued resources: one resource at a time, and at most REFRESH_QPS per second. */
export class Refresher {
  readonly #options: RefresherOptions;
  readonly #outage: Backoff;
  /** The resource version before each successful write, until the inventory contains the result of the write. */
  readonly #written = new BoundedMap<string, string | null>(MAX_UNSEEN);
  #lastFault = "";
  #skipped = 0;

  constructor(options: RefresherOptions) {
    this.#options = options;
    this.#outage = new Backoff(options.random);
  }

  async run(stopping: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!stopping.aborted) {
      // Writes are sequential.
      // oxlint-disable-next-line no-await-in-loop
      const waitMs = await this.#next();
      // oxlint-disable-next-line no-await-in-loop
      await sleep(clock, waitMs, stopping);
    }
  }

  /** Whether the annotations of the resource were written, but the inventory still contains the state before. */
  isWritten(resource: AnnotatedObject): boolean {
    const key = annotatedKey(resource);
    if (!this.#written.has(key)) return false;
    if (this.#written.get(key) === resource.resourceVersion) return true;
    this.#written.delete(key);
    return false;
  }

  /** Writes at most one resource. Returns the time until the next write, in ms. */
  async #next(): Promise<number> {
    const { queue, clock, mayWrite, scope } = this.#options;
    const queued = mayWrite() ? queue.take(clock.steady()) : null;
    if (queued === null) return IDLE_MS;
    // Resolves again, because the resource or a selector may have changed since the scan.
    const state = this.#staleState(queued.key);
    if (state === null) {
      if (++this.#skipped % SKIPPED_BETWEEN_PAUSES === 0) await nextTurn();
      return 0;
    }
    const startMs = clock.steady();
    const result = await writeAnnotations(this.#options, state.resource, state.stale, scope.inventory);
    this.#report(state.resource, result);
    const { outcome } = result;
    if (outcome === "ok") this.#written.set(annotatedKey(state.resource), state.resource.resourceVersion);
    else if (outcome !== "gone") queue.retry(queued, clock.steady());
    if (outcome === "outage") return this.#outage.next();
    this.#outage.reset();
    return Math.max(0, startMs + WRITE_MS - clock.steady());
  }

  /** Returns the state of a resource; null if its annotations need no write. */
  #staleState(key: string): ResourceState | null {
    const { scope } = this.#options;
    const resource = annotatedWithKey(key, scope.inventory);
    if (resource === null || this.isWritten(resource)) return null;
    const state = resourceState(resource, scope);
    return state === null || state.stale.size === 0 ? null : state;
  }

  /** Logs a fault when it differs from the last fault, because thousands of writes can have the same fault. */
  #report(target: AnnotatedObject, { outcome, fault }: WriteResult): void {
    const { log, metrics, onFault } = this.#options;
    const { kind, namespace, name } = target;
    const resource = { kind, namespace, name };
    metrics.refreshes.inc({ outcome });
    if (outcome === "fault" && fault !== null) onFault(target, fault);
    if (fault === null) {
      if (outcome === "ok") log.debug(resource, "annotations updated");
      return;
    }
    const kindOfFault = fault.replace(name ?? "", "").replace(namespace, "");
    if (kindOfFault === this.#lastFault) return;
    this.#lastFault = kindOfFault;
    log.warn({ ...resource, fault }, "annotations could not be updated; retrying");
  }
}
