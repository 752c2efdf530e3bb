import { hash } from "node:crypto";
import { compareText } from "../../shared/decisions/kubernetes/text.ts";
import type { SessionRequest } from "../../shared/decisions/selectors/session.ts";

/** The caller of STS: its identity, and the Region of the STS endpoint. */
export interface Caller {
  /**
   * The ARN of the base identity, or the key of the session that signs the call, which is a JSON array. The session key
   * ignores the session name in an ARN, because the session name changes at each renewal.
   */
  readonly identity: string;
  /** The Region of the STS endpoint; null for a custom endpoint. */
  readonly region: string | null;
  /** The CAPA identity to which the session belongs; absent for a role that selectors or CARM maps grant. */
  readonly owner?: string;
}

/**
 * Returns the cache key of a session. Sessions have the same key only if their callers and request parameters are the
 * same. The order of tags and policy ARNs does not affect the key. The key contains the role ARN in plain text, for
 * metrics, and a digest of the other parts, which can be confidential.
 */
export function sessionKey(request: SessionRequest, { identity, region, owner }: Caller): string {
  const { roleARN, sessionName, durationSeconds, externalID, sourceIdentity, tags, policy } = request;
  const sortedTags = tags.map(({ key, value }) => JSON.stringify([key, value])).toSorted(compareText);
  const distinct = [
    withoutSessionName(identity), region, sessionName, durationSeconds, externalID, sourceIdentity, sortedTags, policy,
    request.policyARNs.toSorted(compareText), request.transitiveTagKeys.toSorted(compareText), owner ?? null,
  ];
  return JSON.stringify([roleARN, hash("sha256", JSON.stringify(distinct), "base64url")]);
}

interface CachedKey {
  readonly request: SessionRequest;
  readonly caller: Caller;
  readonly key: string;
}

/** Caches the last session key of each grant, because computing a key takes longer than a cache lookup. */
export class SessionKeyCache {
  readonly #keys = new WeakMap<object, CachedKey>();

  /**
   * Returns the cached or computed `sessionKey(request, caller)`. `grantedBy` is the object that grants the session.
   */
  keyOf(grantedBy: object, request: SessionRequest, caller: Caller): string {
    const cached = this.#keys.get(grantedBy);
    if (cached !== undefined && isSame(cached.request, request) && isSame(cached.caller, caller)) return cached.key;
    const key = sessionKey(request, caller);
    this.#keys.set(grantedBy, { request, caller, key });
    return key;
  }
}

/** Whether `a` and `b` have the same fields in the same order, and the same value in each field. */
function isSame(a: object, b: object): boolean {
  const [fields, others] = [Object.entries(a), Object.entries(b)];
  if (fields.length !== others.length) return false;
  return fields.every(([name, value], i) => name === others[i]?.[0] && value === others[i][1]);
}

/** Returns the role ARN in a session key. */
export function roleOfSession(key: string): string {
  const parts: unknown = JSON.parse(key);
  return Array.isArray(parts) ? String(parts[0]) : "";
}

function withoutSessionName(arn: string): string {
  return arn.replace(/^(arn:[^:]*:sts::\d*:assumed-role\/[^/]*)\/.*$/, "$1");
}
