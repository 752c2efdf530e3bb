import { describeIdentity } from "../core/capa-kinds.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { isJsonObject, parseJSON } from "../formats/json.ts";
import { countOf, quote } from "../formats/text.ts";
import {
  DURATION_LIMITS, EXTERNAL_ID_LIMITS, MAX_CHAINED_SECONDS, MAX_POLICY_ARNS, MAX_POLICY_LENGTH, MAX_TAGS,
  POLICY_PATTERN, RESERVED_PREFIX, SESSION_NAME_LIMITS, TAG_KEY_LIMITS, TAG_VALUE_LIMITS,
} from "../core/session.ts";
import { textFaults } from "../core/session-annotations.ts";
import type { RoleFields, RoleIdentity, ServiceAccountIdentity } from "./identity.ts";
import { subdomainFaults } from "../formats/names.ts";

/** Denies an identity for which STS would reject AssumeRole, or whose restrictions would be lost. */
interface RoleSessionDenial {
  readonly code: "ERR_IDENTITY_SESSION";
  readonly message: string;
}

/**
 * Returns the denial of a role identity whose fields are not valid parameters of AssumeRole, or null. The
 * message omits the external ID, the tags and the policy, because they can be confidential.
 */
export function roleSessionDenial(role: RoleIdentity): RoleSessionDenial | null {
  const faults = sessionFaults(role);
  if (faults.length === 0) return null;
  const message = `${describeIdentity(role)} does not have valid parameters for AssumeRole: ${faults.join("; ")}. `
    + "Correct the fields of the identity.";
  return { code: "ERR_IDENTITY_SESSION", message };
}

/** A fault for which STS would reject a session. */
export interface SessionFault {
  /** The name of the field in `spec`. */
  readonly field: string;
  /** A clause that names the field, without confidential values. */
  readonly message: string;
}

type SessionFields = RoleFields & Partial<Pick<RoleIdentity, "externalID">>;

function sessionFaults(fields: SessionFields): string[] {
  if (fields.excess !== undefined) return [fields.excess];
  const values = [...policyFaults(fields), ...tagFaults(fields)].map(({ message }) => message);
  return [
    ...fields.mistyped.map((name) => `${name} has a wrong type`),
    ...arnFaults(fields), ...nameFaults(fields), ...durationFaults(fields), ...values,
  ];
}

/** Denies a chained session that is longer than one hour. Returns null for a shorter session. */
export function chainedDurationDenial(role: RoleIdentity): RoleSessionDenial | null {
  const { durationSeconds } = role;
  if (durationSeconds === null || durationSeconds <= MAX_CHAINED_SECONDS) return null;
  const message = `durationSeconds of ${describeIdentity(role)} is ${durationSeconds}, but its role is assumed with `
    + `the credentials of a session, for which STS allows at most ${MAX_CHAINED_SECONDS} seconds (role chaining). Set `
    + `durationSeconds to at most ${MAX_CHAINED_SECONDS}, or remove it.`;
  return { code: "ERR_IDENTITY_SESSION", message };
}

function arnFaults({ roleARN, mistyped }: RoleFields): string[] {
  if (roleARN === null) return mistyped.includes("roleARN") ? [] : ["roleARN is missing"];
  return parseRoleARN(roleARN) === null ? [`roleARN ${quote(roleARN)} is not the ARN of an IAM role`] : [];
}

function nameFaults({ sessionName, externalID = null }: SessionFields): string[] {
  const faults: string[] = [];
  if (sessionName !== null) {
    const found = textFaults(sessionName, SESSION_NAME_LIMITS);
    faults.push(...found.map((fault) => `sessionName ${quote(sessionName)} ${fault}`));
  }
  if (externalID !== null) {
    faults.push(...textFaults(externalID, EXTERNAL_ID_LIMITS).map((fault) => `externalID ${fault}`));
  }
  return faults;
}

function durationFaults({ durationSeconds }: RoleFields): string[] {
  const { min, max } = DURATION_LIMITS;
  if (durationSeconds === null || (durationSeconds >= min && durationSeconds <= max)) return [];
  return [`durationSeconds ${durationSeconds} is not ${min} to ${max}`];
}

/** Returns the faults of the session policies. */
export function policyFaults({ inlinePolicy, policyARNs }: RoleFields): SessionFault[] {
  const length = [inlinePolicy ?? "", ...policyARNs].reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_POLICY_LENGTH) {
    const message = `inlinePolicy and policyARNs have ${countOf(length, "character")}, more than ${MAX_POLICY_LENGTH}`;
    return [{ field: inlinePolicy === null ? "policyARNs" : "inlinePolicy", message }, ...arnListFaults(policyARNs)];
  }
  const inline = inlineFaults(inlinePolicy ?? "{}").map((fault) => (
    { field: "inlinePolicy", message: `inlinePolicy ${fault}` }
  ));
  return [...inline, ...arnListFaults(policyARNs)];
}

function inlineFaults(policy: string): string[] {
  if (!isJsonObject(parseJSON(policy))) return ["is not a JSON object"];
  return POLICY_PATTERN.test(policy) ? [] : ["contains characters other than tab, line breaks and U+0020 to U+00FF"];
}

function arnListFaults(arns: readonly string[]): SessionFault[] {
  const invalid = arns.find((arn) => !POLICY_ARN.test(arn));
  const messages = [
    ...(arns.length > MAX_POLICY_ARNS ? [`policyARNs has ${arns.length} ARNs, more than ${MAX_POLICY_ARNS}`] : []),
    ...(invalid === undefined
      ? []
      : [`policyARNs contains ${quote(invalid)}, which is not the ARN of an IAM policy`]),
  ];
  return messages.map((message) => ({ field: "policyARNs", message }));
}

/** Matches the ARN of a managed policy. The account is empty or `aws` in the ARN of a policy that AWS manages. */
const POLICY_ARN = /^arn:aws(?:-[a-z0-9]+)*:iam::(?:[0-9]{12}|aws)?:policy\/[!-~]{1,1024}$/;

/** Returns the faults of the session tags. */
export function tagFaults({ tags, transitiveTags }: RoleFields): SessionFault[] {
  const [own, transitive] = ["tags", "transitiveTags"] as const;
  if (tags.length > MAX_TAGS) return [{ field: own, message: `tags has ${tags.length} tags, more than ${MAX_TAGS}` }];
  const messages = tags.flatMap(({ key, value }) => [
    ...textFaults(key, TAG_KEY_LIMITS).map((fault) => `a key in tags ${fault}`),
    ...(RESERVED_PREFIX.test(key) ? ["a key in tags starts with aws:, which is reserved for AWS"] : []),
    ...textFaults(value, TAG_VALUE_LIMITS).map((fault) => `a value in tags ${fault}`),
  ]);
  const keys = new Set(tags.map(({ key }) => key.toLowerCase()));
  if (keys.size < tags.length) messages.push("two keys in tags differ only in case");
  const faults: SessionFault[] = [...new Set(messages)].map((message) => ({ field: own, message }));
  if (transitiveTags.every((key) => keys.has(key.toLowerCase()))) return faults;
  return [...faults, { field: transitive, message: "transitiveTags contains a key that tags does not contain" }];
}

/** Denies an AWSServiceAccountIdentity for which no token may be requested, or whose session STS would reject. */
interface ServiceAccountDenial {
  readonly code: "ERR_IDENTITY_AUDIENCE" | "ERR_IDENTITY_SESSION";
  readonly message: string;
}

/** The API server accepts these lifetimes of a token: k8s.io/kubernetes pkg/apis/authentication/validation. */
export const EXPIRATION_LIMITS = { min: 600, max: 2 ** 32 } as const;
export const MAX_AUDIENCES = 10;

/** Returns the denial of the identity, or null. A token of another audience can be a credential of another service. */
export function serviceAccountDenial(
  identity: ServiceAccountIdentity, allowedAudiences: readonly string[],
): ServiceAccountDenial | null {
  const other = identity.audiences.find((audience) => !allowedAudiences.includes(audience));
  if (other !== undefined) return audienceDenial(identity, other);
  const faults = [
    ...tokenNameFaults(identity), ...sessionFaults(identity), ...tokenFaults(identity).map(({ message }) => message),
  ];
  if (faults.length === 0) return null;
  const message = `${describeIdentity(identity)} does not have valid parameters for AssumeRoleWithWebIdentity: `
    + `${faults.join("; ")}. Correct the fields of the identity.`;
  return { code: "ERR_IDENTITY_SESSION", message };
}

function audienceDenial(identity: ServiceAccountIdentity, audience: string): ServiceAccountDenial {
  const message = `The audience ${quote(audience)} of ${describeIdentity(identity)} is not in --allowed-audiences. `
    + "Remove it from spec.audiences. Allow an audience only if no other service, such as the API server, accepts "
    + "tokens with it.";
  return { code: "ERR_IDENTITY_AUDIENCE", message };
}

/** The name is also the name of the ServiceAccount, which is part of the path of a request. */
function tokenNameFaults({ name }: ServiceAccountIdentity): string[] {
  return subdomainFaults(name).length === 0 ? [] : [`${quote(name)} is not the name of a ServiceAccount`];
}

/** Returns the faults of the token, and of tags, which would have to be a part of it: the API server writes no tags. */
export function tokenFaults(
  { tags, transitiveTags, audiences, expirationSeconds }: ServiceAccountIdentity,
): SessionFault[] {
  const { min, max } = EXPIRATION_LIMITS;
  const faults: SessionFault[] = [];
  if (tags.length > 0 || transitiveTags.length > 0) {
    const message = "tags and transitiveTags cannot be sent with a token of a ServiceAccount";
    faults.push({ field: tags.length > 0 ? "tags" : "transitiveTags", message });
  }
  if (audiences.length > MAX_AUDIENCES) {
    const message = `audiences has ${audiences.length} values, more than ${MAX_AUDIENCES}`;
    faults.push({ field: "audiences", message });
  }
  if (expirationSeconds < min || expirationSeconds > max) {
    const message = `expirationSeconds ${expirationSeconds} is not ${min} to ${max}`;
    faults.push({ field: "expirationSeconds", message });
  }
  return faults;
}
