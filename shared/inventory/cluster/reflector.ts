import type { Clock } from "../clock.ts";
import { bodyText, type KubernetesAPI, type KubernetesResponse, retryAfterMs } from "./api.ts";
import { BackOff } from "./backoff.ts";
import { connectionFault, errorEvent, Expired, ListWatchFault, refusalFault } from "./errors.ts";
import { watchedRequest } from "./idle-timeout.ts";
import type { Semaphore } from "./semaphore.ts";
import {
  collectionPath, type StoredObject, keyOf, nameOf, type ObjectName, selectionQuery, type WatchedKind,
} from "./watched-kind.ts";
import { LineSplitter, listAll, type ListPage, readEvent, readPage } from "./wire.ts";

/** What a list-watch tells, in the order of the API server's events and never two at once. */
export interface ListWatchHandler {
  /** Objects that are new or differ, and identities of those that are gone. The first call, even of none, means synced. */
  changed(put: readonly StoredObject[], removed: readonly ObjectName[]): void;
  /** The view is current as of now: a list ended, or an event or a bookmark came. */
  current(): void;
  /** Why the view is not current, in one sentence; null once it is again. */
  failed(fault: string | null): void;
}

export interface ListWatchOptions {
  readonly api: KubernetesAPI;
  readonly kind: WatchedKind;
  readonly handler: ListWatchHandler;
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** Shared by kinds that are not to be listed all at once. */
  readonly turns?: Semaphore;
}

/** How long the server is asked to keep a watch, 240 to 300 s, so that watches do not all end together. */
const WATCH_MIN_S = 240;
const WATCH_SPREAD_S = 60;
/** Bookmarks come about once a minute (KEP-956), so a watch that says nothing for this long is dead, whatever TCP believes. */
const WATCH_IDLE_MS = 90_000;
/** How long after the end that the server was asked for it is left to end by itself. */
const WATCH_OVERTIME_MS = 10_000;
const LIST_IDLE_MS = 60_000;
/** A continue token lasts about 5 minutes (kube-apiserver compacts etcd that often by default). */
const LIST_MS = 300_000;
/** A watch that has lived this long was healthy, so the back-off begins anew. */
const HEALTHY_MS = 30_000;
/** kube-apiserver answers 429 for the second or two in which it makes the storage of a new kind, or of any after a start. */
const UNSAID_DEFERRALS = 3;

/**
 * Follows one kind: lists it in pages, watches from the list's version, resumes after every break and lists again when the
 * server no longer holds the version. It ends only by `stop`. As client-go's reflector (k8s.io/client-go tools/cache/reflector.go).
 */
export class Reflector {
  readonly #options: ListWatchOptions;
  readonly #backOff: BackOff;
  readonly #stopping = new AbortController();
  /** The version of each object told of, by its key. */
  #known = new Map<string, string>();
  /** The version that the view is at; null when a list is due. */
  #resourceVersion: string | null = null;
  /** How often in a row the server asked to come again later. */
  #deferrals = 0;
  /** When the last watch was answered; Infinity when it was not. */
  #followingSince = Infinity;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ListWatchOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options.random);
  }

  /** The objects told of and not gone. */
  get known(): readonly ObjectName[] {
    return Array.from(this.#known.keys(), nameOf);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when nothing is open any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      // One attempt after the other is the point of it.
      // oxlint-disable-next-line no-await-in-loop
      const waitMs = await this.#attempt();
      // oxlint-disable-next-line no-await-in-loop
      if (waitMs > 0) await this.#pause(waitMs);
    }
  }

  /** One list, if it is due, and one watch. Returns how long to wait before the next. */
  async #attempt(): Promise<number> {
    this.#followingSince = Infinity;
    try {
      if (this.#resourceVersion === null) await this.#listInTurn();
      await this.#watch();
      // The server ends each watch at the time it was asked to: the next begins at once, but not many a second.
      return this.#wasHealthy() ? 0 : this.#backOff.next();
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0;
      this.#wasHealthy();
      return this.#afterFailure(error);
    }
  }

  /** Whether the watch was answered and lived long; the back-off begins anew then. */
  #wasHealthy(): boolean {
    const isHealthy = this.#options.clock.now() - this.#followingSince >= HEALTHY_MS;
    if (isHealthy) this.#backOff.reset();
    return isHealthy;
  }

  #afterFailure(error: unknown): number {
    if (error instanceof Expired) {
      this.#resourceVersion = null;
      return this.#backOff.next();
    }
    const fault = error instanceof ListWatchFault ? error : connectionFault(this.#options.kind, error);
    if (fault.resumption === "relist") this.#resourceVersion = null;
    this.#deferrals = fault.isDeferral ? this.#deferrals + 1 : 0;
    if (this.#deferrals === 0 || this.#deferrals > UNSAID_DEFERRALS) this.#options.handler.failed(fault.message);
    return this.#backOff.next(fault.waitMs);
  }

  async #listInTurn(): Promise<void> {
    const { turns } = this.#options;
    if (turns === undefined) await this.#list();
    else await turns.take(() => this.#list());
  }

  async #list(): Promise<void> {
    const { handler } = this.#options;
    const { objects, resourceVersion } = await listAll((query) => this.#page(query));
    const listed = new Map(objects.map((object) => [keyOf(object), object.resourceVersion]));
    const put = objects.filter((object) => this.#known.get(keyOf(object)) !== object.resourceVersion);
    const removed = [...this.#known.keys()].filter((key) => !listed.has(key)).map(nameOf);
    handler.changed(put, removed);
    this.#known = listed;
    this.#resourceVersion = resourceVersion;
    handler.failed(null);
    handler.current();
  }

  async #page(query: string): Promise<ListPage> {
    const { kind } = this.#options;
    const path = `${collectionPath(kind)}?${selectionQuery(kind)}limit=${kind.pageSize}${query}`;
    const body = await this.#exchange({ verb: "list", path, totalMs: LIST_MS, idleMs: LIST_IDLE_MS }, bodyText);
    return readPage(kind, body);
  }

  async #watch(): Promise<void> {
    const seconds = WATCH_MIN_S + Math.floor(this.#options.random() * WATCH_SPREAD_S);
    const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${this.#resourceVersion ?? ""}`;
    const { kind } = this.#options;
    const path = `${collectionPath(kind)}?${selectionQuery(kind)}${query}`;
    const limits = { totalMs: seconds * 1000 + WATCH_OVERTIME_MS, idleMs: WATCH_IDLE_MS };
    await this.#exchange({ verb: "watch", path, ...limits }, (response) => this.#follow(response));
  }

  /** Line after line, each handled to its end before the next is looked at. */
  async #follow(response: KubernetesResponse): Promise<void> {
    this.#followingSince = this.#options.clock.now();
    this.#options.handler.failed(null);
    const lines = new LineSplitter();
    for await (const chunk of response.body) for (const line of lines.push(chunk)) this.#event(line);
  }

  #event(line: string): void {
    const { kind, handler } = this.#options;
    const event = readEvent(kind, line);
    if (event.type === "ERROR") throw errorEvent(kind, event.status);
    if (event.type !== "BOOKMARK") this.#backOff.reset();
    if (event.type === "PUT" && event.object.object !== null) {
      handler.changed([event.object], []);
      this.#known.set(keyOf(event.object), event.object.resourceVersion);
    } else if (event.type === "DELETED" && this.#known.delete(keyOf(event))) {
      handler.changed([], [event]);
    }
    this.#resourceVersion = event.resourceVersion;
    handler.current();
  }

  /** A request whose answer must be 200; any other is thrown as the fault that it is. */
  async #exchange<T>({ verb, path, ...limits }: Exchange, use: (response: KubernetesResponse) => Promise<T>): Promise<T> {
    const { api, clock, kind } = this.#options;
    return await watchedRequest({ api, clock, path, signal: this.#stopping.signal, ...limits }, async (response) => {
      if (response.status === 200) return await use(response);
      if (response.status === 410) throw new Expired();
      const waitMs = retryAfterMs(response.headers, clock.now()) ?? 0;
      throw refusalFault(kind, { verb, status: response.status, body: await bodyText(response), waitMs });
    });
  }

  /** Shorter when stopping. */
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

interface Exchange {
  readonly verb: "list" | "watch";
  readonly path: string;
  readonly totalMs: number;
  readonly idleMs: number;
}
