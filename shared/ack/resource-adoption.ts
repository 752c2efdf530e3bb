import { ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { meant, remove, type Repair, set } from "../core/repair.ts";
import { accountOfARN } from "../formats/arn.ts";
import { annotationPath, isJsonObject, type JsonObject, parseJSON, stringAt } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import { quote } from "../formats/text.ts";
import { RESOLUTION } from "./requirements.ts";
import type { ResourceChange } from "./resource-change.ts";

// Source: aws-controllers-k8s/runtime pkg/runtime/util.go, NeedAdoption and GetAdoptionPolicy.
export const ADOPT = "adopt";
const ADOPT_OR_CREATE = "adopt-or-create";
export const POLICIES = [ADOPT, ADOPT_OR_CREATE] as const;
const POLICY_PATH = annotationPath(ADOPTION_POLICY_ANNOTATION);
const FIELDS_PATH = annotationPath(ADOPTION_FIELDS_ANNOTATION);
const FIELDS_FIX = `set a JSON object of strings that identifies the AWS resource, such as '{"name": "my-bucket"}'`;

export const ACK_12: QuickCheck<ResourceChange> = {
  id: "ACK-12",
  severity: "deny",
  reason: "The API server accepts an invalid adoption policy and invalid adoption fields. "
    + "The controller then sets a terminal error on the resource.",
  fix: `set the adoption policy to ${POLICIES.join(" or ")}`,
  example: `metadata: {annotations: {${ADOPTION_POLICY_ANNOTATION}: adopt-only}}`,
  when: ({ resource }) => resource.annotations.size > 0,
  *find({ resource: { annotations } }): Iterable<Fault> {
    const policy = annotations.get(ADOPTION_POLICY_ANNOTATION);
    const fields = annotations.get(ADOPTION_FIELDS_ANNOTATION);
    if (policy !== undefined && !isPolicy(policy)) {
      const message = `${quote(policy)} is not an adoption policy`;
      yield { path: POLICY_PATH, message, repairs: policyRepairs(policy) };
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

/** The names of the policies. A policy that only adopts is often written like the command of other tools. */
const POLICY_NAMES = new NameIndex(POLICIES);
const ALIASES: ReadonlyMap<string, string> = new Map([["adopt-only", ADOPT]]);

function policyRepairs(policy: string): readonly Repair[] {
  const word = policy.trim();
  const alias = ALIASES.get(word);
  const nearest = alias === undefined ? POLICY_NAMES.nearest(word) : [alias];
  if (nearest.length > 0) return meant(POLICY_PATH, nearest);
  return [
    { when: "if the AWS resource exists", edits: [set(POLICY_PATH, ADOPT)] },
    { when: "to create it if it is missing", edits: [set(POLICY_PATH, ADOPT_OR_CREATE)] },
  ];
}

function* fieldsFaults(text: string): Iterable<Fault> {
  const fields = parseFields(text);
  if (fields === null) yield { path: FIELDS_PATH, message: `${quote(text)} is not a JSON object`, fix: FIELDS_FIX };
  else {
    for (const [key, value] of Object.entries(fields)) {
      if (typeof value === "string") continue;
      const message = `the value of ${quote(key)} is not a string`;
      const texts = isExact(value) ? [JSON.stringify({ ...fields, [key]: String(value) })] : [];
      yield { path: FIELDS_PATH, message, fix: FIELDS_FIX, repairs: meant(FIELDS_PATH, texts) };
    }
  }
}

/** Whether the text of the value is certain. JSON does not keep, for example, the digits of a large number. */
function isExact(value: unknown): boolean {
  return typeof value === "boolean" || Number.isSafeInteger(value);
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
  when: ({ resource }) => resource.annotations.has(ADOPTION_POLICY_ANNOTATION),
  *find({ resource: { annotations }, resolution: { accountID } }): Iterable<Fault> {
    if (accountID === null) return;
    const arn = stringAt(parseFields(annotations.get(ADOPTION_FIELDS_ANNOTATION) ?? ""), "arn");
    const owner = arn === null ? null : accountOfARN(arn);
    if (arn === null || owner === null || owner === accountID) return;
    const message = `${quote(arn)} is in account ${quote(owner)}, but the role is in account ${quote(accountID)}`;
    const edits = [remove(POLICY_PATH), remove(FIELDS_PATH)];
    yield { path: FIELDS_PATH, message, fix: ACK_17.fix, repairs: [{ when: "to create a new one", edits }] };
  },
};
