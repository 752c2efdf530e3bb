import type { AccessAnswers } from "../../context.ts";
import type { JsonObject } from "../../kubernetes/json.ts";
import type { Labels } from "../../kubernetes/label-selector.ts";
import { NAME_LABEL } from "../../kubernetes/names.ts";
import { objectMeta } from "../../kubernetes/object-meta.ts";
import type { CheckContext, CheckInput } from "../change.ts";

export interface NamespaceState {
  /** With the label that every namespace carries. */
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
}

/** A step of a Namespace, from the stored one to the new one. */
export interface NamespaceChange extends CheckContext {
  readonly name: string;
  /** The namespace as it is to be; at DELETE as it was. */
  readonly state: NamespaceState;
  /** What was stored before, null at CREATE. */
  readonly stored: NamespaceState | null;
  readonly access: AccessAnswers | null;
}

export function namespaceChange(input: Pick<CheckInput, "object" | "old" | "access">, context: CheckContext): NamespaceChange {
  const { access = null, object, old } = input;
  const stored = context.operation === "DELETE" ? object : old;
  return { ...context, access, name: objectMeta(object).name, state: stateOf(object), stored: stored === null ? null : stateOf(stored) };
}

export function stateOf(object: JsonObject): NamespaceState {
  const { name, labels, annotations } = objectMeta(object);
  return { labels: new Map([...labels, [NAME_LABEL, name]]), annotations };
}

/** The annotation's value, "" where it is absent: controllers take both as one. */
export function annotated({ annotations }: NamespaceState, key: string): string {
  return annotations.get(key) ?? "";
}
