import { printable } from "./text.ts";

/** A step of a field path: a field name, a list index, or the key of a map entry. */
export type FieldStep = string | number | { readonly key: string };
export type FieldPath = readonly FieldStep[];

/** Returns the path of an annotation. */
export function annotationPath(key: string): FieldPath {
  return ["metadata", "annotations", { key }];
}

/**
 * Formats a path as Kubernetes does, such as `spec.resourceLabelSelector.matchLabels[example.com/team]`. Escapes
 * control characters. Source: k8s.io/apimachinery pkg/util/validation/field/path.go.
 */
export function formatFieldPath(path: FieldPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "string") text += text === "" ? step : `.${step}`;
    else text += typeof step === "number" ? `[${step}]` : `[${step.key}]`;
  }
  return printable(text);
}

/** Returns the path as plain keys and list indexes, for access to a parsed document. */
export function plainKeys(path: FieldPath): (string | number)[] {
  return path.map((step) => (typeof step === "object" ? step.key : step));
}
