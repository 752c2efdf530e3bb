import type { Access, AccessBySelector, Requester } from "../shared/decisions/context.ts";
import { field, stringAt } from "../shared/decisions/kubernetes/json.ts";
import { SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import { bodyText, type KubernetesAPI } from "../shared/inventory/cluster/api.ts";
import type { Logger } from "../shared/server/logger.ts";

const PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/** The limit of one SubjectAccessReview: a third of the webhook's `timeoutSeconds`. */
const CALL_MS = 1_000;
/** A granted or revoked right takes effect within this time. */
const LIFETIME_MS = 10_000;
/** The limit of the cache: a few MB. */
const MAX_ENTRIES = 10_000;

/**
 * Returns whether the requester may `use` the IAMRoleSelector. Never rejects: a failed review is "unknown", and the
 * checks treat it as a denial.
 */
export type AccessReviewer = (requester: Requester, selector: string) => Promise<Access>;

export interface AccessReviewPorts {
  readonly api: KubernetesAPI;
  readonly clock: Clock;
  readonly log: Logger;
}

interface CachedReview {
  readonly access: Promise<Access>;
  readonly expiresMs: number;
}

/** Returns a reviewer that sends SubjectAccessReviews and caches each result for 10 s by user, groups and selector. */
export function cachedAccessReviewer(ports: AccessReviewPorts): AccessReviewer {
  const { clock } = ports;
  const cache = new Map<string, CachedReview>();
  return (requester, selector) => {
    // The groups are part of the key: an impersonated request can carry fewer groups than the user has.
    const key = JSON.stringify([requester.username, requester.groups, selector]);
    const cached = cache.get(key);
    if (cached !== undefined && clock.now() < cached.expiresMs) return cached.access;
    const entry = { access: sendReview(ports, requester, selector), expiresMs: clock.now() + LIFETIME_MS };
    cache.delete(key); // A Map iterates in insertion order: deleting first makes this entry the newest.
    cache.set(key, entry);
    const [oldest] = cache.keys();
    if (cache.size > MAX_ENTRIES && oldest !== undefined) cache.delete(oldest);
    return evictUnknown(cache, key, entry);
  };
}

/** Returns the access to each of the selectors. The reviews run concurrently. */
export async function reviewAll(
  reviewAccess: AccessReviewer,
  requester: Requester,
  selectors: readonly string[],
): Promise<AccessBySelector> {
  const reviews = selectors.map(async (name) => [name, await reviewAccess(requester, name)] as const);
  return new Map(await Promise.all(reviews));
}

/** Evicts a failed review, so that the next request retries it. Concurrent requests share the failed result. */
async function evictUnknown(cache: Map<string, CachedReview>, key: string, entry: CachedReview): Promise<Access> {
  const access = await entry.access;
  if (access === "unknown" && cache.get(key) === entry) cache.delete(key);
  return access;
}

async function sendReview(
  ports: AccessReviewPorts,
  { username, groups }: Requester,
  selector: string,
): Promise<Access> {
  const { api, clock, log } = ports;
  const resourceAttributes = { group: SELECTOR_GROUP, resource: "iamroleselectors", name: selector, verb: "use" };
  const body = JSON.stringify({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: username, groups, resourceAttributes },
  });
  const timeout = new AbortController();
  const cancelTimeout = clock.schedule(CALL_MS, () => timeout.abort());
  try {
    const response = await api.request({ method: "POST", path: PATH, body, signal: timeout.signal });
    const review: unknown = JSON.parse(await bodyText(response));
    const allowed = field(field(review, "status"), "allowed");
    if (typeof allowed === "boolean") return allowed ? "allowed" : "denied";
    const fault = stringAt(review, "message");
    log.warn({ selector, user: username, status: response.status, fault }, "access review failed");
  } catch (err) {
    log.warn({ selector, user: username, err }, "access review failed");
  } finally {
    cancelTimeout();
  }
  return "unknown";
}
