import { ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION } from "../contract/annotation-keys.ts";
import { accountOfARN } from "../formats/arn.ts";
import { annotationPath, isJsonObject, type JsonObject, parseJSON, stringAt } from "../formats/json.ts";
import { closest, quote } from "../formats/text.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { RESOLUTION, type ResourceChange } from "./resource-change.ts";

// Source: aws-controllers-k8s/runtime pkg/runtime/util.go, NeedAdoption and GetAdoptionPolicy.
export const ADOPT = "adopt";
export const POLICIES = [ADOPT, "adopt-or-create"] as const;
const POLICY_PATH = annotationPath(ADOPTION_POLICY_ANNOTATION);
const FIELDS_PATH = annotationPath(ADOPTION_FIELDS_ANNOTATION);
const FIELDS_FIX = `set a JSON object of strings that identifies the AWS resource, such as '{"name": "my-bucket"}'`;

export const ACK_12: QuickCheck<ResourceChange> = {
  id: "ACK-12",
  severity: "deny",
  waivable: false,
  reason: "The API server accepts an invalid adoption policy and invalid adoption fields. "
    + "The controller then sets a terminal error on the resource.",
  fix: `set the adoption policy to ${POLICIES.join(" or ")}`,
  example: `metadata: {annotations: {${ADOPTION_POLICY_ANNOTATION}: adopt-only}}`,
  *find({ resource: { annotations } }): Iterable<Fault> {
    const policy = annotations.get(ADOPTION_POLICY_ANNOTATION);
    const fields = annotations.get(ADOPTION_FIELDS_ANNOTATION);
    if (policy !== undefined && !isPolicy(policy)) {
      yield { path: POLICY_PATH, message: `${quote(policy)} is not an adoption policy`, ...suggestedFix(policy) };
    }
    if (policy === ADOPT && (fields ?? "") === "") {
      const message = "the adoption policy adopt requires the fields that identify the AWS resource";
      yield { path: FIELDS_PATH, message, fix: FIELDS_FIX };
    } else if (fields !== undefined && fields !== "") yield* fieldsFaults(fields);
  },
};

function isPolicy(text: string): boolean {
  return POLICIES.some((policy) => policy === text);
}

function suggestedFix(policy: string): { readonly fix?: string } {
  const known = policy === "adopt-only" ? "adopt" : closest(policy, POLICIES);
  return known === null ? {} : { fix: `set ${known} if you meant that; the policies are ${POLICIES.join(" and ")}` };
}

function* fieldsFaults(text: string): Iterable<Fault> {
  const fields = parseFields(text);
  if (fields === null) yield { path: FIELDS_PATH, message: `${quote(text)} is not a JSON object`, fix: FIELDS_FIX };
  else {
    for (const [key, value] of Object.entries(fields)) {
      if (typeof value === "string") continue;
      yield { path: FIELDS_PATH, message: `the value of ${quote(key)} is not a string`, fix: FIELDS_FIX };
    }
  }
}

function parseFields(text: string): JsonObject | null {
  const value = parseJSON(text);
  return isJsonObject(value) ? value : null;
}

export const ACK_17: QuickCheck<ResourceChange> = {
  id: "ACK-17",
  severity: "deny",
  waivable: true,
  reason: "A controller cannot adopt an AWS resource if the role is in a different account. "
    + "With adopt-or-create, the controller creates a second resource in the account of the role.",
  fix: "change the namespace or the labels of the resource, "
    + "so that its selector has a role in the account of the AWS resource",
  example: `metadata: {annotations: {${ADOPTION_POLICY_ANNOTATION}: adopt, `
    + `${ADOPTION_FIELDS_ANNOTATION}: '{"arn": "arn:aws:sqs:eu-west-1:444455556666:jobs"}'}} `
    + "# while the role is in account 111122223333",
  requires: RESOLUTION,
  *find({ resource: { annotations }, resolution: { accountID } }): Iterable<Fault> {
    if (!annotations.has(ADOPTION_POLICY_ANNOTATION) || accountID === null) return;
    const arn = stringAt(parseFields(annotations.get(ADOPTION_FIELDS_ANNOTATION) ?? ""), "arn");
    const owner = arn === null ? null : accountOfARN(arn);
    if (arn === null || owner === null || owner === accountID) return;
    const message = `${quote(arn)} is in account ${quote(owner)}, but the role is in account ${quote(accountID)}`;
    yield { path: FIELDS_PATH, message };
  },
};
