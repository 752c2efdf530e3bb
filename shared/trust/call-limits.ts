import {
  DURATION_LIMITS, EXTERNAL_ID_LIMITS, MAX_CHAINED_SECONDS, MAX_TAGS, RESERVED_PREFIX, SESSION_NAME_LIMITS,
  TAG_KEY_LIMITS, TAG_VALUE_LIMITS, type TextLimits,
} from "../core/session.ts";
import { type AssumeRoleCall, type Caller, isInIAM, type Request } from "./assume-role-call.ts";
import { type Match, NO, unknown, YES } from "./three-values.ts";

/** Whether STS accepts a call before it reads policies. `reason` states why it does not. */
export interface Acceptance {
  readonly match: Match;
  readonly reason: string;
}

const ACCEPTED: Acceptance = { match: YES, reason: "" };

/**
 * Whether STS accepts the parameters of a call from this caller. `maxSessionSeconds` is the maximum duration of the
 * role, which exports do not contain; null if it is not known.
 */
export function acceptanceOf({ call, caller }: Request, maxSessionSeconds: number | null): Acceptance {
  const fault = faultOf(call, caller);
  if (fault !== null) return { match: NO, reason: fault };
  return overDuration(call, caller, maxSessionSeconds) ?? unclearTags(call) ?? ACCEPTED;
}

function faultOf(call: AssumeRoleCall, caller: Caller): string | null {
  return partitionFault(call, caller) ?? outside("session name", call.sessionName, SESSION_NAME_LIMITS)
    ?? outside("external ID", call.externalID, EXTERNAL_ID_LIMITS)
    ?? sourceIdentityFault(call, caller) ?? tagFault(call, caller) ?? durationFault(call.durationSeconds);
}

function partitionFault({ role: { partition } }: AssumeRoleCall, caller: Caller): string | null {
  if (!isInIAM(caller) || caller.partition === partition) return null;
  return `the caller is in the partition ${caller.partition}, and the role in ${partition}; `
    + "a role can be assumed only inside its partition";
}

function outside(name: string, text: string | null, { min, max, pattern, characters }: TextLimits): string | null {
  if (text === null || (text.length >= min && text.length <= max && pattern.test(text))) return null;
  return `the ${name} is not ${min} to ${max} characters of ${characters}`;
}

function sourceIdentityFault({ sourceIdentity }: AssumeRoleCall, caller: Caller): string | null {
  const inherited = caller.kind === "session" ? caller.sourceIdentity : null;
  if (sourceIdentity !== null && inherited !== null && inherited !== sourceIdentity) {
    return "the caller has another source identity, which cannot be changed";
  }
  return outside("source identity", sourceIdentity, SESSION_NAME_LIMITS);
}

function tagFault({ tags, transitiveTagKeys }: AssumeRoleCall, caller: Caller): string | null {
  const count = Math.max(tags.size, transitiveTagKeys.length);
  if (count > MAX_TAGS) return `the call has ${count} session tags, more than ${MAX_TAGS}`;
  const keys = lowercase(tags.keys());
  if (keys.size < tags.size) return "two session tags have the same key, apart from case";
  const inherited = caller.kind === "session" ? caller.transitiveTags.keys() : [];
  if ([...lowercase(inherited)].some((key) => keys.has(key))) {
    return "the call has a session tag that the caller's session passes on, which cannot be changed";
  }
  return tagTextFault(tags) ?? transitiveTagKeys
    .map((key) => outside("key of a transitive tag", key, TAG_KEY_LIMITS)).find((fault) => fault !== null) ?? null;
}

function tagTextFault(tags: AssumeRoleCall["tags"]): string | null {
  for (const [key, value] of tags) {
    if (RESERVED_PREFIX.test(key)) return "the key of a session tag starts with aws:, which is reserved";
    const fault = outside("key of a session tag", key, TAG_KEY_LIMITS)
      ?? outside("value of a session tag", value, TAG_VALUE_LIMITS);
    if (fault !== null) return fault;
  }
  return null;
}

function durationFault(seconds: number | null): string | null {
  const { min, max } = DURATION_LIMITS;
  if (seconds === null || (Number.isInteger(seconds) && seconds >= min && seconds <= max)) return null;
  return `the duration of ${seconds} seconds is not ${min} to ${max}`;
}

/** Returns why a session may not request the duration; null if it may, or for a user. */
export function chainingFault({ call: { durationSeconds }, caller }: Pick<Request, "call" | "caller">): string | null {
  const seconds = durationSeconds ?? 0;
  if (caller.kind !== "session" || seconds <= MAX_CHAINED_SECONDS) return null;
  return `the duration of ${seconds} seconds exceeds the ${MAX_CHAINED_SECONDS} seconds of role chaining; `
    + `request at most ${MAX_CHAINED_SECONDS} seconds`;
}

function overDuration(call: AssumeRoleCall, caller: Caller, maxSessionSeconds: number | null): Acceptance | null {
  const { durationSeconds, role } = call;
  const seconds = durationSeconds ?? 0;
  if (seconds <= MAX_CHAINED_SECONDS) return null;
  const fault = chainingFault({ call, caller });
  if (fault !== null) return { match: NO, reason: fault };
  if (maxSessionSeconds === null) {
    const missing = `MaxSessionDuration of ${role.arn}`;
    return { match: unknown(missing), reason: "the maximum session duration of the role is not known" };
  }
  if (seconds <= maxSessionSeconds) return null;
  const reason = `the duration of ${seconds} seconds exceeds the MaxSessionDuration of ${maxSessionSeconds} seconds`;
  return { match: NO, reason };
}

/** AWS does not document what STS does with a transitive key that has no tag. */
function unclearTags({ tags, transitiveTagKeys }: AssumeRoleCall): Acceptance | null {
  const keys = lowercase(tags.keys());
  if (transitiveTagKeys.every((key) => keys.has(key.toLowerCase()))) return null;
  const match = unknown("whether STS accepts a transitive tag key without its tag");
  return { match, reason: "a transitive tag key has no session tag" };
}

function lowercase(keys: Iterable<string>): ReadonlySet<string> {
  return new Set(Array.from(keys, (key) => key.toLowerCase()));
}
