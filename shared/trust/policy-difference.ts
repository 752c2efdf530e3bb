import { field, isJsonObject } from "../formats/json.ts";
import type { NeededPolicy } from "./needed-policies.ts";
import { readPolicyJSON } from "./policy-text.ts";

/** The statements of a policy that are missing in another one, and those that only the other one has. */
export interface PolicyDifference {
  readonly add: readonly unknown[];
  readonly remove: readonly unknown[];
}

/**
 * Compares the trust policy that a role has with the one that it needs. Statements are the same if they differ only in
 * their Sid, in the order of lists, or in a list instead of its only text. A document that cannot be read has none.
 */
export function differenceTo(needed: NeededPolicy, document: string): PolicyDifference {
  const json = readPolicyJSON(document);
  const list = "fault" in json ? [] : field(json.value, "Statement") ?? [];
  const existing: readonly unknown[] = Array.isArray(list) ? list : [list];
  return { add: without(needed.Statement, existing), remove: without(existing, needed.Statement) };
}

function without(statements: readonly unknown[], others: readonly unknown[]): unknown[] {
  const known = new Set(others.map(canonical));
  return statements.filter((one) => !known.has(canonical(one)));
}

function canonical(statement: unknown): string {
  const entries = isJsonObject(statement) ? Object.entries(statement).filter(([key]) => key !== "Sid") : [];
  return JSON.stringify(normal(Object.fromEntries(entries)));
}

/** Returns a value in which every text is a sorted list, and the keys are sorted. The depth of a policy is bounded. */
function normal(value: unknown): unknown {
  if (!isJsonObject(value)) return [value].flat().map(String).toSorted();
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, normal(one)]);
}
