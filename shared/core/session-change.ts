import {
  SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION,
} from "./annotation-keys.ts";
import { readPolicyARNs } from "./session-policy.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { field, isSame, type JsonObject, parseJSON } from "../formats/json.ts";
import { listOf, quote } from "../formats/text.ts";
import { isUnrestricted, scopeNamed, type ScopeName, type SessionExtras } from "./session.ts";

/** What limits the sessions of a role. */
export type SessionLimits = Pick<SessionExtras, "policy" | "policyARNs" | "scope">;

/** Returns what limits the sessions of a selector, as it is written: with the templates of its policy. */
export function readLimits(object: JsonObject): SessionLimits {
  return {
    policy: annotationAt(object, SESSION_POLICY_ANNOTATION),
    policyARNs: readPolicyARNs(annotationAt(object, SESSION_POLICY_ARNS_ANNOTATION) ?? ""),
    scope: scopeNamed(annotationAt(object, SESSION_SCOPE_ANNOTATION)),
  };
}

/**
 * Returns each change after which sessions may be able to do more, as a clause. Two policies are not compared by what
 * they mean, so another statement that allows counts, and one that denies and is gone.
 */
export function widenings(before: SessionLimits, after: SessionLimits, byDefault: ScopeName): readonly string[] {
  // A sidecar can have another default than the webhook knows.
  const isUnscoped = before.scope !== after.scope
    && (after.scope === "none" || (before.scope === "service" && byDefault === "none"));
  const isAssumed = before.scope === null && byDefault === "none";
  const text = isAssumed ? "the session scope of sidecars with --session-scope=service ends" : "the session scope ends";
  return [...(isUnscoped ? [text] : []), ...policyWidenings(before, after)];
}

function policyWidenings(before: SessionLimits, after: SessionLimits): readonly string[] {
  if (isUnrestricted(before)) return [];
  if (isUnrestricted(after)) return ["no session policy is left"];
  const added = after.policyARNs.filter((arn) => !before.policyARNs.includes(arn));
  // Nobody here knows whether a managed policy denies something.
  const removed = before.policyARNs.filter((arn) => !after.policyARNs.includes(arn));
  const [old, current] = [statementsOf(before.policy), statementsOf(after.policy)];
  const allows = current.filter((one) => !isDenial(one) && !isIn(old, one));
  const denials = old.filter((one) => isDenial(one) && !isIn(current, one));
  return [
    ...(added.length === 0 ? [] : [`the session policies also allow what ${listOf(added.map(quote))} allows`]),
    ...(removed.length === 0 ? [] : [`${listOf(removed.map(quote))} is gone, and can have denied something`]),
    ...(hasOtherVersion(before.policy, after.policy) ? ["the session policy has another Version"] : []),
    ...(allows.length === 0 ? [] : ["the session policy has another statement that allows"]),
    ...(denials.length === 0 ? [] : ["the session policy lacks a statement that denied"]),
  ];
}

function isIn(list: readonly unknown[], statement: unknown): boolean {
  return list.some((one) => isSame(one, statement));
}

function statementsOf(policy: string | null): readonly unknown[] {
  return policy === null ? [] : [field(parseJSON(policy), "Statement") ?? []].flat();
}

/** Without variables, which an old version lacks, the same statement can deny less. */
function hasOtherVersion(before: string | null, after: string | null): boolean {
  if (before === null || after === null) return false;
  return field(parseJSON(before), "Version") !== field(parseJSON(after), "Version");
}

function isDenial(statement: unknown): boolean {
  return field(statement, "Effect") === "Deny";
}

/** How a change moves the limit of sessions: `wider` if they may do more in any way. Null if nothing changes. */
export function limitChange(
  before: SessionLimits, after: SessionLimits, byDefault: ScopeName,
): "wider" | "narrower" | null {
  if (widenings(before, after, byDefault).length > 0) return "wider";
  return widenings(after, before, byDefault).length > 0 ? "narrower" : null;
}
