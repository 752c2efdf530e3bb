import { field, type JsonObject } from "../formats/json.ts";

/** The fields of a Secret that are not secret. All other fields may contain copies of values, also annotations. */
const OPEN_FIELDS: ReadonlySet<string> = new Set(["apiVersion", "kind", "type"]);
const OPEN_METADATA: ReadonlySet<string> = new Set([
  "name", "generateName", "namespace", "labels", "managedFields",
]);

const REMOVED = "removed by ack-role-resolver";

/**
 * Replaces each value of a Secret by a fixed text, in the object itself, so that no copy of the value remains. Keeps
 * the names of keys, and empty values. Does not change other objects.
 */
export function removeSecretValues(object: JsonObject): void {
  if (field(object, "kind") !== "Secret") return;
  replaceFields(object, OPEN_FIELDS, (name, value) => {
    if (name !== "metadata" || !isContainer(value)) return replaced(value);
    replaceFields(value, OPEN_METADATA, (_, inner) => replaced(inner));
    return value;
  });
}

type Replace = (name: string, value: unknown) => unknown;

function replaceFields(object: object, open: ReadonlySet<string>, replace: Replace): void {
  for (const name of Object.keys(object)) {
    if (!open.has(name)) Reflect.set(object, name, replace(name, Reflect.get(object, name)));
  }
}

/** Whether a text may contain a Secret. A text that is not valid can contain parts of a Secret. */
export function mayContainSecret(text: string): boolean {
  return text.includes("Secret");
}

/** Matches what faults quote: texts, the name of an alias, and the rest of the header of a block scalar. */
const QUOTED = /"(?:[^"\\]|\\.)*"|\*\S+|(?<=extra characters: ).*/gs;

/** Returns the message of a fault without the quoted parts of the file. */
export function withoutQuotedText(message: string): string {
  return message.replaceAll(QUOTED, "(not shown, because the file contains a Secret)");
}

const NONE: ReadonlySet<string> = new Set();

/** The depth of the recursion is limited, because the parsers limit the depth of a document. */
function replaced(value: unknown): unknown {
  if (isContainer(value)) {
    replaceFields(value, NONE, (_, inner) => replaced(inner));
    return value;
  }
  return value === null || value === "" ? value : REMOVED;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
