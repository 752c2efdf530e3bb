import type { ActionDecision, Decision } from "./assume-role.ts";
import type { Request } from "./assume-role-call.ts";
import { chainingFault } from "./call-limits.ts";
import { TRUST_CODES, type TrustCode } from "./trust-code.ts";
import { demandsExternalID, explanationOf, missingText } from "./verdict-text.ts";

/** What is wrong with a role, or with the calls that assume it. */
export interface TrustProblem {
  readonly code: TrustCode;
  /** A clause that starts in lower case and has no full stop, as in a check. */
  readonly message: string;
  /** Null for the fix of the check. */
  readonly fix: string | null;
  /** Whether the role can be assumed all the same, so that it is only a warning. */
  readonly isHarmless?: true;
}

/** Returns why a decision is not a yes: a problem for each action that is denied, or one for what is missing. */
export function problemsOf(decision: Decision, request: Request): readonly TrustProblem[] {
  const { verdict, actions, missing } = decision;
  if (verdict === "yes") return [];
  if (verdict === "unknown") return [unknownProblem(missing)];
  return actions.filter((one) => one.verdict === "no").map((one) => {
    const code = codeOf(one, request);
    const { problem, fix } = explanationOf(one, request);
    const namesAction = one.action === "sts:AssumeRole" || problem.includes(one.action);
    const message = namesAction ? problem : `${one.action}: ${problem}`;
    return { code, message, fix: code === TRUST_CODES.deleted ? null : fix };
  });
}

export function unknownProblem(missing: readonly string[]): TrustProblem {
  return { code: TRUST_CODES.unknown, message: missingText(missing), fix: null };
}

/** Returns the code of an action that is denied. */
function codeOf({ action, reason }: ActionDecision, request: Request): TrustCode {
  if (reason.kind === "rejected") {
    return reason.text === chainingFault(request) ? TRUST_CODES.duration : TRUST_CODES.notAssumable;
  }
  if (action === "sts:TagSession") return TRUST_CODES.sessionTags;
  if (reason.kind === "condition" && demandsExternalID(reason.conditions)) return TRUST_CODES.externalID;
  return reason.kind === "not trusted" && reason.hint === "deleted" ? TRUST_CODES.deleted : TRUST_CODES.notAssumable;
}
