import { bodyText, type ClusterPorts, type KubernetesResponse, limitedAPI, readPages, retryAfterMs } from "./api.ts";
import { ResourceExpired, responseError, stalledError } from "./api-errors.ts";
import { RequestTimeout, requestWithTimeout } from "./send-request.ts";
import { collectionPath, METADATA_TYPES, selectionQuery, type StoredObject, type WatchedKind } from "./watched-kind.ts";
import { LineSplitter, type ListPage, readPage } from "./wire.ts";

export interface ListWatchOptions extends Pick<ClusterPorts, "api" | "clock"> {
  readonly kind: WatchedKind;
}

/** The maximum time until a list response starts, and between two parts of its body, in ms. */
const LIST_IDLE_MS = 60_000;
/**
 * The maximum time to read one page of a list, in ms: after about 5 minutes, the default interval in which
 * kube-apiserver compacts etcd, the continue token of a page expires.
 */
const LIST_MS = 300_000;

/** The maximum time until the API server accepts a watch, in ms. */
const WATCH_RESPONSE_MS = 10_000;

/**
 * How long the API server is asked to keep a watch open, in s, and by how much it may be late, in ms. On every
 * Kubernetes version, it ends each watch at the requested time, after it has sent all changes until then.
 */
export interface WatchTime {
  readonly seconds: number;
  readonly graceMs: number;
}

/** Not much longer, because only the end of a watch shows that an idle connection still works. */
const USUAL: WatchTime = { seconds: 75, graceMs: 10_000 };
/** The longest random time that is added to a usual watch, in s, so that not all watches end at the same time. */
const SPREAD_S = 15;
/** A watch that stalls is found after 4.5 s. */
const HEARTBEAT: WatchTime = { seconds: 3, graceMs: 1_500 };
/** The shortest time that the API server knows. An API server under load ends a watch up to seconds late. */
const ASKED: WatchTime = { seconds: 1, graceMs: 2_500 };

interface WatchMode {
  /** Whether a caller waits for the end of the watch. */
  readonly isAsked: boolean;
  readonly hasHeartbeat: boolean;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

export function watchTime({ isAsked, hasHeartbeat, random }: WatchMode): WatchTime {
  if (isAsked) return ASKED;
  return hasHeartbeat ? HEARTBEAT : { ...USUAL, seconds: USUAL.seconds + Math.floor(random() * SPREAD_S) };
}

/** Lists the objects of the kind, page by page. Throws ResourceExpired or another error if a page cannot be read. */
export function listPages(options: ListWatchOptions, signal: AbortSignal): AsyncGenerator<ListPage> {
  const { kind } = options;
  const limits = { responseMs: LIST_IDLE_MS, idleMs: LIST_IDLE_MS, totalMs: LIST_MS };
  return readPages(kind.pageSize, async ({ query, maxBytes }) => {
    const path = `${collectionPath(kind)}?${selectionQuery(kind)}${query}`;
    const limited = { ...options, api: limitedAPI(options.api, maxBytes) };
    return readPage(kind, await send(limited, { verb: "list", path, signal, ...limits }, bodyText));
  });
}

/** Lists all objects of the kind. All pages of a list have the same resource version. */
export async function listKind(
  options: ListWatchOptions, signal: AbortSignal,
): Promise<Omit<ListPage, "continuation">> {
  const objects: StoredObject[] = [];
  let resourceVersion = "";
  for await (const page of listPages(options, signal)) {
    for (const object of page.objects) objects.push(object);
    ({ resourceVersion } = page);
  }
  return { objects, resourceVersion };
}

interface WatchHandler {
  /** Called when the API server has accepted the watch. */
  readonly onOpen: () => void;
  readonly onLine: (line: string) => void;
}

/**
 * Watches the kind from `resourceVersion`. Resolves when the API server ends the watch. Throws a ListWatchError if it
 * does not end an accepted watch in time: a connection can stay open although nothing arrives anymore. Bookmarks cannot
 * show this, because they come about once a minute, and only if the resource version has increased
 * (k8s.io/apiserver pkg/storage/cacher/cache_watcher.go).
 */
export async function watchKind(
  options: ListWatchOptions, { resourceVersion, seconds, graceMs }: WatchTime & { readonly resourceVersion: string },
  { onOpen, onLine }: WatchHandler, signal: AbortSignal,
): Promise<void> {
  const { kind } = options;
  const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${resourceVersion}`;
  const path = `${collectionPath(kind)}?${selectionQuery(kind)}${query}`;
  const totalMs = seconds * 1000 + graceMs;
  const limits = { responseMs: Math.min(WATCH_RESPONSE_MS, totalMs), idleMs: totalMs, totalMs };
  let isOpen = false;
  try {
    await send(options, { verb: "watch", path, signal, ...limits }, async ({ body }) => {
      isOpen = true;
      onOpen();
      const lines = new LineSplitter();
      for await (const chunk of body) for (const line of lines.push(chunk)) onLine(line);
    });
  } catch (error) {
    if (isOpen && error instanceof RequestTimeout) throw stalledError(kind, seconds);
    throw error;
  }
}

interface ListWatchRequest {
  readonly verb: "list" | "watch";
  readonly path: string;
  readonly signal: AbortSignal;
  readonly responseMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

/** Sends a request and passes the response to `use`. Throws an error if the status is not 200. */
async function send<T>(
  { api, clock, kind }: ListWatchOptions, request: ListWatchRequest,
  use: (response: KubernetesResponse) => Promise<T>,
): Promise<T> {
  const accept = kind.metadataOnly === true ? METADATA_TYPES[request.verb] : undefined;
  return await requestWithTimeout({ api, clock, accept, ...request }, async (response) => {
    const { status, headers } = response;
    if (status === 200) return await use(response);
    if (status === 410) throw new ResourceExpired();
    const body = await bodyText(response);
    const { verb } = request;
    throw responseError(kind, { verb, status, body, retryAfterMs: retryAfterMs(headers, clock.now()) ?? 0 });
  });
}
