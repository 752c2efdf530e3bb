import { listOf, quote } from "../formats/text.ts";
import { type Action, isInIAM, type Request } from "./assume-role-call.ts";
import type { Condition } from "./condition.ts";
import { formatSeconds } from "./date-value.ts";
import type { Possibilities } from "./policy-variables.ts";
import { keysOf } from "./request-keys.ts";

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
export function fixOfCondition(condition: Condition, request: Request, action: Action): string {
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
