import { sleep } from "../core/clock.ts";
import type { ClusterPorts } from "./api.ts";
import type { Semaphore } from "./semaphore.ts";
import { Backoff } from "./backoff.ts";
import { connectionError, ListWatchError, ResourceExpired, watchEventError } from "./api-errors.ts";
import { listKind, type ListWatchOptions, watchKind, watchTime } from "./list-watch.ts";
import { Outage } from "./outage.ts";
import { WatchProof } from "./watch-proof.ts";
import { KnownObjects } from "./known-objects.ts";
import type { ObjectName, StoredObject } from "./watched-kind.ts";
import { readEvent } from "./wire.ts";

/** Receives the changes of one kind, in the order in which the API server sends the events. Calls never overlap. */
export interface ReflectorHandler {
  /**
   * Receives new and changed objects, and the names of removed objects. The first call means that the initial list is
   * complete, even if this list is empty.
   */
  onObjects(put: readonly StoredObject[], removed: readonly ObjectName[]): void;
  /**
   * The reflector calls `onSync` when the objects are known to be current: after a list, an event or a bookmark, and
   * when the API server ends a watch.
   */
  onSync(): void;
  /**
   * Receives an error whose message states why the objects are not current. Receives null when the objects are current
   * again.
   */
  onFault(fault: ListWatchError | null): void;
}

export interface ReflectorOptions extends ListWatchOptions, ClusterPorts {
  readonly handler: ReflectorHandler;
  /** Whether the API server must prove every few seconds that the watch is current. Default: only when it is asked. */
  readonly hasHeartbeat?: boolean;
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
/** By how much a watch can seem shorter than requested, in ms, because clocks and timers are not exact. */
const INEXACT_MS = 100;
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
  readonly #known: KnownObjects;
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
  readonly #proof: WatchProof;
  /** Ends the current watch, so that the next one can prove that it missed nothing. Null if no watch is active. */
  #interruption: AbortController | null = null;
  /** The last fault, until the objects are known to be current. The next watch then shows this after a second. */
  #fault: ListWatchError | null = null;
  readonly #outage: Outage;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#outage = options.outage ?? new Outage(options);
    this.#backoff = new Backoff(options.random);
    this.#known = new KnownObjects((put, removed) => options.handler.onObjects(put, removed));
    this.#proof = new WatchProof(options.clock, options.hasHeartbeat === true);
  }

  /** The resource version up to which the handler has received the changes; null before the first list. */
  get position(): string | null {
    return this.#position;
  }

  get knownObjects(): readonly ObjectName[] {
    return this.#known.names;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Whether the API server has proven in the last 5 s that the handler has received every change. */
  get isCurrent(): boolean {
    return this.#proof.isCurrent;
  }

  /**
   * Returns whether the API server has proven in the last 5 s that the handler has received every change. Otherwise
   * asks it, for at most `limitMs`: replaces the watch by one that the API server must end after 1 s. What the old one
   * may have missed arrives first. Concurrent callers ask once.
   */
  async prove(limitMs: number): Promise<boolean> {
    if (this.#stopping.signal.aborted) return this.isCurrent;
    return await this.#proof.prove(limitMs, () => {
      this.#interruption?.abort();
      this.#wake.abort();
    });
  }

  /**
   * Passes an object that was read from the API server to the handler, unless it has received this version or a newer
   * one, or the deletion of the object. Returns whether it has this version now; false while the kind is listed,
   * because the list could replace the object by an older version.
   */
  accept(object: StoredObject): boolean {
    if (this.#resourceVersion === null || this.#stopping.signal.aborted) return false;
    return this.#known.accept(object, this.#resourceVersion);
  }

  /** Aborts all requests. Resolves when all requests are closed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    this.#proof.end();
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
      const isComplete = await this.#watch();
      return isComplete || this.#watchedMs() >= RESUMABLE_MS ? 0 : this.#backoff.next();
    } catch (error) {
      return this.#stopping.signal.aborted ? 0 : this.#handleError(error);
    }
  }

  /** Returns the duration of the current watch. Returns -Infinity if the watch did not start. */
  #watchedMs(): number {
    return this.#options.clock.steady() - this.#watchingSince;
  }

  #handleError(error: unknown): number {
    const { kind } = this.#options;
    if (error instanceof ResourceExpired) {
      const isRepeated = this.#hasExpired;
      this.#hasExpired = true;
      this.#resourceVersion = null;
      return isRepeated ? this.#backoff.next() : 0;
    }
    const fault = error instanceof ListWatchError ? error : connectionError(kind, error);
    this.#reportFault(fault);
    this.#proof.end(fault.retryAfterMs);
    return this.#backoff.next(fault.retryAfterMs);
  }

  #reportFault(fault: ListWatchError): void {
    const { handler, hasHeartbeat = false } = this.#options;
    if (fault.recovery === "relist") this.#resourceVersion = null;
    this.#fault = fault;
    this.#throttles = fault.isThrottled ? this.#throttles + 1 : 0;
    const isTolerated = this.#throttles > 0 && this.#throttles <= TOLERATED_THROTTLES;
    // Decisions wait for a watch with a heartbeat, and an attempt that stalls takes seconds.
    if (isTolerated || (fault.isStalled && hasHeartbeat)) this.#backoff.reset();
    if (!isTolerated) handler.onFault(fault);
    if (fault.isOutage) this.#outage.report();
  }

  async #limitedList(): Promise<void> {
    const { listSemaphore } = this.#options;
    if (listSemaphore === undefined) await this.#list();
    else await listSemaphore.run(() => this.#list());
  }

  async #list(): Promise<void> {
    const sentMs = this.#options.clock.steady();
    const { objects, resourceVersion } = await listKind(this.#options, this.#stopping.signal);
    this.#known.replace(objects);
    this.#resourceVersion = resourceVersion;
    this.#position = resourceVersion;
    this.#sync();
    this.#proof.record(sentMs);
  }

  /** Returns whether the next watch may start at once: this one lasted as long as requested, or was interrupted. */
  async #watch(): Promise<boolean> {
    const { clock, random, hasHeartbeat = false } = this.#options;
    const onOpen = (): void => {
      this.#watchingSince = clock.steady();
      this.#cancelConfirm = clock.schedule(CONFIRM_MS, () => this.#confirm());
    };
    const onLine = (line: string): void => this.#handleEvent(line);
    const interruption = this.#interruption = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, interruption.signal]);
    const sentMs = clock.steady();
    const time = watchTime({ isAsked: this.#proof.isAsked || this.#fault !== null, hasHeartbeat, random });
    try {
      const from = { ...time, resourceVersion: this.#resourceVersion ?? "" };
      await watchKind(this.#options, from, { onOpen, onLine }, signal);
    } catch (error) {
      if (interruption.signal.aborted) return true;
      throw error;
    } finally {
      this.#interruption = null;
      this.#cancelConfirm?.();
      if (this.#watchedMs() >= HEALTHY_MS) this.#backoff.reset();
    }
    return this.#endWatch(sentMs, time.seconds * 1000);
  }

  /**
   * Returns whether the watch lasted as long as requested. The API server, which did not start it before `sentMs`, has
   * sent every change until its end.
   */
  #endWatch(sentMs: number, requestedMs: number): boolean {
    const isComplete = this.#options.clock.steady() - sentMs >= requestedMs - INEXACT_MS;
    if (isComplete) this.#backoff.reset();
    this.#sync();
    this.#proof.record(isComplete ? sentMs + requestedMs : sentMs);
    return isComplete;
  }

  /** Called when a watch is open and its resource version has not expired. Another watch may stall as the last one. */
  #confirm(): void {
    this.#hasExpired = false;
    this.#throttles = 0;
    if (this.#fault?.isStalled !== true) this.#options.handler.onFault(null);
  }

  #sync(): void {
    this.#fault = null;
    this.#confirm();
    this.#options.handler.onSync();
  }

  #handleEvent(line: string): void {
    const { kind } = this.#options;
    const event = readEvent(kind, line);
    if (event.type === "ERROR") throw watchEventError(kind, event.status);
    if (event.type !== "BOOKMARK") this.#backoff.reset();
    if (event.type === "PUT") this.#known.put(event.object);
    else if (event.type === "DELETED") this.#known.remove(event, event.resourceVersion);
    this.#resourceVersion = event.resourceVersion;
    this.#position = event.resourceVersion;
    this.#sync();
  }

  /** Waits for `waitMs`. Resolves early if `stop` is called, or a short time after an outage ends. */
  async #pause(waitMs: number): Promise<void> {
    const { clock, random } = this.#options;
    await sleep(clock, waitMs, this.#wake.signal);
    if (!this.#wake.signal.aborted || this.#proof.isAsked) return;
    await sleep(clock, Math.floor(random() * OUTAGE_END_SPREAD_MS), this.#stopping.signal);
  }
}
