import { setImmediate as nextTurn } from "node:timers/promises";
import { repeat } from "../../shared/core/clock.ts";
import type { ClusterPorts } from "../../shared/api/api.ts";
import { type ObjectResponse, rejectionText, type SendPorts, sendRequest } from "../../shared/api/send-request.ts";
import { Backoff } from "../../shared/api/backoff.ts";
import { errorMessage } from "../../shared/formats/errors.ts";
import { stringAt } from "../../shared/formats/json.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { annotatedKey, type AnnotatedObject } from "../../shared/core/annotated-objects.ts";
import {
  annotatedWithKey, type ResourceScope, resourceState, type ResourceState,
} from "../../shared/diagnosis/stale-resources.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { RetryQueue } from "../../shared/server/retry-queue.ts";
import type { WebhookMetrics } from "../metrics.ts";

/**
 * The result of a write:
 * - `ok`: the API server stored the annotations.
 * - `conflict`: the resource is newer than its copy in the inventory.
 * - `gone`: the resource or its kind does not exist anymore.
 * - `outage`: the API server is unavailable or overloaded, so other writes would fail too.
 * - `fault`: the API server rejected the write of this resource.
 */
type WriteOutcome = "ok" | "conflict" | "gone" | "outage" | "fault";

interface WriteResult {
  readonly outcome: WriteOutcome;
  /** Why the write failed; null if it did not fail. */
  readonly fault: string | null;
}

const CONTENT_TYPE = "application/merge-patch+json";

/**
 * Writes annotations of one resource; the value null removes an annotation. The patch contains the resource version in
 * the inventory, so the API server rejects the patch if the resource has changed since. Never rejects.
 */
async function writeAnnotations(
  ports: SendPorts, resource: AnnotatedObject, annotations: ReadonlyMap<string, string | null>,
  { kinds }: Pick<Inventory, "kinds">,
): Promise<WriteResult> {
  const { group, version, kind, namespace, name, resourceVersion } = resource;
  const plural = kinds.versions(group, kind)?.plural ?? "";
  if (plural === "" || name === null || resourceVersion === null) return { outcome: "gone", fault: null };
  const path = ["/apis", group, version, "namespaces", namespace, plural, name];
  const request = {
    method: "PATCH", path: `${path.map(encoded).join("/")}?fieldManager=${FIELD_MANAGER}`, contentType: CONTENT_TYPE,
    body: JSON.stringify({ metadata: { resourceVersion, annotations: Object.fromEntries(annotations) } }),
  } as const;
  try {
    return resultOf(request, await sendRequest(ports, request));
  } catch (error) {
    return { outcome: "outage", fault: errorMessage(error) };
  }
}

function encoded(part: string, index: number): string {
  return index === 0 ? part : encodeURIComponent(part);
}

const OVERLOADED = 429;
const UNAUTHORIZED = 401;

function resultOf(request: { readonly method: "PATCH"; readonly path: string }, response: ObjectResponse): WriteResult {
  const { status, object } = response;
  if (status === 200) return { outcome: "ok", fault: null };
  if (status === 404) return { outcome: "gone", fault: null };
  // A webhook or a quota can also reject a change with 409.
  if (status === 409 && stringAt(object, "reason") === "Conflict") return { outcome: "conflict", fault: null };
  const isOutage = status >= 500 || status === OVERLOADED || status === UNAUTHORIZED;
  return { outcome: isOutage ? "outage" : "fault", fault: rejectionText(request, response) };
}

/** The field manager of all writes, which `kubectl get --show-managed-fields` shows. */
export const FIELD_MANAGER = "ack-role-resolver-reconciler";

interface RefresherOptions extends ClusterPorts {
  readonly log: Logger;
  readonly metrics: Pick<WebhookMetrics, "refreshes">;
  readonly scope: ResourceScope;
  readonly queue: RetryQueue;
  /** Called if the API server rejected the write of a resource. */
  readonly onFault: (resource: AnnotatedObject, fault: string) => void;
  /** Whether this replica is the leader and its inventory is current. */
  readonly mayWrite: () => boolean;
}

/** How long the refresher waits if it has nothing to write, in ms. */
const IDLE_MS = 500;
/** The number of resources that need no write after which the event loop serves other requests. */
const SKIPPED_BETWEEN_PAUSES = 20;
/** The maximum number of writes whose result the inventory does not contain yet. */
const MAX_UNSEEN = 1_000;
/** The maximum number of writes per second. Each one takes about 7 ms of processor time at the API server and etcd. */
export const MAX_QPS = 25;
const WRITE_MS = 1_000 / MAX_QPS;

/**
 * Updates the annotations of the queued resources: one resource at a time, at most MAX_QPS per second, and with a pause
 * after each write that is at least as long as the write. So if the API server is busy, or delays the writes for those
 * of others (priority and fairness), the rate falls by itself, and half of the time nothing is in flight.
 */
export class Refresher {
  readonly #options: RefresherOptions;
  readonly #outage: Backoff;
  /** The resource version before each successful write, until the inventory contains the result of the write. */
  readonly #written = new BoundedMap<string, string | null>(MAX_UNSEEN);
  #lastFault = "";
  #skipped = 0;

  constructor(options: RefresherOptions) {
    this.#options = options;
    this.#outage = new Backoff(options.random);
  }

  async run(stopping: AbortSignal): Promise<void> {
    await repeat(this.#options.clock, stopping, () => this.#next());
  }

  /** Whether the annotations of the resource were written, but the inventory still contains the state before. */
  isWritten(resource: AnnotatedObject): boolean {
    const key = annotatedKey(resource);
    if (!this.#written.has(key)) return false;
    if (this.#written.get(key) === resource.resourceVersion) return true;
    this.#written.delete(key);
    return false;
  }

  /** Writes at most one resource. Returns the time until the next write, in ms. */
  async #next(): Promise<number> {
    const { queue, clock, mayWrite, scope } = this.#options;
    const queued = mayWrite() ? queue.take(clock.steady()) : null;
    if (queued === null) return IDLE_MS;
    // Resolves again, because the resource or a selector may have changed since the scan.
    const state = this.#staleState(queued.key);
    if (state === null) {
      if (++this.#skipped % SKIPPED_BETWEEN_PAUSES === 0) await nextTurn();
      return 0;
    }
    const startMs = clock.steady();
    const result = await writeAnnotations(this.#options, state.resource, state.stale, scope.inventory);
    this.#report(state.resource, result);
    const { outcome } = result;
    if (outcome === "ok") this.#written.set(annotatedKey(state.resource), state.resource.resourceVersion);
    else if (outcome !== "gone") queue.retry(queued, clock.steady());
    if (outcome === "outage") return this.#outage.next();
    this.#outage.reset();
    const tookMs = clock.steady() - startMs;
    return Math.max(tookMs, WRITE_MS - tookMs);
  }

  /** Returns the state of a resource; null if its annotations need no write. */
  #staleState(key: string): ResourceState | null {
    const { scope } = this.#options;
    const resource = annotatedWithKey(key, scope.inventory);
    if (resource === null || this.isWritten(resource)) return null;
    const state = resourceState(resource, scope);
    return state === null || state.stale.size === 0 ? null : state;
  }

  /** Logs a fault when it differs from the last fault, because thousands of writes can have the same fault. */
  #report(target: AnnotatedObject, { outcome, fault }: WriteResult): void {
    const { log, metrics, onFault } = this.#options;
    const { kind, namespace, name } = target;
    const resource = { kind, namespace, name };
    metrics.refreshes.inc({ outcome });
    if (outcome === "fault" && fault !== null) onFault(target, fault);
    if (fault === null) {
      if (outcome === "ok") log.debug(resource, "annotations updated");
      return;
    }
    const kindOfFault = fault.replace(name ?? "", "").replace(namespace, "");
    if (kindOfFault === this.#lastFault) return;
    this.#lastFault = kindOfFault;
    log.warn({ ...resource, fault }, "annotations could not be updated; retrying");
  }
}
