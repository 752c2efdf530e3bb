import { isJsonObject, type JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import { bodyText, type KubernetesAPI } from "../shared/inventory/cluster/api.ts";
import { Semaphore } from "../shared/inventory/cluster/semaphore.ts";
import type { Logger } from "../shared/server/logger.ts";

const PATH = `/apis/${SELECTOR_GROUP}/v1alpha1/iamroleselectors`;
/** The timeout of one request, in ms. */
const CALL_MS = 500;
const CONCURRENT_CALLS = 8;
const NOT_FOUND = 404;

/** The current state of an IAMRoleSelector on the API server, or `unknown` if the API server did not return it. */
export type FetchedSelector = JsonObject | "absent" | "unknown";

/** Fetches the IAMRoleSelector. Never rejects. */
export type SelectorFetcher = (name: string) => Promise<FetchedSelector>;

export interface SelectorFetchPorts {
  readonly api: KubernetesAPI;
  readonly clock: Pick<Clock, "schedule">;
  readonly log: Logger;
}

/** Returns a fetcher that sends at most 8 requests at a time, and at most one at a time for each selector. */
export function selectorFetcher(ports: SelectorFetchPorts): SelectorFetcher {
  const calls = new Semaphore(CONCURRENT_CALLS);
  const inFlight = new Map<string, Promise<FetchedSelector>>();
  return (name) => {
    const running = inFlight.get(name);
    if (running !== undefined) return running;
    const call = calls.run(() => fetchSelector(name, ports)).finally(() => inFlight.delete(name));
    inFlight.set(name, call);
    return call;
  };
}

async function fetchSelector(name: string, { api, clock, log }: SelectorFetchPorts): Promise<FetchedSelector> {
  // The name comes from a review. A name such as `..` would change the path.
  if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) return "unknown";
  const timeout = new AbortController();
  const cancelTimeout = clock.schedule(CALL_MS, () => timeout.abort());
  try {
    const response = await api.request({ path: `${PATH}/${name}`, signal: timeout.signal });
    const text = await bodyText(response);
    if (response.status === NOT_FOUND) return "absent";
    const object: unknown = response.status === 200 ? JSON.parse(text) : null;
    if (isJsonObject(object)) return object;
    log.warn({ selector: name, status: response.status }, "IAMRoleSelector could not be fetched");
  } catch (err) {
    log.warn({ selector: name, err }, "IAMRoleSelector could not be fetched");
  } finally {
    cancelTimeout();
  }
  return "unknown";
}
