import { parseRoleARN } from "../../shared/decisions/kubernetes/arn.ts";
import { parseJSON } from "../../shared/decisions/kubernetes/json.ts";
import {
  DURATION_LIMITS, EXTERNAL_ID_LIMITS, MOST_TAGS, SESSION_NAME_LIMITS, type SessionTag, TAG_KEY_LIMITS,
  TAG_VALUE_LIMITS, type TextLimits,
} from "../../shared/decisions/selectors/session.ts";
import { invalid, listed, shown } from "./form.ts";
import { STSErrorResponse } from "./response.ts";

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

type TextLimit = Pick<TextLimits, "least" | "most"> & Partial<Pick<TextLimits, "pattern">>;

// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
const TEXT_LIMITS: Readonly<Record<string, TextLimit>> = {
  RoleArn: { least: 20, most: 2048 },
  RoleSessionName: SESSION_NAME_LIMITS,
  ExternalId: EXTERNAL_ID_LIMITS,
  SourceIdentity: { ...SESSION_NAME_LIMITS, pattern: /^(?!aws:)[\w+=,.@-]*$/ },
  Policy: { least: 1, most: 2048 },
  SerialNumber: { least: 9, most: 256, pattern: /^[\w+=/:,.@-]*$/ },
  TokenCode: { least: 6, most: 6, pattern: /^\d*$/ },
};
const REQUIRED: ReadonlySet<string> = new Set(["RoleArn", "RoleSessionName"]);
/** Not repeated in a message: a message is logged. */
const NOT_SHOWN: ReadonlySet<string> = new Set(["ExternalId", "Policy", "SerialNumber", "TokenCode"]);
/** Where none is asked for. */
const DEFAULT_SECONDS = 3600;
const NUMBER_LIMITS: Readonly<Record<string, { readonly least: number; readonly most: number }>> = {
  DurationSeconds: DURATION_LIMITS,
  // Looked at and not passed on: it makes a token longer and nothing else, and a session is kept for all who ask, with the token that it has.
  MinimumSessionTokenSize: { least: 0, most: 4096 },
};
/** Of inline and managed session policies together. */
const POLICY_CHARACTERS = 2048;

/** Each list with the limit of each part of a member; "" where a member is a text itself. */
const LISTS = {
  PolicyArns: { most: 10, parts: { arn: { least: 20, most: 2048 } } },
  Tags: { most: MOST_TAGS, parts: { Key: TAG_KEY_LIMITS, Value: TAG_VALUE_LIMITS } },
  TransitiveTagKeys: { most: MOST_TAGS, parts: { "": TAG_KEY_LIMITS } },
  ProvidedContexts: { most: 5, parts: { ProviderArn: { least: 20, most: 2048 }, ContextAssertion: { least: 4, most: 2048 } } },
} as const satisfies Record<string, { readonly most: number; readonly parts: Readonly<Record<string, TextLimit>> }>;

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
    durationSeconds: Number(form.get("DurationSeconds") ?? DEFAULT_SECONDS),
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

/** STS's refusal of more than CHAINED_SECONDS to one who calls with a session. */
export function longChaining(): STSErrorResponse {
  return invalid("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.");
}

function refuseWhatLimitsAllow({ roleARN, tags, policy }: AssumeRoleForm): void {
  if (parseRoleARN(roleARN) === null) throw invalid(`${shown(roleARN)} is invalid`);
  if (new Set(tags.map(({ key }) => key.toLowerCase())).size < tags.length) {
    throw invalid("Duplicate tag keys found. Please note that Tag keys are case insensitive.");
  }
  if (policy !== null && !isJsonDocument(policy)) {
    throw new STSErrorResponse("MalformedPolicyDocument", 400, "The policy is not in the valid JSON format.");
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

function limitFaults(name: string, value: string, { least, most, pattern }: TextLimit): string[] {
  const faults: string[] = [];
  if (value.length < least) faults.push(fault(name, value, `Member must have length greater than or equal to ${least}`));
  if (value.length > most) faults.push(fault(name, value, `Member must have length less than or equal to ${most}`));
  if (pattern?.test(value) === false) {
    faults.push(fault(name, value, `Member must satisfy regular expression pattern: ${pattern.source.slice(1, -1)}`));
  }
  return faults;
}

function numberFaults(form: URLSearchParams): string[] {
  return Object.entries(NUMBER_LIMITS).flatMap(([name, { least, most }]) => {
    const text = form.get(name);
    if (text === null) return [];
    if (!/^\d+$/.test(text) || Number(text) < least) return [fault(name, text, `Member must have value greater than or equal to ${least}`)];
    return Number(text) > most ? [fault(name, text, `Member must have value less than or equal to ${most}`)] : [];
  });
}

function listFaults(lists: Lists): string[] {
  return Object.entries(LISTS).flatMap(([name, { most, parts }]) => {
    const members = isListName(name) ? lists[name] : [];
    if (members.length > most) return [fault(name, `${members.length} members`, `Member must have length less than or equal to ${most}`)];
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
