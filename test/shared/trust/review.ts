import type { IdentitySession, IdentitySource, RoleTarget } from "../../../shared/core/role-target.ts";
import { NO_EXTRAS, type SessionExtras } from "../../../shared/core/session.ts";
import { Intended } from "../../../shared/trust/intended.ts";
import type { RoleCaller } from "../../../shared/trust/role-caller.ts";
import { TrustReview } from "../../../shared/trust/trust-review.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { APP, type Fields, grant, ROLE } from "./trust-cases.ts";

const NOW = 1_795_000_000;
const INLINE = { RolePolicyList: [{ PolicyName: "sts", PolicyDocument: document(grant()) }] };
export const SIDECAR = { sessionName: "ack-role-resolver", defaults: NO_EXTRAS };

export function callerOf(fields: Partial<RoleCaller> = {}): RoleCaller {
  return { arn: APP, via: "ack", credentials: "irsa", sidecar: SIDECAR, ...fields };
}

export function selectorTarget(extras: Partial<SessionExtras> = {}): RoleTarget {
  return { kind: "selector", name: "team-a", roleARN: ROLE, extras: { ...NO_EXTRAS, ...extras }, namespace: "a" };
}

export function identityTarget(
  session: Partial<IdentitySession> = {}, source: IdentitySource | null = null,
): RoleTarget {
  const none = { externalID: null, sessionName: null, durationSeconds: null, tags: [], transitiveTags: [] };
  return { kind: "identity", name: "clusters", roleARN: ROLE, session: { ...none, ...session }, source };
}

interface Circumstances {
  readonly callers?: readonly RoleCaller[];
  readonly intended?: readonly string[];
  /** The trust policy of ROLE; null if no export has the role. */
  readonly trust: readonly Fields[] | null;
}

/** Returns a review of ROLE for callers whose own policies allow everything of STS. */
export function reviewOf({ callers = [callerOf()], intended = [], trust }: Circumstances): TrustReview {
  const data = dataOf(
    ...(trust === null ? [] : [exportOf({ RoleDetailList: [roleDetail(ROLE, document(...trust))] })]),
    exportOf({ RoleDetailList: [roleDetail(APP, document(), INLINE)] }),
  );
  const all = new Intended([...callers.map(({ arn }) => arn), ...intended]);
  return new TrustReview({ callers, data, nowSeconds: NOW, intended: all });
}

/** Returns `CODE MESSAGE` for each problem of the target, and `(warn)` if it is only a warning. */
export function problemsOf(target: RoleTarget, circumstances: Circumstances): string[] {
  return reviewOf(circumstances).problemsOf(target).map(({ code, message, isHarmless = false }) => (
    `${code}${isHarmless ? " (warn)" : ""} ${message}`
  ));
}
