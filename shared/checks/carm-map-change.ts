import { field, type FieldPath, type JsonObject, stringMap } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import type { CheckContext, CheckInput } from "./change.ts";

/** A change of a CARM ConfigMap: the account map or the team map. */
export interface ConfigMapChange extends CheckContext {
  /** The ConfigMap after the change; at DELETE the deleted ConfigMap. */
  readonly object: JsonObject;
  /** The namespace of the ConfigMap. If a manifest sets no namespace, the namespace is "default", as with kubectl. */
  readonly namespace: string;
  readonly name: string;
  /** The data of the ConfigMap after the change; empty at DELETE. */
  readonly data: ReadonlyMap<string, string>;
  /** The data of the ConfigMap before the change; empty at CREATE. */
  readonly stored: ReadonlyMap<string, string>;
}

/** Returns the change that the ConfigMap checks examine. */
export function configMapChange(
  { object, old }: Pick<CheckInput, "object" | "old">, context: CheckContext,
): ConfigMapChange {
  const { name, namespace } = objectReference(object);
  const isDeletion = context.operation === "DELETE";
  const stored = isDeletion ? object : old;
  return {
    ...context, object, name, namespace: namespace === "" ? "default" : namespace,
    data: isDeletion ? new Map() : dataOf(object),
    stored: stored === null ? new Map() : dataOf(stored),
  };
}

function dataOf(object: JsonObject): ReadonlyMap<string, string> {
  return stringMap(field(object, "data"));
}

/** Returns whether controllers read the ConfigMap. Controllers read only ConfigMaps in their own namespace. */
export function isReadByControllers({ namespace, settings }: ConfigMapChange): boolean {
  return namespace === settings.ackSystemNamespace;
}

/** Returns the path of a key of `data`. */
export function dataPath(key: string): FieldPath {
  return ["data", { key }];
}
