import { hash } from "node:crypto";
import { compareText } from "../../shared/decisions/kubernetes/text.ts";
import type { SessionRequest } from "../../shared/decisions/selectors/session.ts";

/** Who asks which STS. */
export interface Asker {
  /** The ARN of the base identity. Its role counts, not its session: that is another one each time the base is renewed. */
  readonly identity: string;
  /** The Region of STS, whose partition the role's ARN names; null where an endpoint stands for it. */
  readonly region: string | null;
}

/**
 * What tells sessions apart: who asks, and everything that STS is asked for, in one order. The role stands in it as it is, for metrics; the
 * rest, which may be nobody's business, as a digest.
 */
export function sessionKey(request: SessionRequest, { identity, region }: Asker): string {
  const { roleARN, sessionName, durationSeconds, externalID, sourceIdentity, tags, policy, policyARNs } = request;
  const sortedTags = tags.map(({ key, value }) => JSON.stringify([key, value])).toSorted(compareText);
  const distinct = [
    withoutSession(identity), region, sessionName, durationSeconds, externalID, sourceIdentity, sortedTags, policy, policyARNs.toSorted(compareText),
  ];
  return JSON.stringify([roleARN, hash("sha256", JSON.stringify(distinct), "base64url")]);
}

/** The key that was made last on each basis, since to make one for each request that finds its session kept takes longer than to find it. */
export class SessionKeys {
  readonly #made = new WeakMap<object, { readonly request: SessionRequest; readonly asker: Asker; readonly key: string }>();

  /** What `sessionKey` gives; `basis` is what the session is granted on. */
  keyOf(grantedBy: object, request: SessionRequest, asker: Asker): string {
    const made = this.#made.get(grantedBy);
    if (made !== undefined && isSame(made.request, request) && isSame(made.asker, asker)) return made.key;
    const key = sessionKey(request, asker);
    this.#made.set(grantedBy, { request, asker, key });
    return key;
  }
}

/** Whether they have the same fields in the same order, each the same value or the same object. */
function isSame(a: object, b: object): boolean {
  const [fields, others] = [Object.entries(a), Object.entries(b)];
  return fields.length === others.length && fields.every(([name, value], i) => name === others[i]?.[0] && value === others[i][1]);
}

/** The role of a session's key. */
export function roleOfSession(key: string): string {
  const parts: unknown = JSON.parse(key);
  return Array.isArray(parts) ? String(parts[0]) : "";
}

function withoutSession(arn: string): string {
  return arn.replace(/^(arn:[^:]*:sts::\d*:assumed-role\/[^/]*)\/.*$/, "$1");
}
