import { ACCOUNT_ID, accountOfARN } from "../formats/arn.ts";
import { printable } from "../formats/text.ts";
import { MAX_CHAINED_SECONDS } from "../core/session.ts";
import { type Cause, denialIn, type RefusedAssumeRole, type RefusedCall, type STSAnswer } from "./refused-call.ts";

/**
 * Yields commands that show the cause of a refusal, the best one first. A command names the export of each account
 * `ACCOUNT.json`, and has words in capitals in place of an external ID and the values of tags.
 */
export function* trustCommands(shownBy: Cause["shownBy"], call: RefusedCall, answer: STSAnswer): Iterable<string> {
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
