import { isJsonObject } from "../../shared/formats/json.ts";

/** A policy that a controller recommends: one of its own, or one of AWS. */
export interface PublishedPolicy {
  readonly name: string;
  readonly statements: readonly PublishedStatement[];
}

/** The actions that a statement allows, on whatever resources and under whatever conditions. */
export interface PublishedStatement {
  readonly actions: readonly string[];
}

/** Returns what the statements of a policy allow. Statements with NotAction allow nothing that can be listed. */
export function allowedActions(policy: unknown): readonly PublishedStatement[] {
  const statements = isJsonObject(policy) ? [policy["Statement"]].flat() : [];
  return statements.filter(isJsonObject).filter(({ Effect, Action }) => Effect === "Allow" && Action !== undefined)
    .map(({ Action }) => ({ actions: textsOf(Action).map((action) => action.trim()) }));
}

/** Returns the texts of a value that is a text or a list. */
export function textsOf(value: unknown): readonly string[] {
  return [value].flat().filter((one) => typeof one === "string");
}

export function serviceOf(action: string): string {
  return action.slice(0, action.indexOf(":")).toLowerCase();
}
