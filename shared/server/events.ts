import { errorMessage } from "../formats/errors.ts";
import { sleep } from "../core/clock.ts";
import type { ClusterPorts } from "../api/api.ts";
import { microTime } from "../api/wire.ts";
import { rejectionText, sendRequest } from "../api/send-request.ts";
import { Backoff } from "../api/backoff.ts";
import { eventObject, EventScope, type EventText, type Series } from "./event-series.ts";
import type { Logger } from "./logger.ts";
import type { QueuedWrite } from "./retry-queue.ts";
import type { EventSubject } from "../formats/object-meta.ts";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

/** The unique name of this replica, in Leases and Events. In a Pod, it starts with the name of the Pod. */
export const REPLICA_IDENTITY = `${hostname()}_${randomUUID()}`;

/** `ok`: written. `limited`: not written, because the series of the object and reason was written recently. */
type EventOutcome = "ok" | "limited" | "failed";

interface EventRecorderOptions extends ClusterPorts {
  /** The name of the program, such as `ack-role-resolver.io/webhook`. */
  readonly controller: string;
  /** The unique name of this replica. */
  readonly identity: string;
  /** Whether this replica writes Events now. */
  readonly mayWrite: () => boolean;
  readonly log: Pick<Logger, "warn">;
  /** Counts each write, and each record that is not written. */
  readonly metrics: { readonly events: { inc: (labels: { readonly outcome: EventOutcome }) => void } };
}

/** The minimum time between two writes, in ms. docs/events.md documents the rate. */
const WRITE_MS = 1_000;
const IDLE_MS = 60_000;
const RETRY_CHECK_MS = 1_000;

/**
 * Writes Events (events.k8s.io/v1): one series per object and reason, and at most one write per second. Events about
 * cluster-scoped objects are written first, and have their own limit of series, because a tenant can create thousands
 * of broken objects in a namespace. `record` never waits and never fails.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #cluster = new EventScope();
  readonly #namespaced = new EventScope();
  readonly #outage: Backoff;
  #wake = new AbortController();
  #fault: string | null = null;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#outage = new Backoff(options.random);
  }

  record(subject: EventSubject, text: EventText): void {
    const key = `${subject.kind} ${subject.namespace}/${subject.name} ${subject.uid ?? ""} ${text.reason}`;
    const scope = subject.namespace === "" ? this.#cluster : this.#namespaced;
    if (scope.record(key, subject, text, this.#options.clock.steady())) {
      scope.queue.add(key);
      this.#wake.abort();
    } else {
      this.#options.metrics.events.inc({ outcome: "limited" });
    }
  }

  /** Forgets all series, because another replica continues them. */
  clear(): void {
    this.#cluster.clear();
    this.#namespaced.clear();
  }

  /** Writes the recorded Events until `stopping` aborts. Never rejects. */
  async run(stopping: AbortSignal): Promise<void> {
    stopping.addEventListener("abort", () => this.#wake.abort());
    while (!stopping.aborted) {
      this.#wake = new AbortController();
      // Writes are sequential.
      // oxlint-disable-next-line no-await-in-loop
      const waitMs = await this.#writeNext();
      const isIdle = waitMs === IDLE_MS;
      // oxlint-disable-next-line no-await-in-loop
      await sleep(this.#options.clock, waitMs, isIdle ? this.#wake.signal : stopping);
    }
  }

  /** Writes at most one Event. Returns the time until the next write, in ms. */
  async #writeNext(): Promise<number> {
    const { clock, mayWrite } = this.#options;
    if (!mayWrite()) return RETRY_CHECK_MS;
    const scopes = [this.#cluster, this.#namespaced];
    for (const scope of scopes) {
      const queued = scope.queue.take(clock.steady());
      if (queued === null) continue;
      const series = scope.series.get(queued.key);
      return series === undefined ? 0 : this.#write(series, queued, scope);
    }
    return scopes.some(({ queue }) => queue.size > 0) ? RETRY_CHECK_MS : IDLE_MS;
  }

  async #write(series: Series, queued: QueuedWrite, scope: EventScope): Promise<number> {
    const { clock } = this.#options;
    const { status, fault } = await this.#send(series);
    // The Event exists already, for example because another replica created it, or does not exist anymore.
    const isToggled = status === (series.isCreated ? 404 : 409);
    if (fault === null) {
      series.isCreated = true;
      series.lastWriteMs = clock.steady();
      this.#count(null);
    } else if (isToggled) {
      series.isCreated = !series.isCreated;
      scope.queue.add(queued.key);
    } else {
      this.#count(fault);
      // The namespace of the object was deleted, so a retry would fail too.
      if (status === 404) scope.series.delete(queued.key);
      else scope.queue.retry(queued, clock.steady());
    }
    const isOutage = status === null || status >= 500 || status === 429;
    if (isOutage) return Math.max(WRITE_MS, this.#outage.next());
    this.#outage.reset();
    return WRITE_MS;
  }

  /** Counts the write. Logs a fault once, until an Event is written again. */
  #count(fault: string | null): void {
    const { metrics, log } = this.#options;
    metrics.events.inc({ outcome: fault === null ? "ok" : "failed" });
    if (fault !== null && this.#fault === null) log.warn({ fault }, "Event could not be written; retrying");
    this.#fault = fault;
  }

  /** Creates the Event, or updates its series. Returns the status, which is null without a response. */
  async #send(series: Series): Promise<{ readonly status: number | null; readonly fault: string | null }> {
    const { clock } = this.#options;
    const event = eventObject(series.subject, series.text, { ...this.#options, nowMs: clock.now() });
    const path = `/apis/events.k8s.io/v1/namespaces/${event.metadata.namespace}/events`;
    const now = microTime(clock.now());
    const change = { series: { count: Math.max(2, series.count), lastObservedTime: now } };
    const request = series.isCreated
      ? {
        method: "PATCH", path: `${path}/${event.metadata.name}`, contentType: "application/merge-patch+json",
        body: JSON.stringify(change),
      } as const
      : { method: "POST", path, body: JSON.stringify(event) } as const;
    try {
      const response = await sendRequest(this.#options, request);
      const { status } = response;
      return { status, fault: status === 200 || status === 201 ? null : rejectionText(request, response) };
    } catch (error) {
      return { status: null, fault: errorMessage(error) };
    }
  }
}
