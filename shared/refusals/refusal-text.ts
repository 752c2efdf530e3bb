import { printable } from "../formats/text.ts";
import { causeOf } from "./refusal-causes.ts";
import {
  type Cause, denialIn, principalOf, type RefusedAssumeRole, type RefusedCall, type STSAnswer,
} from "./refused-call.ts";
import { ACCOUNT_ID, accountOfARN } from "../formats/arn.ts";
import { MAX_CHAINED_SECONDS } from "../core/session.ts";

/** The default length of an explanation without the answer of STS. Tags can make a command longer. */
const MAX_BYTES = 2_048;

/**
 * Returns the likely cause of a refusal, the fix and a command that shows the cause, and then the answer of STS. All
 * but the answer has at most `maxBytes`; it lacks the ARNs or the command if it is longer with them.
 */
export function refusalText(answer: STSAnswer, call: RefusedCall, maxBytes = MAX_BYTES): string {
  const text = [...explanations(answer, call)].find((one) => new TextEncoder().encode(one).length <= maxBytes);
  return `${text ?? ""} ${answer.message}`.trimStart();
}

function* explanations(answer: STSAnswer, call: RefusedCall): Iterable<string> {
  const long = headOf(answer, call, true);
  const short = headOf(answer, call, false);
  const commands = [...trustCommands(causeOf(answer, call, "").shownBy, call, answer)];
  const [best] = commands;
  if (best !== undefined) yield `${long} Show it: \`${best}\`.`;
  else yield long;
  for (const command of commands) yield `${short} Show it: \`${command}\`.`;
  yield short;
}

function headOf(answer: STSAnswer, call: RefusedCall, hasARNs: boolean): string {
  const caller = call.action === "AssumeRole" ? call.caller : null;
  const { cause, fix } = causeOf(answer, call, hasARNs && caller !== null ? principalOf(caller) : "the caller");
  const denial = denialIn(answer);
  const what = call.action === "AssumeRole" ? denial?.action ?? "sts:AssumeRole" : `sts:${call.action}`;
  const verb = denial === null ? "rejected" : "denied";
  const role = hasARNs ? ` on ${printable(call.roleARN)} for ${nameOf(call)}` : "";
  return `STS ${verb} ${what}${role}: ${cause}. ${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}

function nameOf(call: RefusedCall): string {
  if (call.action !== "AssumeRole") return call.subject;
  return call.caller ?? call.owner.caller;
}

/**
 * Yields commands that show the cause of a refusal, the best one first. A command names the export of each account
 * `ACCOUNT.json`, and has words in capitals in place of an external ID and the values of tags.
 */
function* trustCommands(shownBy: Cause["shownBy"], call: RefusedCall, answer: STSAnswer): Iterable<string> {
  if (shownBy === "trust who") {
    yield [`${PROGRAM} trust who`, word(call.roleARN), ...iamFlags(call.roleARN)].join(" ");
  }
  if (shownBy !== "trust check" || call.action !== "AssumeRole") return;
  const hasPodTags = call.hasPodTags || inheritsTags(call, answer);
  const credentials = hasPodTags ? ["--caller-credentials pod-identity"] : [];
  if (!call.hasIdentityTags && call.sent.tagKeys.every(isFlagText)) {
    yield [`${PROGRAM} trust check`, ...checkFlags(call, credentials, answer)].join(" ");
  }
  const caller = call.base ?? "ARN";
  const files = iamFlags(call.roleARN, caller);
  yield [`${PROGRAM} trust --cluster`, ...files, flag("--caller", caller), "--via sidecar", ...credentials].join(" ");
}

const PROGRAM = "ack-role-resolver";

/** Whether the denial shows that the session of the caller has tags, because the call sends none. */
function inheritsTags({ sent, hasIdentityTags }: RefusedAssumeRole, answer: STSAnswer): boolean {
  return denialIn(answer)?.action === "sts:TagSession" && sent.tagKeys.length === 0 && !hasIdentityTags;
}

function checkFlags(
  { roleARN, caller, sent }: RefusedAssumeRole, credentials: readonly string[], answer: STSAnswer,
): readonly string[] {
  const { sessionName, durationSeconds, sourceIdentity, hasExternalID, tagKeys } = sent;
  const inherited = denialIn(answer)?.action === "sts:SetSourceIdentity" ? "SOURCE_IDENTITY" : null;
  const source = sourceIdentity ?? inherited;
  return [
    ...iamFlags(roleARN, caller ?? ""), flag("--caller", caller ?? "ARN"), ...credentials, flag("--role", roleARN),
    ...(hasExternalID ? ["--external-id EXTERNAL_ID"] : []),
    ...(source === null ? [] : [flag("--source-identity", source)]),
    ...tagKeys.map((key) => flag("--tag", `${key}=VALUE`)),
    flag("--session-name", sessionName),
    ...(durationSeconds > MAX_CHAINED_SECONDS ? [`--duration ${durationSeconds}`] : []),
  ];
}

/** Whether `--tag KEY=VALUE` can state the key, and every shell and terminal leaves it as it is. */
function isFlagText(key: string): boolean {
  return /^[ -<>-~]+$/.test(key);
}

/** Returns a flag for the export of each account. */
function iamFlags(...arns: readonly string[]): readonly string[] {
  const accounts = new Set(arns.map((arn) => accountOfARN(arn) ?? "").filter((account) => ACCOUNT_ID.test(account)));
  return Array.from(accounts, (account) => `--iam ${account}.json`);
}

function flag(name: string, value: string): string {
  return `${name}${value.startsWith("-") ? "=" : " "}${word(value)}`;
}

/** Returns a word of a POSIX shell. The path of a role can contain every printable character of ASCII. */
function word(text: string): string {
  return /^[\w+=,.@:/-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;
}
