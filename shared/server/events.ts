import { errorMessage } from "../decisions/errors.ts";
import type { EventSubject } from "../decisions/problems/problem.ts";
import { LIMITS } from "../decisions/limits.ts";
import { sleep, type SteadyClock } from "../inventory/clock.ts";
import type { KubernetesAPI } from "../inventory/cluster/api.ts";
import { Backoff } from "../inventory/cluster/backoff.ts";
import { microTime } from "../inventory/cluster/micro-time.ts";
import { rejectionText, sendRequest } from "../inventory/cluster/send-request.ts";
import { eventObject, type EventText } from "./event-object.ts";
import type { Logger } from "./logger.ts";
import { type QueuedWrite, RetryQueue } from "./retry-queue.ts";

/** `ok`: written. `limited`: not written, because the series of the object and reason was written recently. */
type EventOutcome = "ok" | "limited" | "failed";

interface EventRecorderOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
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
/** The minimum time between two writes of one series, in ms. By default, an Event lives for one hour after a write. */
const SERIES_MS = 30 * 60_000;
/** The minimum time until a series ends because its note has changed, in ms. */
const NOTE_MS = 10 * 60_000;
/** A series that was not recorded for this time is forgotten, in ms. */
const FORGOTTEN_MS = 2 * 3_600_000;
const IDLE_MS = 60_000;
const RETRY_CHECK_MS = 1_000;

interface Series {
  readonly subject: EventSubject;
  text: EventText;
  /** The number of records since the Event was created. */
  count: number;
  /** Whether the Event exists. */
  isCreated: boolean;
  lastRecordMs: number;
  /** The steady time of the last write; null before the first write. */
  lastWriteMs: number | null;
}

/**
 * Writes Events (events.k8s.io/v1): one series per object and reason, and at most one write per second. Events about
 * cluster-scoped objects are written first. `record` never waits and never fails.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #urgent = new RetryQueue(LIMITS.eventSeries.value);
  readonly #others = new RetryQueue(LIMITS.eventSeries.value);
  readonly #outage: Backoff;
  #wake = new AbortController();
  #fault: string | null = null;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#outage = new Backoff(options.random);
  }

  record(subject: EventSubject, text: EventText): void {
    const nowMs = this.#options.clock.steady();
    const key = `${subject.kind} ${subject.namespace}/${subject.name} ${subject.uid ?? ""} ${text.reason}`;
    const series = this.#series.get(key);
    if (series === undefined ? this.#add(key, { subject, text }, nowMs) : repeat(series, text, nowMs)) {
      (subject.namespace === "" ? this.#urgent : this.#others).add(key);
      this.#wake.abort();
    } else {
      this.#options.metrics.events.inc({ outcome: "limited" });
    }
  }

  /** Forgets all series, because another replica continues them. */
  clear(): void {
    this.#series.clear();
    this.#urgent.clear();
    this.#others.clear();
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

  /** Returns whether the series was added. If there are too many series, first forgets old ones. */
  #add(key: string, { subject, text }: Pick<Series, "subject" | "text">, nowMs: number): boolean {
    if (this.#series.size >= LIMITS.eventSeries.value) {
      for (const [other, { lastRecordMs }] of this.#series) {
        if (nowMs - lastRecordMs > FORGOTTEN_MS) this.#series.delete(other);
      }
      if (this.#series.size >= LIMITS.eventSeries.value) return false;
    }
    this.#series.set(key, {
      subject, text, count: 1, isCreated: false, lastRecordMs: nowMs, lastWriteMs: null,
    });
    return true;
  }

  /** Writes at most one Event. Returns the time until the next write, in ms. */
  async #writeNext(): Promise<number> {
    const { clock, mayWrite } = this.#options;
    if (!mayWrite()) return RETRY_CHECK_MS;
    const nowMs = clock.steady();
    const urgent = this.#urgent.take(nowMs);
    const queued = urgent ?? this.#others.take(nowMs);
    if (queued === null) return this.#urgent.size + this.#others.size > 0 ? RETRY_CHECK_MS : IDLE_MS;
    const series = this.#series.get(queued.key);
    if (series === undefined) return 0;
    return await this.#write(series, queued, urgent === null ? this.#others : this.#urgent);
  }

  async #write(series: Series, queued: QueuedWrite, queue: RetryQueue): Promise<number> {
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
      queue.add(queued.key);
    } else {
      this.#count(fault);
      queue.retry(queued, clock.steady());
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

/** Counts the record. Returns whether the series must be written. */
function repeat(series: Series, text: EventText, nowMs: number): boolean {
  series.count += 1;
  series.lastRecordMs = nowMs;
  if (series.lastWriteMs === null) {
    series.text = text;
    return false;
  }
  const sinceMs = nowMs - series.lastWriteMs;
  if (series.text.note === text.note) return sinceMs >= SERIES_MS;
  if (sinceMs < NOTE_MS) return false;
  Object.assign(series, { text, count: 1, isCreated: false });
  return true;
}
