import { listOf, quote } from "../formats/text.ts";
import type { ActionDecision, Decision, Reason } from "./assume-role.ts";
import { type Action, isInIAM, type Request } from "./assume-role-call.ts";
import type { Condition } from "./condition.ts";
import { issuerOf } from "./open-callers.ts";
import { nameOfSide, type Side } from "./side-evaluation.ts";
import type { Answer } from "./three-values.ts";
import type { TrustHint } from "./trust-hint.ts";
import { formatSeconds } from "./date-value.ts";
import type { Possibilities } from "./policy-variables.ts";
import { keysOf } from "./request-keys.ts";

/** A decision in the format of `-o json`. Contains no tags, and no values of policies that callers choose. */
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
  if (reason.kind === "not trusted") return notTrusted(action, reason, request);
  if (reason.kind === "denied") {
    const problem = `denied by a statement of the ${nameOfSide(reason.side)}`;
    return { problem, fix: "remove or narrow this statement" };
  }
  if (reason.kind === "condition") return notFulfilled(action, reason, request);
  if (reason.kind === "not allowed") {
    return { problem: `no ${sidesText(reason.sides)} allows the call`, fix: `allow ${action} on the role there` };
  }
  if (reason.kind === "missing") return { problem: missingText(missing), fix: null };
  const { chosenKeys = [] } = request;
  const who = chosenKeys.length === 0 ? "" : ` to a call whose ${listOf(chosenKeys)} is as the conditions demand`;
  return { problem: `allowed${who}, unless an SCP, RCP or VPC endpoint policy denies it`, fix: null };
}

export function missingText(missing: readonly string[]): string {
  return `depends on what the input does not contain: ${listOf(missing)}`;
}

type ReasonOf<Kind extends Reason["kind"]> = Extract<Reason, { readonly kind: Kind }>;

/** Names every condition and side that does not allow the call, because only all fixes together do. */
function notFulfilled(action: Action, { conditions, sides }: ReasonOf<"condition">, request: Request): Explanation {
  const keys = listOf([...new Set(conditions.map(({ key }) => key))]);
  const other = sides.length === 0 ? "" : `, and no ${sidesText(sides)} does`;
  const fixes = [
    ...conditions.map((condition) => fixOfCondition(condition, request, action)),
    ...(sides.length === 0 ? [] : [`allow ${action} on the role in the ${sidesText(sides)}`]),
  ];
  const problem = `the trust policy names the caller, but its conditions on ${keys} do not allow the call${other}`;
  return { problem, fix: fixes.join("; ") };
}

function sidesText(sides: readonly Side[]): string {
  return listOf(sides.map((side) => `${nameOfSide(side)} of the caller`));
}

/** Whether a condition on the external ID is one of those that do not allow a call. */
export function demandsExternalID(conditions: readonly Condition[]): boolean {
  return conditions.some(({ key }) => key.toLowerCase() === "sts:externalid");
}

const HINTS: Readonly<Record<TrustHint, string>> = {
  action: "but it names the caller in a statement with other actions",
  self: "and since 2022, a role that assumes itself must be named too",
  path: "but it names a principal of the same name in another path",
  deleted: "but it contains the unique ID of a role or user that has been deleted, also if it was created again",
  wildcard: "but it contains an ARN with a wildcard or of another form, which names nobody",
};

function notTrusted(action: Action, { hint, sides }: ReasonOf<"not trusted">, request: Request): Explanation {
  const problem = `no statement of the trust policy allows the caller ${action}`;
  const names = sides.length === 0 ? "" : `; the ${sidesText(sides)} must allow it too`;
  const fix = `${statementFor(action, request)}${names}`;
  return { problem: `${problem}${hint === null ? "" : `, ${HINTS[hint]}`}`, fix };
}

/** AWS does not document whether sts:TagSession has the key sts:ExternalId, so it needs a statement of its own. */
function statementFor(action: Action, { caller }: Request): string {
  const isTagging = action === "sts:TagSession";
  if (caller.kind === "service") {
    const tags = isTagging ? ", because it sends session tags, or set disableSessionTags of the association" : "";
    return `add a statement that allows the principal {"Service": ${quote(caller.name)}} ${action}${tags}`;
  }
  if (caller.kind === "token") {
    const { provider, subject } = caller;
    const condition = subject === null ? "" : `, on condition that ${issuerOf(provider)}:sub is ${subject}`;
    return `add a statement that allows the principal {"Federated": ${quote(provider)}} ${action}${condition}`;
  }
  const tags = isTagging ? " without a condition on sts:ExternalId, because the session has tags" : "";
  return `add a statement that allows the ARN of the caller ${action}${tags}`;
}

type Fix = (condition: Condition, request: Request, action: Action) => string;

type Row = readonly [key: RegExp, fix: Fix];

const TIME: Row = [/^aws:(currenttime|epochtime)$/, ({ operatorText, key }, { nowSeconds }) => (
  `the time is ${formatSeconds(nowSeconds)}; change the date in ${operatorText} ${key}, or remove it`
)];
const RESOURCE_TAG: Row = [/^(aws|iam):resourcetag\/./, ({ key }) => (
  `set the tag ${quote(tagOf(key))} that it demands on the role in IAM, or change the condition`
)];

/** The keys whose values somebody can choose, and who chooses them, for a call by a role or a user. */
const OF_CALLERS: readonly Row[] = [
  TIME, RESOURCE_TAG, [/^sts:externalid$/, fixOfExternalID],
  [/^sts:rolesessionname$/, () => "the call has another session name; set the one that it demands with the annotation "
    + "session-name and the sidecar, or change the condition"],
  [/^sts:sourceidentity$/, (_, { call }) => (
    `the call sends ${call.sourceIdentity === null ? "no" : "another"} source identity; set the one that it demands `
    + "with the annotation source-identity and the sidecar, or change the condition"
  )],
  [/^(aws:requesttag\/.|aws:tagkeys$|sts:transitivetagkeys$)/, ({ key }) => (
    `set the session tags that ${key} demands with the annotation session-tags and the sidecar, or change the condition`
  )],
  [/^aws:principaltag\/./, ({ key }) => (
    `set the tag ${quote(tagOf(key))} that it demands on the caller in IAM, or change the condition`
  )],
];

/** A service sends what AWS has programmed, and a token has what Kubernetes writes into it. */
const OF_OTHERS: readonly Row[] = [TIME, RESOURCE_TAG];

/** Returns what to do about a condition of a trust policy that is not true. Quotes no value that callers choose. */
function fixOfCondition(condition: Condition, request: Request, action: Action): string {
  const key = condition.key.toLowerCase();
  const rows = isInIAM(request.caller) ? OF_CALLERS : OF_OTHERS;
  const [, fix = fixOfFact] = rows.find(([form]) => form.test(key)) ?? [];
  return fix(condition, request, action);
}

function tagOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

function fixOfExternalID(_: Condition, { call }: Request): string {
  if (call.externalID === null) {
    return "the call sends no external ID; ACK can send one only with the sidecar and the annotation external-id";
  }
  return "the call sends another external ID; correct the annotation external-id of the selector, or externalID of the "
    + "identity, or change the condition";
}

/** A key that no caller chooses, so that only the condition can change. */
function fixOfFact(condition: Condition, request: Request, action: Action): string {
  const { operator, operatorText, key, values } = condition;
  const name = `${operatorText} ${key}`;
  const states = keysOf(request, action)(key.toLowerCase());
  if (operator?.comparison === "null") return `AWS sets ${key} or leaves it out; remove the condition ${name}`;
  if (states.every((state) => state === null)) return `no such call has ${key}; remove the condition ${name}`;
  const demanded = `${name} demands ${listOf(values.slice(0, 3).map(quote))}`;
  const texts = knownTexts(states, operator?.set === "all");
  if (texts === null) return `${demanded}, and the caller cannot choose this key; change the values`;
  const known = listOf(texts.map(quote));
  return `${demanded}, and the call has ${known}, which the caller cannot choose; ${changeOf(condition, texts.length)}`;
}

/** Returns the values that the condition must allow: the first one, or all. Returns null if they are not known. */
function knownTexts(states: Possibilities, isAll: boolean): readonly string[] | null {
  const values = states.flat().filter((value) => value !== null).slice(0, isAll ? undefined : 1);
  const isKnown = states.length === 1 && values.length > 0 && values.every(({ isPrefix }) => !isPrefix);
  return isKnown ? values.map(({ text }) => text) : null;
}

function changeOf({ operator, operatorText, values }: Condition, count: number): string {
  if (typeof operator?.comparison === "function") return "change the condition";
  if (operator?.isNegated === true) return "remove what matches it from the values";
  const isLiteral = operator?.comparison === "text" && values.some((one) => /[*?]/.test(one));
  const reason = isLiteral ? `, because ${operatorText} reads * and ? as text` : "";
  return `add ${count === 1 ? "it" : "them"} to the values${reason}`;
}
