import { bodyText, type ClusterPorts, type KubernetesResponse, limitedAPI, readPages, retryAfterMs } from "./api.ts";
import { ResourceExpired, responseError } from "./api-errors.ts";
import { RequestTimeout, requestWithTimeout } from "./send-request.ts";
import { collectionPath, METADATA_TYPES, selectionQuery, type StoredObject, type WatchedKind } from "./watched-kind.ts";
import { LineSplitter, type ListPage, readPage } from "./wire.ts";

export interface ListWatchOptions extends ClusterPorts {
  readonly kind: WatchedKind;
}

/** The maximum time until a list response starts, and between two parts of its body, in ms. */
const LIST_IDLE_MS = 60_000;
/**
 * The maximum time to read one page of a list, in ms: after about 5 minutes, the default interval in which
 * kube-apiserver compacts etcd, the continue token of a page expires.
 */
const LIST_MS = 300_000;

/**
 * The requested duration of a watch: a random time from 5 to 10 minutes, as in client-go, so that not all watches end
 * at the same time.
 */
const WATCH_MIN_S = 300;
const WATCH_SPREAD_S = 300;
/** The maximum time until the API server accepts a watch, in ms. */
const WATCH_RESPONSE_MS = 10_000;
/**
 * The idle time after which a watch ends: a random time from 75 to 90 s. The API server sends a bookmark about once a
 * minute, but only if the resource version has increased (k8s.io/apiserver pkg/storage/cacher/cache_watcher.go). If no
 * object changes, the next bookmark can take up to 11 minutes, unless etcd runs with
 * `--watch-progress-notify-interval`. So an idle watch is not a fault, but its connection may be dead.
 */
const WATCH_IDLE_MS = 75_000;
const WATCH_IDLE_SPREAD_MS = 15_000;
/** The time by which a watch may exceed its requested duration, in ms. */
const WATCH_OVERTIME_MS = 10_000;

/** Lists the objects of the kind, page by page. Throws ResourceExpired or another error if a page cannot be read. */
export function listPages(options: Omit<ListWatchOptions, "random">, signal: AbortSignal): AsyncGenerator<ListPage> {
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
  options: Omit<ListWatchOptions, "random">, signal: AbortSignal,
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
 * Watches the kind from `resourceVersion`. Resolves when the API server ends the watch. Also resolves when an accepted
 * watch is idle for too long, because only the next watch shows whether the API server still responds.
 */
export async function watchKind(
  options: ListWatchOptions, resourceVersion: string, { onOpen, onLine }: WatchHandler, signal: AbortSignal,
): Promise<void> {
  const { kind, random } = options;
  const seconds = WATCH_MIN_S + Math.floor(random() * WATCH_SPREAD_S);
  const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${resourceVersion}`;
  const path = `${collectionPath(kind)}?${selectionQuery(kind)}${query}`;
  const limits = {
    responseMs: WATCH_RESPONSE_MS,
    idleMs: WATCH_IDLE_MS + Math.floor(random() * WATCH_IDLE_SPREAD_MS),
    totalMs: seconds * 1000 + WATCH_OVERTIME_MS,
  };
  let isOpen = false;
  try {
    await send(options, { verb: "watch", path, signal, ...limits }, async ({ body }) => {
      isOpen = true;
      onOpen();
      const lines = new LineSplitter();
      for await (const chunk of body) for (const line of lines.push(chunk)) onLine(line);
    });
  } catch (error) {
    if (!(isOpen && error instanceof RequestTimeout)) throw error;
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
  { api, clock, kind }: Omit<ListWatchOptions, "random">, request: ListWatchRequest,
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
