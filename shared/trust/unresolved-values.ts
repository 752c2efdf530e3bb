import { type JsonObject, stringAt } from "../formats/json.ts";

/** Marks a value that Terraform knows only after apply. A policy document is known, or not known, as a whole. */
const KEY = "ack-role-resolver/unresolved";

/** `name` says what is not known, for a report. */
export function unresolved(name: string): JsonObject {
  return { [KEY]: name };
}

/** Returns the name of an unresolved value, or null for any other value. */
export function unresolvedName(value: unknown): string | null {
  return stringAt(value, KEY);
}

/** Whether the text of a document may be an unresolved value. */
export function mayBeUnresolved(text: string): boolean {
  return text.includes(KEY);
}
