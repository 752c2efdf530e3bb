import { field, isJsonObject, omitField } from "../formats/json.ts";
import type { DocumentText } from "./iam-objects.ts";
import { readPolicyJSON } from "./policy-text.ts";

/**
 * Whether two documents are the same policy. IAM returns a document in another form than it was given: with other white
 * space and another order, and with the ARN of an account for its 12 digits.
 */
export function isSamePolicy(a: DocumentText, b: DocumentText): boolean {
  if (a === b) return true;
  const [one, other] = [readPolicyJSON(a), readPolicyJSON(b)];
  if ("fault" in one || "fault" in other) return false;
  return canonical(one.value) === canonical(other.value);
}

/** The statements of a policy that are missing in another one, and those that only the other one has. */
export interface PolicyDifference {
  readonly add: readonly unknown[];
  readonly remove: readonly unknown[];
}

/**
 * Compares the trust policy that a role has with the one that it needs, apart from the form and the Sid of statements.
 * A document that cannot be read has no statements.
 */
export function differenceTo(
  needed: { readonly Statement: readonly unknown[] }, document: DocumentText,
): PolicyDifference {
  const json = readPolicyJSON(document);
  const list = "fault" in json ? [] : field(json.value, "Statement") ?? [];
  const existing: readonly unknown[] = Array.isArray(list) ? list : [list];
  return { add: without(needed.Statement, existing), remove: without(existing, needed.Statement) };
}

function without(statements: readonly unknown[], others: readonly unknown[]): unknown[] {
  const known = new Set(others.map(withoutSid));
  return statements.filter((one) => !known.has(withoutSid(one)));
}

function withoutSid(statement: unknown): string {
  return canonical(omitField(statement, "Sid"));
}

const ROOT = /^arn:aws[a-z0-9-]*:iam::([0-9]{12}):root$/;

/** Returns a text that is equal for equal policies. The depth of the recursion is that of a bounded document. */
function canonical(value: unknown, isPrincipal = false): string {
  if (Array.isArray(value)) {
    const items = value.map((item) => canonical(item, isPrincipal)).toSorted();
    return items.length === 1 ? items.join("") : `[${items.join()}]`;
  }
  if (!isJsonObject(value)) return JSON.stringify(isPrincipal ? String(value).replace(ROOT, "$1") : String(value));
  const fields = Object.entries(value).map(([key, item]) => (
    `${JSON.stringify(key)}:${canonical(item, isPrincipal || key === "Principal" || key === "NotPrincipal")}`
  ));
  return `{${fields.toSorted().join()}}`;
}
