import { field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation } from "../kubernetes/json.ts";
import { rewriteTypeEntries } from "./type-entry.ts";

/**
 * The fields that ACK's CustomResourceDefinition requires: the path of the object that must have the field, the name of
 * the field, and the empty value.
 */
const REQUIRED: readonly Completion[] = [
  { path: ["spec", "namespaceSelector"], name: "names", empty: [] },
  { path: ["spec", "namespaceSelector", "labelSelector"], name: "matchLabels", empty: {} },
  { path: ["spec", "resourceLabelSelector"], name: "matchLabels", empty: {} },
];

interface Completion {
  readonly path: readonly string[];
  readonly name: string;
  readonly empty: unknown;
}

/**
 * Returns the JSON patch that adds the empty fields that ACK's CustomResourceDefinition requires, and rewrites the
 * entries of `resourceTypeSelector`. The API server validates the schema after the patch. An empty field has the same
 * meaning as a missing field.
 */
export function completionPatch(object: JsonObject): readonly PatchOperation[] {
  const additions = REQUIRED.flatMap(({ path, name, empty }): PatchOperation[] => {
    const parent = path.reduce<unknown>(field, object);
    if (!isJsonObject(parent) || (field(parent, name) ?? null) !== null) return [];
    return [{ op: "add", path: jsonPointer(...path, name), value: empty }];
  });
  return [...additions, ...rewriteTypeEntries(object)];
}
