import type { DecisionSettings } from "../shared/core/context.ts";
import type { RoleObject } from "../shared/core/inventory.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { quote } from "../shared/formats/text.ts";
import { type Clock, sleep, withTimeout } from "../shared/core/clock.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import type { FetchedObject, ObjectFetcher } from "./object-fetch.ts";

/**
 * The maximum wait for the watch to report a new namespace, in ms. Clients often create a namespace and its first
 * resource together.
 */
const WATCH_WAIT_MS = 100;
/** The maximum wait until the API server returns the namespace, in ms. Other fetches can delay the request. */
const FETCH_WAIT_MS = 1_000;

export interface NamespaceWaitContext {
  readonly source: InventorySource;
  readonly settings: DecisionSettings;
  readonly clock: Clock;
  /** Returns the remaining time until the deadline of the response, in ms. */
  readonly remainingMs: () => number;
  /** Fetches a Namespace from the API server; null if the inventory consists of manifests. */
  readonly fetchNamespace: ObjectFetcher | null;
}

/** Whether the role depends on the Namespace of the object, which can name a selector with --runtime extended. */
export function dependsOnNamespace(
  object: RoleObject, { settings, source: { inventory } }: Pick<NamespaceWaitContext, "settings" | "source">,
): boolean {
  return inventory.runtime === "extended" || inventory.sourceOf(object, settings).knownIn(inventory).readsNamespace;
}

/**
 * Waits until `isKnown` returns true, for at most 100 ms. If the watch does not report the namespace, fetches the
 * namespace from the API server into the inventory. Returns the last result of `isKnown`.
 */
export async function waitUntilKnown(
  namespace: string, isKnown: () => boolean, context: NamespaceWaitContext,
): Promise<boolean> {
  if (await isReported(isKnown, context)) return true;
  const fetched = await fetchWithin(namespace, context);
  // The watch may have reported a newer state during the fetch.
  if (typeof fetched !== "string" && !isKnown()) context.source.accept(fetched);
  return isKnown();
}

async function fetchWithin(
  namespace: string, { fetchNamespace, clock, remainingMs }: NamespaceWaitContext,
): Promise<FetchedObject> {
  const waitMs = Math.min(FETCH_WAIT_MS, remainingMs());
  if (fetchNamespace === null || waitMs <= 0) return "unknown";
  return await withTimeout(clock, waitMs, fetchNamespace(namespace), () => new Error("timeout")).catch(() => "unknown");
}

/** A newer version can arrive from the watch while the namespace is fetched, so that it must be fetched again. */
const MAX_FETCHES = 2;

/**
 * Fetches the namespace, and stores it unless the inventory contains this version. So the next decision is not made on
 * an older state, for example on that of a namespace that was deleted and created again. Throws ERR_NAMESPACE_UNREAD if
 * that is not certain. Does nothing for an inventory of manifests.
 */
export async function refreshNamespace(namespace: string, context: NamespaceWaitContext): Promise<void> {
  if (context.fetchNamespace === null || namespace === "") return;
  for (let i = 0; i < MAX_FETCHES; i++) {
    // The fetches are sequential.
    // oxlint-disable-next-line no-await-in-loop
    const fetched = await fetchWithin(namespace, context);
    if (typeof fetched === "string") break;
    if (context.source.accept(fetched)) return;
  }
  throw unread(namespace);
}

async function isReported(
  isKnown: () => boolean, { source, clock, remainingMs }: NamespaceWaitContext,
): Promise<boolean> {
  const waitMs = Math.min(WATCH_WAIT_MS, remainingMs());
  if (isKnown() || waitMs <= 0) return isKnown();
  const known = new AbortController();
  const unsubscribe = source.onChange(() => {
    if (isKnown()) known.abort();
  });
  await sleep(clock, waitMs, known.signal);
  unsubscribe();
  return isKnown();
}

/**
 * Throws ERR_NAMESPACE_UNREAD if the role of the object depends on its Namespace, which the API server did not return,
 * because the checks cannot compare roles without it. Never throws for an inventory of manifests, which may lack
 * namespaces.
 */
export function requireNamespace(object: RoleObject, context: NamespaceWaitContext): void {
  const { source: { inventory }, fetchNamespace } = context;
  if (fetchNamespace === null || inventory.namespaces.has(object.namespace)) return;
  if (dependsOnNamespace(object, context)) throw unread(object.namespace);
}

function unread(namespace: string): ResolverError {
  return new ResolverError(
    "ERR_NAMESPACE_UNREAD",
    `The API server did not return namespace ${quote(namespace)}, so the role of the resource is unknown. `
      + "Retry in a moment. The webhook log shows why the request failed.",
  );
}
