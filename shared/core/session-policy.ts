import { type ARN, parseARN } from "../formats/arn.ts";
import { isJsonObject, type JsonObject, parseJSON } from "../formats/json.ts";
import { countOf, quote } from "../formats/text.ts";
import { MAX_POLICY_ARNS, MAX_POLICY_LENGTH, POLICY_PATTERN } from "./session.ts";

// The session policies of a selector: https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies.html#policies_session

/** A template in a policy. `${namespace}` would be a variable of IAM, and `{}` is an object. */
const TEMPLATE = /(?<!\$)\{(selector|account|group|namespace|kind)\}/g;

/** Returns the value of a template; null if it is not known yet, so that the template stays. */
export type TemplateValue = (name: string) => string | null;

/** Parses a policy; null if it is not a JSON object, or longer than STS accepts it. */
export function parsePolicy(text: string): JsonObject | null {
  const value = text.length > MAX_TEXT ? undefined : parseJSON(text);
  return isJsonObject(value) ? value : null;
}

/** The longest annotation that is parsed. Blanks do not count for STS, because the policy is sent without them. */
const MAX_TEXT = 16_384;

/**
 * Returns the policy as the sidecar sends it: without blanks, and with the values of its templates. They stand only in
 * texts, so that no name can add a statement. Returns the text itself if it is not a policy.
 */
export function writtenPolicy(text: string, valueOf: TemplateValue): string {
  const policy = parsePolicy(text);
  return policy === null ? text : JSON.stringify(policy, (_, value: unknown) => (
    typeof value === "string" ? filled(value, valueOf) : value
  ));
}

function filled(text: string, valueOf: TemplateValue): string {
  return text.replaceAll(TEMPLATE, (template, name: string) => valueOf(name) ?? template);
}

/** Returns the names of the templates in a policy. */
export function policyTemplates(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(TEMPLATE), ([, name = ""]) => name))];
}

/** A fault of a policy, and the policy without it if only one can be meant. */
export interface PolicyFault {
  readonly message: string;
  readonly repaired: JsonObject | null;
}

/** Returns the faults of an inline session policy. The message does not contain the policy. */
export function policyFaults(text: string): readonly PolicyFault[] {
  const policy = parsePolicy(text);
  if (policy === null) return [{ message: "the policy is not a JSON object", repaired: null }];
  const written = JSON.stringify(policy);
  const faults = POLICY_PATTERN.test(written) ? [] : [{
    message: "the policy contains characters that STS does not accept", repaired: null,
  }];
  return [...faults, ...statementFaults(policy)];
}

const FORBIDDEN = ["Principal", "NotPrincipal"];
const EFFECTS = ["Allow", "Deny"];

function statementFaults(policy: JsonObject): readonly PolicyFault[] {
  const statements = [policy["Statement"] ?? []].flat() as readonly unknown[];
  if (statements.length === 0) return [{ message: "the policy has no Statement", repaired: null }];
  const repairedWith = (index: number, statement: JsonObject): JsonObject => (
    { ...policy, Statement: statements.with(index, statement) }
  );
  return statements.flatMap((statement, i): readonly PolicyFault[] => {
    const place = `Statement ${i + 1} of the policy`;
    if (!isJsonObject(statement)) return [{ message: `${place} is not an object`, repaired: null }];
    return [
      ...FORBIDDEN.filter((name) => name in statement).map((name) => {
        const { [name]: _removed, ...rest } = statement;
        const message = `${place} has ${name}, which STS rejects: the session itself is the principal`;
        return { message, repaired: repairedWith(i, rest) };
      }),
      ...effectFaults(statement, place, (fixed) => repairedWith(i, fixed)),
      ...[["Action", "NotAction"], ["Resource", "NotResource"]].filter((names) => (
        names.filter((name) => name in statement).length !== 1
      )).map((names) => ({ message: `${place} must have either ${names.join(" or ")}`, repaired: null })),
    ];
  });
}

function effectFaults(
  statement: JsonObject, place: string, repairedWith: (statement: JsonObject) => JsonObject,
): readonly PolicyFault[] {
  const { Effect: effect } = statement;
  if (EFFECTS.some((one) => one === effect)) return [];
  const meant = EFFECTS.find((one) => one.toLowerCase() === String(effect).trim().toLowerCase());
  const repaired = meant === undefined ? null : repairedWith({ ...statement, Effect: meant });
  return [{ message: `the Effect of ${place} is neither Allow nor Deny`, repaired }];
}

/** Returns the ARNs of a list `ARN,...`, sorted, so that their order does not matter. */
export function readPolicyARNs(text: string): readonly string[] {
  return [...new Set(text.split(",").map((one) => one.trim()).filter((one) => one !== ""))].toSorted();
}

/** Returns the faults of ARNs of managed policies for a role. */
export function policyARNFaults(arns: readonly string[], roleARN: string): readonly string[] {
  const role = parseARN(roleARN);
  if (arns.length > MAX_POLICY_ARNS) return [`${arns.length} ARNs exceed the limit of ${MAX_POLICY_ARNS}`];
  return arns.flatMap((one) => {
    const fault = policyARNFault(one, role);
    return fault === null ? [] : [`${quote(one)} ${fault}`];
  });
}

function policyARNFault(text: string, role: ARN | null): string | null {
  const arn = parseARN(text);
  const isPolicy = arn?.service === "iam" && arn.resource.startsWith("policy/");
  if (arn === null || !isPolicy) return "is not the ARN of an IAM policy";
  if (role === null) return null;
  if (arn.partition !== role.partition) return `is not in partition ${role.partition} of the role`;
  if (arn.accountID === "aws" || arn.accountID === role.accountID) return null;
  return `is not a policy of AWS, and not of account ${role.accountID} of the role`;
}

/** Returns why the policies together are too long for STS, or null. */
export function policyLengthFault(policy: string | null, arns: readonly string[]): string | null {
  const length = (policy?.length ?? 0) + arns.join("").length;
  if (length <= MAX_POLICY_LENGTH) return null;
  return `the policy and the ARNs have ${countOf(length, "character")}, and STS accepts ${MAX_POLICY_LENGTH}`;
}
