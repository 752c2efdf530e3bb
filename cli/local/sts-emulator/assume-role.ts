import { parseARN, roleARNFaults } from "../../../shared/decisions/role-arn.ts";
import { STSRefusal } from "./answer.ts";

/** An AssumeRole request within every documented limit. */
export interface AssumeRoleRequest {
  readonly roleARN: string;
  readonly sessionName: string;
  readonly durationSeconds: number;
  readonly sourceIdentity: string | null;
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
  SourceIdentity: { min: 2, max: 64, pattern: /^[\w+=,.@-]*$/ },
  Policy: { min: 1, max: 2048 },
  SerialNumber: { min: 9, max: 256, pattern: /^[\w+=/:,.@-]*$/ },
  TokenCode: { min: 6, max: 6, pattern: /^\d*$/ },
};
const REQUIRED: ReadonlySet<string> = new Set(["RoleArn", "RoleSessionName"]);
const LIST_LIMITS: Readonly<Record<string, number>> = { PolicyArns: 10, Tags: 50, TransitiveTagKeys: 50 };
const TAG_TEXT = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const DURATION = { min: 900, max: 43_200, default: 3600, chained: 3600 } as const;

/** Reads and checks the form of an AssumeRole request; throws ValidationError with every fault of the parameters at once. */
export function readAssumeRole(form: URLSearchParams, caller: { readonly isRoleSession: boolean }): AssumeRoleRequest {
  const faults = [...textFaults(form), ...durationFaults(form), ...listFaults(form), ...tagFaults(form)];
  if (faults.length > 0) {
    const count = faults.length === 1 ? "1 validation error" : `${faults.length} validation errors`;
    throw invalid(`${count} detected: ${faults.join("; ")}`);
  }
  const request = {
    roleARN: form.get("RoleArn") ?? "",
    sessionName: form.get("RoleSessionName") ?? "",
    durationSeconds: Number(form.get("DurationSeconds") ?? DURATION.default),
    sourceIdentity: form.get("SourceIdentity"),
  };
  refuseWhatLimitsAllow(form, request, caller);
  return request;
}

function refuseWhatLimitsAllow(form: URLSearchParams, request: AssumeRoleRequest, caller: { readonly isRoleSession: boolean }): void {
  const arn = parseARN(request.roleARN);
  if (arn === null || roleARNFaults(request.roleARN, arn).length > 0) throw invalid(`${request.roleARN} is invalid`);
  if (caller.isRoleSession && request.durationSeconds > DURATION.chained) {
    throw invalid("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.");
  }
  const keys = tagKeys(form);
  if (new Set(keys.map((key) => key.toLowerCase())).size < keys.length) {
    throw invalid("Duplicate tag keys found. Please note that Tag keys are case insensitive.");
  }
  const policy = form.get("Policy");
  if (policy !== null && !isJsonDocument(policy)) {
    throw new STSRefusal("MalformedPolicyDocument", 400, "The policy is not in the valid JSON format.");
  }
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

function durationFaults(form: URLSearchParams): string[] {
  const text = form.get("DurationSeconds");
  if (text === null) return [];
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < DURATION.min) return [fault("DurationSeconds", text, `Member must have value greater than or equal to ${DURATION.min}`)];
  return seconds > DURATION.max ? [fault("DurationSeconds", text, `Member must have value less than or equal to ${DURATION.max}`)] : [];
}

function listFaults(form: URLSearchParams): string[] {
  return Object.entries(LIST_LIMITS).flatMap(([name, max]) => {
    const positions = new Set([...form.keys()].filter((key) => key.startsWith(`${name}.member.`)).map((key) => key.split(".")[2]));
    return positions.size > max ? [fault(name, `${positions.size} members`, `Member must have length less than or equal to ${max}`)] : [];
  });
}

function tagFaults(form: URLSearchParams): string[] {
  return [...form].flatMap(([name, value]) => {
    const part = /^Tags\.member\.\d+\.(Key|Value)$/.exec(name)?.[1];
    if (part === undefined) return [];
    const limit = part === "Key" ? { min: 1, max: 128 } : { min: 0, max: 256 };
    return limitFaults(name, value, { ...limit, pattern: TAG_TEXT });
  });
}

function tagKeys(form: URLSearchParams): string[] {
  return [...form].filter(([name]) => /^Tags\.member\.\d+\.Key$/.test(name)).map(([, key]) => key);
}

function fault(name: string, value: string | null, constraint: string): string {
  const member = name.charAt(0).toLowerCase() + name.slice(1);
  return `Value ${value === null ? "null" : `'${value}'`} at '${member}' failed to satisfy constraint: ${constraint}`;
}

function invalid(message: string): STSRefusal {
  return new STSRefusal("ValidationError", 400, message);
}

function isJsonDocument(text: string): boolean {
  try {
    const document: unknown = JSON.parse(text);
    return typeof document === "object" && document !== null;
  } catch {
    return false;
  }
}
