import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../shared/core/clock.ts";
import { field, isJsonObject, type JsonObject } from "../shared/formats/json.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import type { Logger } from "../shared/server/logger.ts";
import { sendRequest } from "../shared/api/send-request.ts";
import { Semaphore } from "../shared/api/semaphore.ts";

/** The timeout of one request, in ms. */
const CALL_MS = 500;
const CONCURRENT_CALLS = 8;
/**
 * The maximum number of objects that wait. Without this limit, forged reviews could make later reviews
 * wait for minutes after the API server was slow.
 */
const MAX_FETCHES = 512;
const NOT_FOUND = 404;

/** The object on the API server, `absent` if the object does not exist, or `unknown` if the request failed. */
export type FetchedObject = JsonObject | "absent" | "unknown";

/** Fetches a cluster-scoped object by name. Never rejects. */
export type ObjectFetcher = (name: string) => Promise<FetchedObject>;

interface ObjectFetchPorts {
  readonly api: KubernetesAPI;
  readonly clock: Pick<Clock, "schedule">;
  readonly log: Logger;
}

/** A cluster-scoped kind and the URL path of its collection. */
export interface FetchedKind {
  readonly kind: string;
  readonly path: string;
  /** Whether the fetcher lists the object by its name, because the webhook has no right to get it. Default: false. */
  readonly isListed?: boolean;
}

/** Returns what fetches objects of a kind; null if the inventory consists of manifests. */
export type FetcherOf = (kind: FetchedKind) => ObjectFetcher | null;

export const NAMESPACES_ON_SERVER: FetchedKind = { kind: "Namespace", path: "/api/v1/namespaces" };

/**
 * Returns a fetcher that sends at most 8 requests at a time. Callers share a request only until it is sent, so that the
 * object is never older than the call. It returns `unknown` if 512 objects wait.
 */
export function objectFetcher(kind: FetchedKind, ports: ObjectFetchPorts): ObjectFetcher {
  const calls = new Semaphore(CONCURRENT_CALLS);
  const waiting = new Map<string, Promise<FetchedObject>>();
  return (name) => {
    const shared = waiting.get(name);
    if (shared !== undefined) return shared;
    if (waiting.size >= MAX_FETCHES) return Promise.resolve("unknown");
    const call = calls.run(async () => {
      // Reviews of the same moment share the request.
      await nextTurn();
      waiting.delete(name);
      return await fetchObject(name, kind, ports);
    });
    waiting.set(name, call);
    return call;
  };
}

async function fetchObject(
  name: string, { kind, path, isListed = false }: FetchedKind, { api, clock, log }: ObjectFetchPorts,
): Promise<FetchedObject> {
  // Checks the name, because the name comes from a review, and a name such as `..` would change the path.
  if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) return "unknown";
  try {
    const target = isListed ? `${path}?fieldSelector=metadata.name%3D${name}` : `${path}/${name}`;
    const { status, object } = await sendRequest({ api, clock }, { path: target }, { timeoutMs: CALL_MS });
    const found = isListed ? foundInList(status, object, kind) : foundObject(status, object);
    if (found !== "unknown") return found;
    log.warn({ kind, name, status }, "object could not be fetched");
  } catch (err) {
    log.warn({ kind, name, err }, "object could not be fetched");
  }
  return "unknown";
}

function foundObject(status: number, object: JsonObject | null): FetchedObject {
  if (status === NOT_FOUND) return "absent";
  return status === 200 && object !== null ? object : "unknown";
}

/** Returns the first object of a list, with its kind, which list items may lack. */
function foundInList(status: number, list: JsonObject | null, kind: string): FetchedObject {
  if (status !== 200 || list === null) return "unknown";
  const items = field(list, "items");
  const [item] = Array.isArray(items) ? (items as unknown[]) : [];
  return isJsonObject(item) ? { apiVersion: field(list, "apiVersion"), ...item, kind } : "absent";
}
