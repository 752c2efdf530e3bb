import { ADOPTED_RESOURCE_KIND, isACKGroup, SELECTOR_GROUP } from "../core/ack-groups.ts";
import { DEFAULT_VERSION } from "../core/ack-resource.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";

const CREATED_PATH = ["spec", "kubernetes"] as const;

/** Returns the path in an AdoptedResource of a field of the resource that it creates. */
export function pathInAdopted([first = "", ...rest]: FieldPath): FieldPath {
  return [...CREATED_PATH, first === "apiVersion" ? "group" : first, ...rest];
}

/** Whether the object is an AdoptedResource, for which an ACK controller before runtime 0.62 creates a resource. */
function isAdoptedResource(object: JsonObject): boolean {
  const { group, kind } = objectReference(object);
  return group === SELECTOR_GROUP && kind === ADOPTED_RESOURCE_KIND;
}

/**
 * Returns the namespace whose labels and annotations decide the role of the object: for an AdoptedResource, that of the
 * resource that it creates.
 */
export function roleNamespaceOf(object: JsonObject): string {
  const { namespace } = objectReference(object);
  if (!isAdoptedResource(object)) return namespace;
  const named = stringAt(object, ...CREATED_PATH, "metadata", "namespace") ?? "";
  return named === "" ? namespaceOrDefault(namespace) : named;
}

/**
 * Returns the resource that the controller creates for an AdoptedResource, without its spec and status, which come from
 * AWS. Returns null if no ACK controller has the kind. `versionOf` returns the version of an installed kind.
 * Source: aws-controllers-k8s/runtime pkg/runtime/adoption_reconciler.go, Sync.
 */
export function createdResource(
  object: JsonObject, versionOf: (group: string, kind: string) => string | null,
): JsonObject | null {
  const target = field(field(object, "spec"), "kubernetes");
  const [group, kind] = [stringAt(target, "group") ?? "", stringAt(target, "kind") ?? ""];
  if (!isACKGroup(group) || kind === "") return null;
  const written = field(target, "metadata");
  const named = stringAt(written, "name") ?? "";
  const metadata = {
    ...(isJsonObject(written) && written), namespace: roleNamespaceOf(object),
    name: named === "" ? objectReference(object).name : named,
  };
  return { apiVersion: `${group}/${versionOf(group, kind) ?? DEFAULT_VERSION}`, kind, metadata };
}
