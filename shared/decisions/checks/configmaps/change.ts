import type { FieldPath } from "../../kubernetes/field-path.ts";
import { field, isJsonObject, type JsonObject, stringMap } from "../../kubernetes/json.ts";
import { objectMeta } from "../../kubernetes/object-meta.ts";
import type { CheckContext, CheckInput } from "../change.ts";

/** A step of one of the two CARM ConfigMaps, from the stored one to the new one. */
export interface ConfigMapChange extends CheckContext {
  /** The ConfigMap as it is to be; at DELETE as it was. */
  readonly object: JsonObject;
  readonly namespace: string;
  readonly name: string;
  /** What is in it once the change is made: nothing at DELETE. */
  readonly data: ReadonlyMap<string, string>;
  /** What was in it before: nothing at CREATE. */
  readonly stored: ReadonlyMap<string, string>;
}

/** Controllers look in one namespace alone. Of a file that names none kubectl decides. */
export function isRead({ namespace, settings }: ConfigMapChange): boolean {
  return namespace === settings.ackSystemNamespace;
}

export function configMapChange({ object, old }: Pick<CheckInput, "object" | "old">, context: CheckContext): ConfigMapChange {
  const { name, namespace } = objectMeta(object);
  const deleting = context.operation === "DELETE";
  const stored = deleting ? object : old;
  return {
    ...context, object, name, namespace: namespace === "" ? "default" : namespace,
    data: deleting ? new Map() : dataOf(object),
    stored: stored === null ? new Map() : dataOf(stored),
  };
}

function dataOf(object: JsonObject): ReadonlyMap<string, string> {
  return stringMap(field(object, "data"));
}

/** The keys of `data` whose values are no text, which the API server would refuse. */
export function valuesOfAnotherType(object: JsonObject): string[] {
  const data = field(object, "data");
  return isJsonObject(data) ? Object.keys(data).filter((key) => typeof data[key] !== "string") : [];
}

export function keyPath(key: string): FieldPath {
  return ["data", { key }];
}
