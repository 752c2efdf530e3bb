import { accountOfARN } from "../formats/arn.ts";
import type { JsonObject } from "../formats/json.ts";
import { compareText } from "../formats/text.ts";
import { nameOf } from "./iam-objects.ts";
import type { NeededPolicy } from "./needed-policies.ts";

/** A role with its trust policy, or a caller with its identity policy. `remarks` become comments. */
export interface PolicyResource {
  readonly kind: "role" | "caller";
  readonly arn: string;
  readonly policy: NeededPolicy;
  readonly remarks: readonly string[];
}

/** The name of the inline policy of a caller. */
const CALLER_POLICY = "assume-ack-roles";

/** Returns Terraform resources as lines. */
export function terraformLines(resources: readonly PolicyResource[]): string[] {
  const labels = uniqueLabels(resources.map(({ kind, arn }) => (
    `${kind}_${accountOfARN(arn)}_${nameOf(arn)}`.replaceAll(/[^A-Za-z0-9_-]/g, "_")
  )));
  return resources.flatMap(({ kind, arn, policy, remarks }, i) => {
    const { type, document, names } = kind === "role"
      ? { type: "aws_iam_role", document: "assume_role_policy", names: { name: nameOf(arn), path: pathOf(arn) } }
      : { type: "aws_iam_role_policy", document: "policy", names: { name: CALLER_POLICY, role: nameOf(arn) } };
    return [
      ...comments(arn, remarks), `resource "${type}" "${labels[i]}" {`,
      ...Object.entries(names).map(([key, value]) => `  ${key} = ${hcl(value)}`),
      ...`  ${document} = jsonencode(${hcl(policy)})`.split("\n").map((line, at) => (at === 0 ? line : `  ${line}`)),
      "}", "",
    ];
  });
}

/** Adds numbers to labels that are equal, because names may differ only in characters that labels cannot have. */
function uniqueLabels(labels: readonly string[]): string[] {
  const used = new Set<string>();
  return labels.map((label) => {
    let unique = label;
    for (let i = 2; used.has(unique); i++) unique = `${label}x${i}`;
    used.add(unique);
    return unique;
  });
}

function comments(arn: string, remarks: readonly string[]): string[] {
  return [arn, ...remarks].map((text) => `# ${text}`);
}

/** Returns a JSON value as an expression of Terraform, in whose texts `${` and `%{` start templates. */
function hcl(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/^( *"(?:[^"\\]|\\.)*"):/gm, "$1 :")
    .replaceAll(/[$%](?=\{)/g, "$&$&");
}

/** Returns the path of the role in an ARN, such as `/ack/`. */
function pathOf(arn: string): string {
  return arn.slice(arn.indexOf("/"), arn.lastIndexOf("/") + 1);
}

/**
 * Returns a CloudFormation template for each account, as lines of YAML documents in JSON. Texts are literal, because
 * only `Fn::Sub` would read `${...}` in them.
 */
export function cloudFormationLines(resources: readonly PolicyResource[]): string[] {
  const accounts = [...new Set(resources.map(({ arn }) => String(accountOfARN(arn))))].toSorted(compareText);
  return accounts.flatMap((account, i) => {
    const own = resources.filter(({ arn }) => accountOfARN(arn) === account);
    const ids = uniqueLabels(own.map(logicalID));
    const entries = own.map((one, at): [string, JsonObject] => [String(ids[at]), resourceOf(one)]);
    const template: JsonObject = { Resources: Object.fromEntries(entries) };
    const remarks = own.flatMap(({ arn, remarks: texts }) => comments(arn, texts));
    const lines = JSON.stringify(template, null, 2).split("\n");
    return [...(i === 0 ? [] : ["---"]), `# account ${account}`, ...remarks, ...lines];
  });
}

function logicalID({ kind, arn }: PolicyResource): string {
  return `${kind} ${nameOf(arn)}`.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])?/g, (_, letter = "") => (
    String(letter).toUpperCase()
  ));
}

function resourceOf({ kind, arn, policy }: PolicyResource): JsonObject {
  if (kind === "role") {
    const names = { RoleName: nameOf(arn), Path: pathOf(arn) };
    return { Type: "AWS::IAM::Role", Properties: { ...names, AssumeRolePolicyDocument: policy } };
  }
  const names = { PolicyName: CALLER_POLICY, RoleName: nameOf(arn) };
  return { Type: "AWS::IAM::RolePolicy", Properties: { ...names, PolicyDocument: policy } };
}
