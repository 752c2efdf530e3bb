import { parseRoleARN } from "../../shared/formats/arn.ts";
import { parseJSON } from "../../shared/formats/json.ts";
import {
  DURATION_LIMITS, EXTERNAL_ID_LIMITS, MAX_POLICY_ARNS, MAX_POLICY_LENGTH, MAX_TAGS, SESSION_NAME_LIMITS,
  type SessionTag, TAG_KEY_LIMITS, TAG_VALUE_LIMITS, type TextLimits,
} from "../../shared/core/session.ts";
import { joinFaults, sanitize, STSErrorResponse, validationError } from "./query-protocol.ts";

/** The parameters of a validated AssumeRole request. */
export interface AssumeRoleForm {
  readonly roleARN: string;
  readonly sessionName: string;
  readonly durationSeconds: number;
  readonly externalID: string | null;
  readonly sourceIdentity: string | null;
  readonly policy: string | null;
  readonly policyARNs: readonly string[];
  readonly tags: readonly SessionTag[];
  readonly transitiveTagKeys: readonly string[];
  /**
   * The names of the request's parameters that prove the identity of the caller: SerialNumber, TokenCode,
   * ProvidedContexts.
   */
  readonly identityProofs: readonly string[];
}

type TextLimit = Pick<TextLimits, "min" | "max"> & Partial<Pick<TextLimits, "pattern">>;

// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
const TEXT_LIMITS: Readonly<Record<string, TextLimit>> = {
  RoleArn: { min: 20, max: 2048 },
  RoleSessionName: SESSION_NAME_LIMITS,
  ExternalId: EXTERNAL_ID_LIMITS,
  SourceIdentity: { ...SESSION_NAME_LIMITS, pattern: /^(?!aws:)[\w+=,.@-]*$/ },
  Policy: { min: 1, max: MAX_POLICY_LENGTH },
  SerialNumber: { min: 9, max: 256, pattern: /^[\w+=/:,.@-]*$/ },
  TokenCode: { min: 6, max: 6, pattern: /^\d*$/ },
};
const REQUIRED: ReadonlySet<string> = new Set(["RoleArn", "RoleSessionName"]);
/** The parameters whose values are secret. Messages omit these values, because messages are logged. */
const SECRET: ReadonlySet<string> = new Set(["ExternalId", "Policy", "SerialNumber", "TokenCode"]);
/** The default session duration of STS. */
const DEFAULT_SECONDS = 3600;
const NUMBER_LIMITS: Readonly<Record<string, { readonly min: number; readonly max: number }>> = {
  DurationSeconds: DURATION_LIMITS,
  // MinimumSessionTokenSize is validated but not forwarded. MinimumSessionTokenSize only affects the length of the
  // token, which all clients of the session share.
  MinimumSessionTokenSize: { min: 0, max: 4096 },
};

/**
 * The list parameters, and the limits of each field of their members. The field name "" means that each member is a
 * string.
 */
const LISTS = {
  PolicyArns: { max: MAX_POLICY_ARNS, parts: { arn: { min: 20, max: 2048 } } },
  Tags: { max: MAX_TAGS, parts: { Key: TAG_KEY_LIMITS, Value: TAG_VALUE_LIMITS } },
  TransitiveTagKeys: { max: MAX_TAGS, parts: { "": TAG_KEY_LIMITS } },
  ProvidedContexts: {
    max: 5,
    parts: { ProviderArn: { min: 20, max: 2048 }, ContextAssertion: { min: 4, max: 2048 } },
  },
} as const satisfies Record<string, { readonly max: number; readonly parts: Readonly<Record<string, TextLimit>> }>;

type ListName = keyof typeof LISTS;
/** The members of a list, in order. Each member is a map from field names to values. */
type Members = readonly ReadonlyMap<string, string>[];
type Lists = Readonly<Record<ListName, Members>>;

const MEMBER = /^(PolicyArns|Tags|TransitiveTagKeys|ProvidedContexts)\.member\.([1-9]\d{0,4})(?:\.(\w+))?$/;
/** The known parameters that are validated elsewhere. */
const OTHER_PARAMETERS: ReadonlySet<string> = new Set(["Action", "Version"]);

/** Parses and validates an AssumeRole form. Throws a ValidationError that lists every fault. */
export function readAssumeRole(form: URLSearchParams): AssumeRoleForm {
  const lists = readLists(form);
  const faults = [
    ...unknownFaults(form),
    ...textFaults(form),
    ...numberFaults(form),
    ...listFaults(lists),
    ...policyFaults(form, lists),
  ];
  if (faults.length > 0) {
    const count = faults.length === 1 ? "1 validation error" : `${faults.length} validation errors`;
    throw validationError(`${count} detected: ${joinFaults(faults)}`);
  }
  const request = {
    roleARN: form.get("RoleArn") ?? "",
    sessionName: form.get("RoleSessionName") ?? "",
    durationSeconds: Number(form.get("DurationSeconds") ?? DEFAULT_SECONDS),
    externalID: form.get("ExternalId"),
    sourceIdentity: form.get("SourceIdentity"),
    policy: form.get("Policy"),
    policyARNs: lists.PolicyArns.map((member) => member.get("arn") ?? ""),
    tags: lists.Tags.map((member) => ({ key: member.get("Key") ?? "", value: member.get("Value") ?? "" })),
    transitiveTagKeys: lists.TransitiveTagKeys.map((member) => member.get("") ?? ""),
    identityProofs: [
      ...["SerialNumber", "TokenCode"].filter((name) => form.has(name)),
      ...(lists.ProvidedContexts.length > 0 ? ["ProvidedContexts"] : []),
    ],
  };
  checkValues(request);
  return request;
}

/** Returns the STS error for a requested duration that exceeds the limit of role chaining. */
export function chainedDurationError(): STSErrorResponse {
  const limit = "the 1 hour session limit for roles assumed by role chaining";
  return validationError(`The requested DurationSeconds exceeds ${limit}.`);
}

function checkValues({ roleARN, tags, policy }: AssumeRoleForm): void {
  if (parseRoleARN(roleARN) === null) throw validationError(`${sanitize(roleARN)} is invalid`);
  if (new Set(tags.map(({ key }) => key.toLowerCase())).size < tags.length) {
    throw validationError("Duplicate tag keys found. Please note that Tag keys are case insensitive.");
  }
  if (policy !== null && !isJsonDocument(policy)) {
    throw new STSErrorResponse("MalformedPolicyDocument", 400, "The policy is not in the valid JSON format.");
  }
}

/**
 * Returns a fault for each unknown parameter. Unknown parameters are an error: they are not forwarded, so the session
 * would lack a restriction that the client requested.
 */
function unknownFaults(form: URLSearchParams): string[] {
  const unknown = [...form].filter(([name, value]) => !isKnown(name, value));
  return unknown.map(([name]) => `Parameter '${sanitize(name)}' is unknown`);
}

function isKnown(name: string, value: string): boolean {
  if (OTHER_PARAMETERS.has(name) || Object.hasOwn(TEXT_LIMITS, name) || Object.hasOwn(NUMBER_LIMITS, name)) return true;
  // SDKs send an empty list as `Tags=`.
  if (isListName(name)) return value === "";
  const [, list = "", , part = ""] = MEMBER.exec(name) ?? [];
  return isListName(list) && Object.hasOwn(LISTS[list].parts, part);
}

function isListName(name: string): name is ListName {
  return Object.hasOwn(LISTS, name);
}

type MembersByPosition = Map<number, Map<string, string>>;

function readLists(form: URLSearchParams): Lists {
  const lists = { PolicyArns: newList(), Tags: newList(), TransitiveTagKeys: newList(), ProvidedContexts: newList() };
  for (const [name, value] of form) {
    const [, list = "", position, part = ""] = MEMBER.exec(name) ?? [];
    if (!isListName(list)) continue;
    const member = lists[list].get(Number(position)) ?? new Map<string, string>();
    lists[list].set(Number(position), member.set(part, value));
  }
  return {
    PolicyArns: membersOf(lists.PolicyArns), Tags: membersOf(lists.Tags),
    TransitiveTagKeys: membersOf(lists.TransitiveTagKeys), ProvidedContexts: membersOf(lists.ProvidedContexts),
  };
}

function newList(): MembersByPosition {
  return new Map();
}

function membersOf(list: MembersByPosition): Members {
  return [...list].toSorted(([a], [b]) => a - b).map(([, member]) => member);
}

function textFaults(form: URLSearchParams): string[] {
  return Object.entries(TEXT_LIMITS).flatMap(([name, limit]) => {
    const value = form.get(name);
    if (value === null) return REQUIRED.has(name) ? [fault(name, null, "Member must not be null")] : [];
    return limitFaults(name, value, limit);
  });
}

function limitFaults(name: string, value: string, { min, max, pattern }: TextLimit): string[] {
  const faults: string[] = [];
  const add = (constraint: string): void => void faults.push(fault(name, value, constraint));
  if (value.length < min) add(`Member must have length greater than or equal to ${min}`);
  if (value.length > max) add(`Member must have length less than or equal to ${max}`);
  if (pattern?.test(value) === false) {
    add(`Member must satisfy regular expression pattern: ${pattern.source.slice(1, -1)}`);
  }
  return faults;
}

function numberFaults(form: URLSearchParams): string[] {
  return Object.entries(NUMBER_LIMITS).flatMap(([name, { min, max }]) => {
    const text = form.get(name);
    if (text === null) return [];
    if (!/^\d+$/.test(text) || Number(text) < min) {
      return [fault(name, text, `Member must have value greater than or equal to ${min}`)];
    }
    return Number(text) > max ? [fault(name, text, `Member must have value less than or equal to ${max}`)] : [];
  });
}

function listFaults(lists: Lists): string[] {
  return Object.entries(LISTS).flatMap(([name, { max, parts }]) => {
    const members = isListName(name) ? lists[name] : [];
    if (members.length > max) {
      return [fault(name, `${members.length} members`, `Member must have length less than or equal to ${max}`)];
    }
    return members.flatMap((member, i) => memberFaults(`${name}.member.${i + 1}`, member, parts));
  });
}

function memberFaults(
  name: string,
  member: ReadonlyMap<string, string>,
  parts: Readonly<Record<string, TextLimit>>,
): string[] {
  return Object.entries(parts).flatMap(([part, limit]) => {
    const path = part === "" ? name : `${name}.${part}`;
    const value = member.get(part);
    return value === undefined ? [fault(path, null, "Member must not be null")] : limitFaults(path, value, limit);
  });
}

function policyFaults(form: URLSearchParams, { PolicyArns: members }: Lists): string[] {
  const inline = (form.get("Policy") ?? "").length;
  const managed = members.reduce((sum, member) => sum + (member.get("arn") ?? "").length, 0);
  if (inline > MAX_POLICY_LENGTH || inline + managed <= MAX_POLICY_LENGTH) return [];
  return [`Policy and PolicyArns have ${inline + managed} characters in total (limit: ${MAX_POLICY_LENGTH})`];
}

function fault(name: string, value: string | null, constraint: string): string {
  const member = name.charAt(0).toLowerCase() + name.slice(1);
  const quoted = value === null ? " null" : ` '${sanitize(value)}'`;
  const text = SECRET.has(name) && value !== null ? "" : quoted;
  return `Value${text} at '${member}' failed to satisfy constraint: ${constraint}`;
}

function isJsonDocument(text: string): boolean {
  const document = parseJSON(text);
  return typeof document === "object" && document !== null;
}
