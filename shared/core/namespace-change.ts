import type { AccessByName } from "./context.ts";
import type { JsonObject } from "../formats/json.ts";
import type { Labels } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import { objectMeta, objectReference } from "../formats/object-meta.ts";
import type { CheckContext, CheckEntry, CheckInput } from "./check.ts";

export interface NamespaceState {
  /** The labels of the namespace, including `kubernetes.io/metadata.name`, which every namespace has. */
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
}

/** A change of a Namespace, which the namespace checks examine. */
export interface NamespaceChange extends CheckContext {
  readonly object: JsonObject;
  readonly name: string;
  /** The namespace after the change; at DELETE the deleted namespace. */
  readonly state: NamespaceState;
  /** The namespace before the change; null at CREATE. */
  readonly stored: NamespaceState | null;
  readonly access: AccessByName | null;
}

/** Returns the change that the namespace checks examine. */
export function namespaceChange(
  input: Pick<CheckInput, "object" | "old" | "access">, context: CheckContext,
): NamespaceChange {
  const { access = null, object, old } = input;
  const stored = context.operation === "DELETE" ? object : old;
  const before = stored === null ? null : stateOf(stored);
  return { ...context, object, access, name: objectReference(object).name, state: stateOf(object), stored: before };
}

/** Returns the labels and annotations of a Namespace. */
export function stateOf(object: JsonObject): NamespaceState {
  const { name, labels, annotations } = objectMeta(object);
  return { labels: new Map([...labels, [NAME_LABEL, name]]), annotations };
}

/** Returns the value of the annotation. Controllers treat a missing annotation as "". */
export function annotationOf({ annotations }: NamespaceState, key: string): string {
  return annotations.get(key) ?? "";
}

/** What NS-13 says of each kind of objects that is deleted with its namespace. */
export const NAMESPACE_DELETION = {
  id: "NS-13",
  severity: "warn",
  reason: "When a namespace is deleted, controllers delete the AWS resources of its objects, and CAPA deletes its "
    + "clusters. Until then, they need the namespace's labels and annotations, the selectors and the identities.",
  fix: "until the namespace is deleted, do not change its labels and annotations, or the selectors",
  fixInCARM: "until the namespace is deleted, do not change its annotations, or the CARM maps",
  example: "kubectl delete namespace team-a # while it contains a Bucket",
  on: ["DELETE"],
} as const satisfies CheckEntry;
