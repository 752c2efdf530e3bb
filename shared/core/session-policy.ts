import { type ARN, parseARN } from "../formats/arn.ts";
import { excessOf, isJsonObject, type JsonObject, parseJSON } from "../formats/json.ts";
import { countOf, quote } from "../formats/text.ts";
import { MAX_POLICY_ARNS, MAX_POLICY_LENGTH } from "./session.ts";

// The session policies of a selector: https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies.html#policies_session

/** A template in a policy. `${namespace}` would be a variable of IAM, and `{}` is an object. */
const TEMPLATE = /(?<!\$)\{(selector|account|group|namespace|kind)\}/g;

const BRACES = /(?<!\$)\{([A-Za-z][\w-]{0,30})\}/g;

/** Returns the value of a template; null if it is not known yet, so that the template stays. */
export type TemplateValue = (name: string) => string | null;

/**
 * Parses a policy; null if it is not a JSON object, longer than STS accepts it, or nested deeper than any policy, so
 * that no reader of selectors can fail on it.
 */
export function parsePolicy(text: string): JsonObject | null {
  const value = text.length > MAX_TEXT ? undefined : parseJSON(text);
  return isJsonObject(value) && excessOf(value, BOUNDS) === null ? value : null;
}

/** A condition is the deepest part: policy, statements, statement, conditions, operator, values, value. */
const BOUNDS = { maxDepth: 8, maxValues: 2_000 } as const;

/** The longest annotation that is parsed. Blanks do not count for STS, because the policy is sent without them. */
export const MAX_TEXT = 16_384;

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

/** Returns the names in braces in a policy, which can be misspelled templates. */
export function writtenTemplates(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(BRACES), ([, name = ""]) => name))];
}

/** Returns the names of the templates in a policy. */
export function policyTemplates(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(TEMPLATE), ([, name = ""]) => name))];
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
