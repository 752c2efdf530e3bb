import type { Clock } from "../clock.ts";
import { bodyText, type KubernetesAPI, type KubernetesResponse, retryAfterMs } from "./api.ts";
import { connectionError, ListWatchError, ResourceExpired, responseError, watchEventError } from "./errors.ts";
import { requestWithTimeout } from "./idle-timeout.ts";
import type { Semaphore } from "./semaphore.ts";
import {
  collectionPath, keyOf, nameOf, type ObjectName, selectionQuery, type StoredObject, type WatchedKind,
} from "./watched-kind.ts";
import { LineSplitter, listAll, type ListPage, readEvent, readPage } from "./wire.ts";

/**
 * The limits of the random delay between attempts, in ms, as in client-go's reflector. The upper limit starts at 1.6 s,
 * and doubles after each failure up to 30 s.
 */
const MIN_MS = 800;
const FIRST_MAX_MS = 1_600;
const MAX_MS = 30_000;

/**
 * Calculates the delay between attempts: random, so that clients do not retry at the same time, with an exponential
 * upper limit.
 */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;

  /** `random` must return a number from 0 (inclusive) to 1 (exclusive). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Returns the delay before the next attempt, in ms. The delay is at least `atLeastMs`. */
  next(atLeastMs = 0): number {
    const upper = Math.min(MAX_MS, FIRST_MAX_MS * 2 ** this.#failures);
    // Limits the exponent of the upper limit.
    this.#failures = Math.min(this.#failures + 1, 10);
    return Math.max(atLeastMs, MIN_MS + Math.floor(this.#random() * (upper - MIN_MS)));
  }

  reset(): void {
    this.#failures = 0;
  }
}

/**
 * A receiver of the changes of one kind, in the order in which the API server sends the events. Calls never overlap.
 */
export interface ReflectorHandler {
  /**
   * Receives new and changed objects, and the names of removed objects. The first call marks the initial list as
   * complete, even if the list is empty.
   */
  onObjects(put: readonly StoredObject[], removed: readonly ObjectName[]): void;
  /** The reflector calls `onSync` when the objects are known to be current: after a list, an event or a bookmark. */
  onSync(): void;
  /**
   * Receives a sentence that states why the objects are not current. Receives null when the objects are current again.
   */
  onFault(fault: string | null): void;
}

export interface ReflectorOptions {
  readonly api: KubernetesAPI;
  readonly kind: WatchedKind;
  readonly handler: ReflectorHandler;
  readonly clock: Clock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Limits the number of concurrent lists. Several reflectors share the semaphore. */
  readonly listSemaphore?: Semaphore;
}

/** The requested duration of a watch: a random time from 240 to 300 s, so that not all watches end at the same time. */
const WATCH_MIN_S = 240;
const WATCH_SPREAD_S = 60;
/** The idle timeout of a watch, in ms. The API server sends a bookmark about once a minute (KEP-956). */
const WATCH_IDLE_MS = 90_000;
/**
 * The time by which a watch may exceed its requested duration, in ms. After this time, the reflector aborts the watch.
 */
const WATCH_OVERTIME_MS = 10_000;
const LIST_IDLE_MS = 60_000;
/**
 * The timeout of a list request, in ms. A continue token expires after about 5 minutes, the default interval in which
 * kube-apiserver compacts etcd.
 */
const LIST_MS = 300_000;
/** The minimum duration of a watch that resets the backoff, in ms. */
const HEALTHY_MS = 30_000;
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
  /** The resource version of each known object, by object key. */
  #known = new Map<string, string>();
  /**
   * The resource version from which the next watch starts. The resource version is null if the reflector must list
   * first.
   */
  #resourceVersion: string | null = null;
  /** The number of consecutive 429 responses so far. */
  #throttles = 0;
  /** The time at which the current watch started, in ms. The value is Infinity if no watch is active. */
  #watchingSince = Infinity;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.random);
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
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      // Attempts are sequential.
      // oxlint-disable-next-line no-await-in-loop
      const waitMs = await this.#attempt();
      // oxlint-disable-next-line no-await-in-loop
      if (waitMs > 0) await this.#pause(waitMs);
    }
  }

  /** Lists the kind if required, then watches the kind. Returns the delay before the next attempt, in ms. */
  async #attempt(): Promise<number> {
    this.#watchingSince = Infinity;
    try {
      if (this.#resourceVersion === null) await this.#limitedList();
      await this.#watch();
      // A long watch resumes without a delay. A short watch resumes after a delay.
      return this.#resetIfHealthy() ? 0 : this.#backoff.next();
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0;
      this.#resetIfHealthy();
      return this.#handleError(error);
    }
  }

  /** Resets the backoff if the watch was long. Returns whether the watch was long. */
  #resetIfHealthy(): boolean {
    const isHealthy = this.#options.clock.now() - this.#watchingSince >= HEALTHY_MS;
    if (isHealthy) this.#backoff.reset();
    return isHealthy;
  }

  #handleError(error: unknown): number {
    if (error instanceof ResourceExpired) {
      this.#resourceVersion = null;
      return this.#backoff.next();
    }
    const fault = error instanceof ListWatchError ? error : connectionError(this.#options.kind, error);
    if (fault.recovery === "relist") this.#resourceVersion = null;
    this.#throttles = fault.isThrottled ? this.#throttles + 1 : 0;
    if (this.#throttles === 0 || this.#throttles > TOLERATED_THROTTLES) this.#options.handler.onFault(fault.message);
    return this.#backoff.next(fault.retryAfterMs);
  }

  async #limitedList(): Promise<void> {
    const { listSemaphore } = this.#options;
    if (listSemaphore === undefined) await this.#list();
    else await listSemaphore.run(() => this.#list());
  }

  async #list(): Promise<void> {
    const { handler } = this.#options;
    const { objects, resourceVersion } = await listAll((query) => this.#page(query));
    const listed = new Map(objects.map((object) => [keyOf(object), object.resourceVersion]));
    const put = objects.filter((object) => this.#known.get(keyOf(object)) !== object.resourceVersion);
    const removed = [...this.#known.keys()].filter((key) => !listed.has(key)).map(nameOf);
    handler.onObjects(put, removed);
    this.#known = listed;
    this.#resourceVersion = resourceVersion;
    handler.onFault(null);
    handler.onSync();
  }

  async #page(query: string): Promise<ListPage> {
    const { kind } = this.#options;
    const path = `${collectionPath(kind)}?${selectionQuery(kind)}limit=${kind.pageSize}${query}`;
    const body = await this.#request({ verb: "list", path, totalMs: LIST_MS, idleMs: LIST_IDLE_MS }, bodyText);
    return readPage(kind, body);
  }

  async #watch(): Promise<void> {
    const { kind, random } = this.#options;
    const seconds = WATCH_MIN_S + Math.floor(random() * WATCH_SPREAD_S);
    const version = this.#resourceVersion ?? "";
    const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${version}`;
    const path = `${collectionPath(kind)}?${selectionQuery(kind)}${query}`;
    const limits = { totalMs: seconds * 1000 + WATCH_OVERTIME_MS, idleMs: WATCH_IDLE_MS };
    await this.#request({ verb: "watch", path, ...limits }, (response) => this.#readEvents(response));
  }

  async #readEvents(response: KubernetesResponse): Promise<void> {
    this.#watchingSince = this.#options.clock.now();
    this.#options.handler.onFault(null);
    const lines = new LineSplitter();
    for await (const chunk of response.body) for (const line of lines.push(chunk)) this.#handleEvent(line);
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
    handler.onSync();
  }

  /** Sends a request and passes the response to `use`. Throws an error if the status of the response is not 200. */
  async #request<T>(
    { verb, path, ...limits }: ReflectorRequest, use: (response: KubernetesResponse) => Promise<T>,
  ): Promise<T> {
    const { api, clock, kind } = this.#options;
    const request = { api, clock, path, signal: this.#stopping.signal, ...limits };
    return await requestWithTimeout(request, async (response) => {
      const { status, headers } = response;
      if (status === 200) return await use(response);
      if (status === 410) throw new ResourceExpired();
      const body = await bodyText(response);
      throw responseError(kind, { verb, status, body, retryAfterMs: retryAfterMs(headers, clock.now()) ?? 0 });
    });
  }

  /** Waits for `waitMs`, or until `stop` is called. */
  async #pause(waitMs: number): Promise<void> {
    const { signal } = this.#stopping;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    const cancel = this.#options.clock.schedule(waitMs, end);
    signal.addEventListener("abort", end);
    if (!signal.aborted) await promise;
    signal.removeEventListener("abort", end);
    cancel();
  }
}

interface ReflectorRequest {
  readonly verb: "list" | "watch";
  readonly path: string;
  readonly totalMs: number;
  readonly idleMs: number;
}
