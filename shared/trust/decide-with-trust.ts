import { type AssumeRoleCall, NOTHING_SENT } from "./assume-role-call.ts";
import { decideAssumeRole } from "./assume-role.ts";
import type { IAMData } from "./iam-data.ts";
import { parsePolicy } from "./policy-document.ts";
import type { Answer } from "./three-values.ts";
import { findCaller, parseTarget } from "./trust-question.ts";

/** The exports, and the time at which conditions are evaluated. */
export interface Existing {
  readonly data: IAMData;
  readonly nowSeconds: number;
}

/** A call of a role that is supposed to have a trust policy. */
export interface SupposedCall {
  readonly role: string;
  /** As a JSON value. */
  readonly trustPolicy: unknown;
  readonly sent?: Partial<AssumeRoleCall>;
  /** The keys of the tags that the session of the caller passes on. */
  readonly addedTagKeys?: readonly string[];
}

/** Whether a caller could assume a role that had another trust policy: whether the caller's own policies allow it. */
export function decideWithTrust(name: string, call: SupposedCall, { data, nowSeconds }: Existing): Answer {
  const { role, trustPolicy, sent = {}, addedTagKeys = [] } = call;
  const { caller, policies, fault } = findCaller(name, data);
  if (fault !== null) return "no";
  const transitiveTags = new Map(addedTagKeys.map((key) => [key, "x"]));
  const request = {
    call: { ...NOTHING_SENT, ...sent, role: parseTarget(role) }, nowSeconds,
    caller: caller.kind === "session" ? { ...caller, transitiveTags } : caller,
    roleTags: data.role(role)?.tags ?? null,
  };
  const trust = { side: "trust", name: role, parsed: parsePolicy(trustPolicy, "trust") } as const;
  return decideAssumeRole(request, { ...policies, trust }).verdict;
}
