import { listOf } from "../formats/text.ts";
import type { ActionDecision, Decision } from "./assume-role.ts";
import type { Request } from "./assume-role-call.ts";
import { isSameAccount } from "./assume-role.ts";
import { nameOfSide, type Side } from "./side-evaluation.ts";
import type { Answer } from "./three-values.ts";
import type { TrustHint } from "./trust-hint.ts";

/** A decision in the format of `-o json`. Contains no values of policies, and no tags. */
export interface DecisionJSON {
  readonly verdict: Answer;
  readonly actions: readonly ActionJSON[];
  readonly missing: readonly string[];
}

interface ActionJSON {
  readonly action: string;
  readonly verdict: Answer;
  readonly statements: readonly StatementJSON[];
  readonly reason: string;
}

interface StatementJSON {
  readonly side: Side;
  readonly policy: string;
  /** The Sid, or the 1-based position of a statement without one. */
  readonly statement: string | number;
  readonly effect: "Allow" | "Deny";
}

export function decisionJSON({ verdict, actions, missing }: Decision, request: Request): DecisionJSON {
  return {
    verdict,
    actions: actions.map((decision) => ({
      action: decision.action, verdict: decision.verdict,
      statements: decision.statements.map(({ source, statement }) => ({
        side: source.side, policy: source.name, statement: statement.sid ?? statement.index, effect: statement.effect,
      })),
      reason: reasonText(decision, request),
    })),
    missing,
  };
}

/** Why an action has its verdict, and what makes it allowed. Null if the reason says it, or if it is allowed. */
interface Explanation {
  readonly problem: string;
  readonly fix: string | null;
}

/** Returns why an action has its verdict, and the fix if it is not allowed. */
function reasonText(decision: ActionDecision, request: Request): string {
  const { problem, fix } = explanationOf(decision, request);
  return fix === null ? problem : `${problem}; ${fix}`;
}

export function explanationOf({ action, reason, missing }: ActionDecision, request: Request): Explanation {
  if (reason.kind === "rejected") return { problem: reason.text, fix: reason.fix };
  if (reason.kind === "not trusted") return notTrusted(action, reason.hint, request);
  if (reason.kind === "denied") {
    const problem = `denied by a statement of the ${nameOfSide(reason.side)}`;
    return { problem, fix: "remove or narrow this statement" };
  }
  if (reason.kind === "condition") {
    const problem = `the trust policy names the caller, but its conditions on ${listOf(reason.keys)} do not allow the `
      + "call";
    return { problem, fix: conditionFix(reason.keys, request) };
  }
  if (reason.kind === "not allowed") {
    const sides = listOf(reason.sides.map((side) => `${nameOfSide(side)} of the caller`));
    return { problem: `no ${sides} allows the call`, fix: `allow ${action} on the role there` };
  }
  if (reason.kind === "missing") return { problem: missingText(missing), fix: null };
  return { problem: "allowed, unless an SCP, RCP or VPC endpoint policy denies it", fix: null };
}

export function missingText(missing: readonly string[]): string {
  return `depends on what the input does not contain: ${listOf(missing)}`;
}

function conditionFix(keys: readonly string[], { call }: Request): string {
  if (demandsExternalID(keys) && call.externalID === null) {
    return "the call sends no external ID; ACK can send one only with the sidecar and the annotation external-id";
  }
  return "send the values that they demand, or change the conditions";
}

/** Whether the external ID is one of the keys of conditions that do not allow a call. */
export function demandsExternalID(keys: readonly string[]): boolean {
  return keys.some((key) => key.toLowerCase() === "sts:externalid");
}

const HINTS: Readonly<Record<TrustHint, string>> = {
  action: "but it names the caller in a statement with other actions",
  self: "and since 2022, a role that assumes itself must be named too",
  path: "but it names a principal of the same name in another path",
  deleted: "but it contains the unique ID of a role or user that has been deleted, also if it was created again",
  wildcard: "but it contains an ARN with a wildcard or of another form, which names nobody",
};

function notTrusted(action: string, hint: TrustHint | null, request: Request): Explanation {
  const problem = `no statement of the trust policy allows the caller ${action}`;
  return { problem: `${problem}${hint === null ? "" : `, ${HINTS[hint]}`}`, fix: fixOf(action, request) };
}

/** AWS does not document whether sts:TagSession has the key sts:ExternalId, so it needs a statement of its own. */
function fixOf(action: string, request: Request): string {
  const isTagging = action === "sts:TagSession";
  const tags = isTagging ? " without a condition on sts:ExternalId, because the session has tags" : "";
  const both = isSameAccount(request) ? "" : "; the identity policy of the caller must allow it too";
  return `add a statement that allows the ARN of the caller ${action}${tags}${both}`;
}
