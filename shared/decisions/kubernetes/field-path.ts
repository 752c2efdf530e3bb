import { printable } from "./text.ts";

/** A step into an object: a field by name, a list element by index, or an entry of a map by its key. */
export type FieldStep = string | number | { readonly key: string };
export type FieldPath = readonly FieldStep[];

/** Where an annotation of an object is. */
export function annotationPath(key: string): FieldPath {
  return ["metadata", "annotations", { key }];
}

/**
 * A path as Kubernetes prints it, `spec.namespaceSelector.labelSelector.matchLabels[example.com/team]`, control characters escaped.
 * Source: k8s.io/apimachinery pkg/util/validation/field/path.go.
 */
export function formatFieldPath(path: FieldPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "string") text += text === "" ? step : `.${step}`;
    else text += typeof step === "number" ? `[${step}]` : `[${step.key}]`;
  }
  return printable(text);
}

/** The same path as plain keys, for walking a parsed document. */
export function plainKeys(path: FieldPath): (string | number)[] {
  return path.map((step) => (typeof step === "object" ? step.key : step));
}
