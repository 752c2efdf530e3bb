import { createHash } from "node:crypto";
import type { ObjectUse } from "../shared/core/use-rights.ts";
import type { Access, AccessByName, Requester } from "../shared/core/context.ts";
import { field, stringAt } from "../shared/formats/json.ts";
import { LIMITS } from "../shared/core/limits.ts";
import { type SteadyClock, withTimeout } from "../shared/core/clock.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import { sendRequest } from "../shared/api/send-request.ts";
import { Semaphore } from "../shared/api/semaphore.ts";
import { BoundedMap } from "../shared/server/bounded-map.ts";
import type { Logger } from "../shared/server/logger.ts";

const PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/** The timeout of one SubjectAccessReview, in ms: a third of the webhook's `timeoutSeconds`. */
const CALL_MS = 1_000;
/**
 * The maximum number of concurrent SubjectAccessReviews. Without this limit, the webhook could send 100 concurrent
 * requests to the API server for each forged review.
 */
const CONCURRENT_CALLS = 32;
/**
 * How long a result is cached, in ms. When a right is granted or revoked, the webhook notices the change within this
 * time.
 */
const LIFETIME_MS = 10_000;
/** The maximum number of cached results, which take a few MB. */
const MAX_ENTRIES = 10_000;

/**
 * Returns whether the requester may `use` the object in the namespace. Never rejects: resolves to "unknown" if the
 * review fails. The checks treat "unknown" as a denial.
 */
export type AccessReviewer = (requester: Requester, use: ObjectUse) => Promise<Access>;

export interface AccessContext {
  /** If null, access reviews are disabled, and the checks treat all access as unknown. */
  readonly reviewAccess: AccessReviewer | null;
}

interface AccessReviewPorts {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  readonly log: Logger;
}

interface CachedReview {
  readonly access: Promise<Access>;
  /** On the steady clock, so that a change of the system time does not extend a revoked right. */
  readonly expiresMs: number;
}

/**
 * Returns a reviewer that sends SubjectAccessReviews. The reviewer caches each result for 10 s by requester, object and
 * namespace.
 */
export function cachedAccessReviewer(ports: AccessReviewPorts): AccessReviewer {
  const { clock } = ports;
  const calls = new Semaphore(CONCURRENT_CALLS);
  const cache = new BoundedMap<string, CachedReview>(MAX_ENTRIES);
  return (requester, use) => {
    const key = cacheKey(requester, use);
    const cached = cache.get(key);
    if (cached !== undefined && clock.steady() < cached.expiresMs) return cached.access;
    const access = withinTimeout(ports, calls, (timeoutMs) => sendReview(ports, requester, use, timeoutMs));
    const entry = { access, expiresMs: clock.steady() + LIFETIME_MS };
    cache.set(key, entry);
    return evictUnknown(cache, key, entry);
  };
}

/**
 * Returns the requester's access to each object by its name. Sends the reviews concurrently. If there are more objects
 * than the limit of access reviews allows, or access reviews are disabled, the result does not contain the remaining
 * objects, and the checks treat access to them as unknown.
 */
export async function reviewAll(
  { reviewAccess }: AccessContext, requester: Requester, uses: readonly (readonly [name: string, use: ObjectUse])[],
): Promise<AccessByName> {
  if (reviewAccess === null) return new Map();
  const reviews = uses.slice(0, LIMITS.accessReviews.value).map(async ([name, use]) => (
    [name, await reviewAccess(requester, use)] as const
  ));
  return new Map(await Promise.all(reviews));
}

/**
 * The cache key includes the whole requester, because an impersonated request can have fewer groups than the user, and
 * a token fewer scopes. The cache key is a hash, because a client can send long group names.
 */
function cacheKey(requester: Requester, { group, resource, name, namespace }: ObjectUse): string {
  const { username, groups, uid, extra } = requester;
  const parts = [username, groups, uid, extra, group, resource, name, namespace];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}

/** Evicts the cached result if the review failed, so that the next request sends a new review. */
async function evictUnknown(cache: Map<string, CachedReview>, key: string, entry: CachedReview): Promise<Access> {
  const access = await entry.access;
  if (access === "unknown" && cache.get(key) === entry) cache.delete(key);
  return access;
}

/**
 * Runs the call when fewer than 32 calls are running. Returns "unknown" after 1 s, even if the call has not started. In
 * this case, the call never sends a request.
 */
async function withinTimeout(
  { clock, log }: AccessReviewPorts, calls: Semaphore, call: (timeoutMs: number) => Promise<Access>,
): Promise<Access> {
  const endMs = clock.steady() + CALL_MS;
  let hasStarted = false;
  const access = calls.run(async (): Promise<Access> => {
    hasStarted = true;
    const leftMs = endMs - clock.steady();
    return leftMs <= 0 ? "unknown" : await call(leftMs);
  });
  return await withTimeout(clock, CALL_MS, access, () => new Error("timeout")).catch(() => {
    if (!hasStarted) log.warn("access review failed: too many access reviews are in flight");
    return "unknown" as const;
  });
}

async function sendReview(
  ports: AccessReviewPorts, { username, groups, uid, extra }: Requester, use: ObjectUse, timeoutMs: number,
): Promise<Access> {
  const { log } = ports;
  // IAMRoleSelectors and most identities are cluster-scoped, but with a namespace in the review, a RoleBinding in this
  // namespace can grant the verb.
  const resourceAttributes = { ...use, verb: "use" };
  const body = JSON.stringify({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: username, groups, uid, extra, resourceAttributes },
  });
  const logged = { resource: use.resource, name: use.name, user: username };
  try {
    const { status, object } = await sendRequest(ports, { method: "POST", path: PATH, body }, { timeoutMs });
    const allowed = field(field(object, "status"), "allowed");
    if (typeof allowed === "boolean") return allowed ? "allowed" : "denied";
    log.warn({ ...logged, status, fault: stringAt(object, "message") }, "access review failed");
  } catch (err) {
    log.warn({ ...logged, err }, "access review failed");
  }
  return "unknown";
}
