import { sleep } from "../clock.ts";
import type { Semaphore } from "./semaphore.ts";
import { Backoff } from "./backoff.ts";
import { connectionError, ListWatchError, ResourceExpired, watchEventError } from "./api-errors.ts";
import { listKind, type ListWatchOptions, watchKind } from "./list-watch.ts";
import { Outage } from "./outage.ts";
import { keyOf, nameOf, type ObjectName, type StoredObject } from "./watched-kind.ts";
import { readEvent } from "./wire.ts";

/** Receives the changes of one kind, in the order in which the API server sends the events. Calls never overlap. */
export interface ReflectorHandler {
  /**
   * Receives new and changed objects, and the names of removed objects. The first call means that the initial list is
   * complete, even if this list is empty.
   */
  onObjects(put: readonly StoredObject[], removed: readonly ObjectName[]): void;
  /** The reflector calls `onSync` when the objects are known to be current: after a list, an event or a bookmark. */
  onSync(): void;
  /**
   * Receives an error whose message states why the objects are not current. Receives null when the objects are current
   * again.
   */
  onFault(fault: ListWatchError | null): void;
}

export interface ReflectorOptions extends ListWatchOptions {
  readonly handler: ReflectorHandler;
  /** Limits the number of concurrent lists. Several reflectors share the semaphore. */
  readonly listSemaphore?: Semaphore;
  /** Detects the end of an outage. Several reflectors can share this object. Default: an own one. */
  readonly outage?: Outage;
}

/**
 * A new watch counts as valid if the API server sends no ERROR event for this time, in ms. The API server accepts even
 * a watch from an expired resource version, but then sends an ERROR event immediately.
 */
const CONFIRM_MS = 500;
/** The minimum duration of a watch that resets the backoff, in ms. */
const HEALTHY_MS = 30_000;
/** If a watch lasted at least this time, in ms, the next watch starts without a delay. */
const RESUMABLE_MS = 5_000;
/** After the end of an outage, each reflector waits for a random time of at most this length, in ms. */
const OUTAGE_END_SPREAD_MS = 500;
/**
 * The number of consecutive 429 responses that the reflector does not report as a fault. kube-apiserver returns 429 for
 * one or two seconds while it initializes the storage of a kind.
 */
const TOLERATED_THROTTLES = 3;

/**
 * Lists the objects of one kind in pages, then watches the kind from the list's resource version. Resumes an
 * interrupted watch. Lists again if the API server no longer has the resource version. Runs until `stop`. Modeled on
 * client-go's reflector (k8s.io/client-go tools/cache/reflector.go).
 */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  /** Maps the key of each known object to the resource version of the object. */
  #known = new Map<string, string>();
  /**
   * The resource version from which the next watch starts. The resource version is null if the reflector must list
   * first.
   */
  #resourceVersion: string | null = null;
  /** The last known resource version, also while the reflector lists again. */
  #position: string | null = null;
  /** The number of consecutive 429 responses so far. */
  #throttles = 0;
  /** Whether the resource version has expired since the last valid watch. */
  #hasExpired = false;
  /** Ends the current pause between two attempts. */
  #wake = new AbortController();
  /** The time at which the current watch started, in ms. The value is Infinity if no watch is active. */
  #watchingSince = Infinity;
  /** Cancels the timer that confirms the current watch. */
  #cancelConfirm: (() => void) | null = null;
  readonly #outage: Outage;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#outage = options.outage ?? new Outage(options);
    this.#backoff = new Backoff(options.random);
  }

  /** The resource version up to which the handler has received the changes; null before the first list. */
  get position(): string | null {
    return this.#position;
  }

  get knownObjects(): readonly ObjectName[] {
    return Array.from(this.#known.keys(), nameOf);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Aborts all requests. Resolves when all requests are closed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    await this.#running;
    if (this.#options.outage === undefined) await this.#outage.stop();
  }

  async #run(): Promise<void> {
    const unsubscribe = this.#outage.onEnd(() => {
      this.#backoff.reset();
      this.#wake.abort();
    });
    while (!this.#stopping.signal.aborted) {
      this.#wake = new AbortController();
      // Attempts are sequential.
      // oxlint-disable-next-line no-await-in-loop
      const waitMs = await this.#attempt();
      // oxlint-disable-next-line no-await-in-loop
      if (waitMs > 0) await this.#pause(waitMs);
    }
    unsubscribe();
  }

  /** Lists the kind if required, then watches the kind. Returns the delay before the next attempt, in ms. */
  async #attempt(): Promise<number> {
    this.#watchingSince = Infinity;
    try {
      if (this.#resourceVersion === null) await this.#limitedList();
      await this.#watch();
      return this.#watchedMs() >= RESUMABLE_MS ? 0 : this.#backoff.next();
    } catch (error) {
      return this.#stopping.signal.aborted ? 0 : this.#handleError(error);
    }
  }

  /** Returns the duration of the current watch. Returns -Infinity if the watch did not start. */
  #watchedMs(): number {
    return this.#options.clock.steady() - this.#watchingSince;
  }

  #handleError(error: unknown): number {
    const { kind, handler } = this.#options;
    if (error instanceof ResourceExpired) {
      const isRepeated = this.#hasExpired;
      this.#hasExpired = true;
      this.#resourceVersion = null;
      return isRepeated ? this.#backoff.next() : 0;
    }
    const fault = error instanceof ListWatchError ? error : connectionError(kind, error);
    if (fault.recovery === "relist") this.#resourceVersion = null;
    this.#throttles = fault.isThrottled ? this.#throttles + 1 : 0;
    const isTolerated = this.#throttles > 0 && this.#throttles <= TOLERATED_THROTTLES;
    if (isTolerated) this.#backoff.reset();
    else handler.onFault(fault);
    if (fault.isOutage) this.#outage.report();
    return this.#backoff.next(fault.retryAfterMs);
  }

  async #limitedList(): Promise<void> {
    const { listSemaphore } = this.#options;
    if (listSemaphore === undefined) await this.#list();
    else await listSemaphore.run(() => this.#list());
  }

  async #list(): Promise<void> {
    const { handler } = this.#options;
    const { objects, resourceVersion } = await listKind(this.#options, this.#stopping.signal);
    const listed = new Map(objects.map((object) => [keyOf(object), object.resourceVersion]));
    const put = objects.filter((object) => this.#known.get(keyOf(object)) !== object.resourceVersion);
    const removed = [...this.#known.keys()].filter((key) => !listed.has(key)).map(nameOf);
    handler.onObjects(put, removed);
    this.#known = listed;
    this.#resourceVersion = resourceVersion;
    this.#position = resourceVersion;
    handler.onFault(null);
    handler.onSync();
  }

  async #watch(): Promise<void> {
    const { clock } = this.#options;
    const onOpen = (): void => {
      this.#watchingSince = clock.steady();
      this.#cancelConfirm = clock.schedule(CONFIRM_MS, () => this.#confirm());
    };
    const onLine = (line: string): void => this.#handleEvent(line);
    try {
      await watchKind(this.#options, this.#resourceVersion ?? "", { onOpen, onLine }, this.#stopping.signal);
    } finally {
      this.#cancelConfirm?.();
      if (this.#watchedMs() >= HEALTHY_MS) this.#backoff.reset();
    }
  }

  /** Called when the watch is known to be valid: the API server sends all events since the known resource version. */
  #confirm(): void {
    const { handler } = this.#options;
    this.#hasExpired = false;
    this.#throttles = 0;
    handler.onFault(null);
    handler.onSync();
  }

  #handleEvent(line: string): void {
    const { kind, handler } = this.#options;
    const event = readEvent(kind, line);
    if (event.type === "ERROR") throw watchEventError(kind, event.status);
    if (event.type !== "BOOKMARK") this.#backoff.reset();
    if (event.type === "PUT" && event.object.object !== null) {
      handler.onObjects([event.object], []);
      this.#known.set(keyOf(event.object), event.object.resourceVersion);
    } else if (event.type === "DELETED" && this.#known.delete(keyOf(event))) {
      handler.onObjects([], [event]);
    }
    this.#resourceVersion = event.resourceVersion;
    this.#position = event.resourceVersion;
    this.#confirm();
  }

  /** Waits for `waitMs`. Resolves early if `stop` is called, or a short time after an outage ends. */
  async #pause(waitMs: number): Promise<void> {
    const { clock, random } = this.#options;
    await sleep(clock, waitMs, this.#wake.signal);
    if (!this.#wake.signal.aborted) return;
    await sleep(clock, Math.floor(random() * OUTAGE_END_SPREAD_MS), this.#stopping.signal);
  }
}
