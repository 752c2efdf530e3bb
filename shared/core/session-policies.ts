import { ResolverError } from "../formats/errors.ts";
import type { JsonObject } from "../formats/json.ts";
import { policyFaults } from "./policy-faults.ts";
import { parsePolicy, policyLengthFault } from "./session-policy.ts";
import { allowStatements, denyStatements, type SessionScope } from "./session-scope.ts";
import { isUnrestricted, type SessionRequest } from "./session.ts";

/** The session policies of a call of AssumeRole. */
export type SessionPolicies = Pick<SessionRequest, "policy" | "policyARNs">;

const VERSION = "2012-10-17";

/**
 * Returns session policies that allow an action only if those of the selector, those of the request, and the scope each
 * allow it. STS allows what one of the policies of a call allows, so the scope stands beside others as denials, and two
 * lists of what is allowed cannot be combined. Throws ERR_SESSION_POLICY for them, and if STS would reject the result.
 */
export function combinedPolicies(
  own: SessionPolicies, requested: SessionPolicies, scope: SessionScope | null,
): SessionPolicies {
  if (!isUnrestricted(own) && !isUnrestricted(requested)) throw new ResolverError("ERR_SESSION_POLICY", TWO_LISTS);
  const written = isUnrestricted(own) ? requested : own;
  return scope === null ? written : limitedTo(scope, written);
}

function limitedTo(scope: SessionScope, written: SessionPolicies): SessionPolicies {
  const isOnly = isUnrestricted(written);
  const statements = isOnly ? allowStatements(scope) : denyStatements(scope);
  const limited = { policy: withStatements(written.policy, statements), policyARNs: written.policyARNs };
  const tooLong = policyLengthFault(limited.policy, limited.policyARNs);
  if (tooLong === null) return limited;
  const fix = isOnly ? "Run a sidecar for each group" : "Shorten the session policy";
  throw new ResolverError("ERR_SESSION_SCOPE", `With the session scope, ${tooLong}. ${fix}, or write `
    + "ack-role-resolver.io/session-scope: none into the selector.");
}

/**
 * Returns the policy with further statements. Without a Version, a policy has no variables, and that must stay so.
 * Throws ERR_SESSION_POLICY if the policy is not valid.
 */
export function withStatements(text: string | null, statements: readonly JsonObject[]): string {
  const policy: JsonObject = text === null ? { Version: VERSION } : checkedPolicy(text);
  const own = [policy["Statement"] ?? []].flat();
  return JSON.stringify({ ...policy, Statement: [...own, ...statements] });
}

function checkedPolicy(text: string): JsonObject {
  const [policy, [fault]] = [parsePolicy(text), policyFaults(text)];
  if (policy !== null && fault === undefined) return policy;
  throw new ResolverError("ERR_SESSION_POLICY", `The session policy is rejected: ${String(fault?.message)}.`);
}

const TWO_LISTS = "The IAMRoleSelector of the role has session policies, and STS cannot limit a session to what they "
  + "and those of the request allow. Remove Policy and PolicyArns from the request, or the annotations "
  + "ack-role-resolver.io/session-policy and session-policy-arns.";

