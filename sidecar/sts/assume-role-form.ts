import { parseJSON } from "../../shared/decisions/json.ts";
import { parseRoleARN } from "../../shared/decisions/role-arn.ts";
import type { SessionTag } from "../../shared/decisions/session.ts";
import { STSRefusal } from "./answer.ts";
import { invalid, listed, shown } from "./form.ts";

/** An AssumeRole request within every documented limit, as it was asked. */
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
  /** The parameters given that prove who asks: SerialNumber, TokenCode, ProvidedContexts. */
  readonly proofs: readonly string[];
}

interface TextLimit {
  readonly min: number;
  readonly max: number;
  readonly pattern?: RegExp;
}

// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
const TEXT_LIMITS: Readonly<Record<string, TextLimit>> = {
  RoleArn: { min: 20, max: 2048 },
  RoleSessionName: { min: 2, max: 64, pattern: /^[\w+=,.@-]*$/ },
  ExternalId: { min: 2, max: 1224, pattern: /^[\w+=,.@:/-]*$/ },
  SourceIdentity: { min: 2, max: 64, pattern: /^(?!aws:)[\w+=,.@-]*$/ },
  Policy: { min: 1, max: 2048 },
  SerialNumber: { min: 9, max: 256, pattern: /^[\w+=/:,.@-]*$/ },
  TokenCode: { min: 6, max: 6, pattern: /^\d*$/ },
};
const REQUIRED: ReadonlySet<string> = new Set(["RoleArn", "RoleSessionName"]);
/** Not repeated in a message: a message is logged. */
const NOT_SHOWN: ReadonlySet<string> = new Set(["ExternalId", "Policy", "SerialNumber", "TokenCode"]);
const DURATION = { min: 900, max: 43_200, default: 3600, chained: 3600 } as const;
const NUMBER_LIMITS: Readonly<Record<string, { readonly min: number; readonly max: number }>> = {
  DurationSeconds: DURATION,
  // Looked at and not passed on: it makes a token longer and nothing else, and a session is kept for all who ask, with the token that it has.
  MinimumSessionTokenSize: { min: 0, max: 4096 },
};
const TAG_TEXT = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const TAG_KEY: TextLimit = { min: 1, max: 128, pattern: TAG_TEXT };
/** Of inline and managed session policies together. */
const POLICY_CHARACTERS = 2048;

/** Each list with the limit of each part of a member; "" where a member is a text itself. */
const LISTS = {
  PolicyArns: { max: 10, parts: { arn: { min: 20, max: 2048 } } },
  Tags: { max: 50, parts: { Key: TAG_KEY, Value: { min: 0, max: 256, pattern: TAG_TEXT } } },
  TransitiveTagKeys: { max: 50, parts: { "": TAG_KEY } },
  ProvidedContexts: { max: 5, parts: { ProviderArn: { min: 20, max: 2048 }, ContextAssertion: { min: 4, max: 2048 } } },
} as const satisfies Record<string, { readonly max: number; readonly parts: Readonly<Record<string, TextLimit>> }>;

type ListName = keyof typeof LISTS;
/** A list's members in order, each by its parts. */
type Members = readonly ReadonlyMap<string, string>[];
type Lists = Readonly<Record<ListName, Members>>;

const MEMBER = /^(PolicyArns|Tags|TransitiveTagKeys|ProvidedContexts)\.member\.([1-9]\d{0,4})(?:\.(\w+))?$/;
/** Those without a limit of ours. An empty list is sent as `Tags=`. */
const OTHER_PARAMETERS: ReadonlySet<string> = new Set(["Action", "Version"]);

/** Reads and checks the form of an AssumeRole request; throws ValidationError with every fault of the parameters at once. */
export function readAssumeRole(form: URLSearchParams): AssumeRoleForm {
  const lists = readLists(form);
  const faults = [...unknownFaults(form), ...textFaults(form), ...numberFaults(form), ...listFaults(lists), ...policyFaults(form, lists)];
  if (faults.length > 0) throw invalid(`${faults.length === 1 ? "1 validation error" : `${faults.length} validation errors`} detected: ${listed(faults)}`);
  const request = {
    roleARN: form.get("RoleArn") ?? "",
    sessionName: form.get("RoleSessionName") ?? "",
    durationSeconds: Number(form.get("DurationSeconds") ?? DURATION.default),
    externalID: form.get("ExternalId"),
    sourceIdentity: form.get("SourceIdentity"),
    policy: form.get("Policy"),
    policyARNs: lists.PolicyArns.map((member) => member.get("arn") ?? ""),
    tags: lists.Tags.map((member) => ({ key: member.get("Key") ?? "", value: member.get("Value") ?? "" })),
    transitiveTagKeys: lists.TransitiveTagKeys.map((member) => member.get("") ?? ""),
    proofs: [...["SerialNumber", "TokenCode"].filter((name) => form.has(name)), ...(lists.ProvidedContexts.length > 0 ? ["ProvidedContexts"] : [])],
  };
  refuseWhatLimitsAllow(request);
  return request;
}

/** Throws STS's refusal of role chaining for over an hour, which only holds for one who calls with a session. */
export function refuseLongChaining({ durationSeconds }: Pick<AssumeRoleForm, "durationSeconds">): void {
  if (durationSeconds <= DURATION.chained) return;
  throw invalid("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.");
}

function refuseWhatLimitsAllow({ roleARN, tags, policy }: AssumeRoleForm): void {
  if (parseRoleARN(roleARN) === null) throw invalid(`${shown(roleARN)} is invalid`);
  if (new Set(tags.map(({ key }) => key.toLowerCase())).size < tags.length) {
    throw invalid("Duplicate tag keys found. Please note that Tag keys are case insensitive.");
  }
  if (policy !== null && !isJsonDocument(policy)) {
    throw new STSRefusal("MalformedPolicyDocument", 400, "The policy is not in the valid JSON format.");
  }
}

/** What is not known here would not be passed on either, and a restriction of a session must not get lost unnoticed. */
function unknownFaults(form: URLSearchParams): string[] {
  const unknown = [...form].filter(([name, value]) => !isKnown(name, value));
  return unknown.map(([name]) => `Parameter '${shown(name)}' is not known`);
}

function isKnown(name: string, value: string): boolean {
  if (OTHER_PARAMETERS.has(name) || Object.hasOwn(TEXT_LIMITS, name) || Object.hasOwn(NUMBER_LIMITS, name)) return true;
  if (isListName(name)) return value === "";
  const [, list = "", , part = ""] = MEMBER.exec(name) ?? [];
  return isListName(list) && Object.hasOwn(LISTS[list].parts, part);
}

function isListName(name: string): name is ListName {
  return Object.hasOwn(LISTS, name);
}

function readLists(form: URLSearchParams): Lists {
  return {
    PolicyArns: membersOf(form, "PolicyArns"), Tags: membersOf(form, "Tags"), TransitiveTagKeys: membersOf(form, "TransitiveTagKeys"),
    ProvidedContexts: membersOf(form, "ProvidedContexts"),
  };
}

function membersOf(form: URLSearchParams, list: ListName): Members {
  const members = new Map<number, Map<string, string>>();
  for (const [name, value] of form) {
    const [, named, position, part = ""] = MEMBER.exec(name) ?? [];
    if (named !== list) continue;
    const member = members.get(Number(position)) ?? new Map<string, string>();
    members.set(Number(position), member.set(part, value));
  }
  return [...members].toSorted(([a], [b]) => a - b).map(([, member]) => member);
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
  if (value.length < min) faults.push(fault(name, value, `Member must have length greater than or equal to ${min}`));
  if (value.length > max) faults.push(fault(name, value, `Member must have length less than or equal to ${max}`));
  if (pattern?.test(value) === false) {
    faults.push(fault(name, value, `Member must satisfy regular expression pattern: ${pattern.source.slice(1, -1)}`));
  }
  return faults;
}

function numberFaults(form: URLSearchParams): string[] {
  return Object.entries(NUMBER_LIMITS).flatMap(([name, { min, max }]) => {
    const text = form.get(name);
    if (text === null) return [];
    if (!/^\d+$/.test(text) || Number(text) < min) return [fault(name, text, `Member must have value greater than or equal to ${min}`)];
    return Number(text) > max ? [fault(name, text, `Member must have value less than or equal to ${max}`)] : [];
  });
}

function listFaults(lists: Lists): string[] {
  return Object.entries(LISTS).flatMap(([name, { max, parts }]) => {
    const members = isListName(name) ? lists[name] : [];
    if (members.length > max) return [fault(name, `${members.length} members`, `Member must have length less than or equal to ${max}`)];
    return members.flatMap((member, i) => memberFaults(`${name}.member.${i + 1}`, member, parts));
  });
}

function memberFaults(name: string, member: ReadonlyMap<string, string>, parts: Readonly<Record<string, TextLimit>>): string[] {
  return Object.entries(parts).flatMap(([part, limit]) => {
    const path = part === "" ? name : `${name}.${part}`;
    const value = member.get(part);
    return value === undefined ? [fault(path, null, "Member must not be null")] : limitFaults(path, value, limit);
  });
}

function policyFaults(form: URLSearchParams, { PolicyArns: members }: Lists): string[] {
  const inline = (form.get("Policy") ?? "").length;
  const managed = members.reduce((sum, member) => sum + (member.get("arn") ?? "").length, 0);
  if (inline > POLICY_CHARACTERS || inline + managed <= POLICY_CHARACTERS) return [];
  return [`Policy and PolicyArns together have ${inline + managed} characters, and may have ${POLICY_CHARACTERS}`];
}

function fault(name: string, value: string | null, constraint: string): string {
  const member = name.charAt(0).toLowerCase() + name.slice(1);
  const given = value === null ? " null" : ` '${shown(value)}'`;
  return `Value${NOT_SHOWN.has(name) && value !== null ? "" : given} at '${member}' failed to satisfy constraint: ${constraint}`;
}

function isJsonDocument(text: string): boolean {
  const document = parseJSON(text);
  return typeof document === "object" && document !== null;
}
