import { field } from "./json.ts";
import { printable } from "./text.ts";

/** A step of a field path: a field name, a list index, or the key of a map entry. */
export type FieldStep = string | number | { readonly key: string };
export type FieldPath = readonly FieldStep[];

/** Returns the path of an annotation. */
export function annotationPath(key: string): FieldPath {
  return ["metadata", "annotations", { key }];
}

/** The length of the longest label key: a prefix of 253 characters, a slash, and a name of 63 characters. */
const MAX_KEY_LENGTH = 317;

/**
 * Formats a path as Kubernetes does, such as `spec.resourceLabelSelector.matchLabels[example.com/team]`. Escapes
 * control characters, and truncates long keys. Source: k8s.io/apimachinery pkg/util/validation/field/path.go.
 */
export function formatFieldPath(path: FieldPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "string") text += text === "" ? cut(step) : `.${cut(step)}`;
    else text += typeof step === "number" ? `[${step}]` : `[${cut(step.key)}]`;
  }
  return printable(text);
}

function cut(key: string): string {
  return key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key;
}

/** Returns the path as plain keys and list indexes, for access to a parsed document. */
export function plainKeys(path: FieldPath): (string | number)[] {
  return path.map((step) => (typeof step === "object" ? step.key : step));
}

/** Returns the value of the field at the path, or undefined if it is missing. */
export function valueAt(value: unknown, path: FieldPath): unknown {
  return plainKeys(path).reduce((parent, key) => (
    Array.isArray(parent) ? (parent as unknown[])[Number(key)] : field(parent, String(key))
  ), value);
}
