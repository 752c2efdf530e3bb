import { LAST_APPLIED } from "../core/annotation-keys.ts";
import type { Origin } from "../core/context.ts";
import { field, isJsonObject, type JsonObject, parseJSON } from "../formats/json.ts";
import { definedKind, isKindDefinition, isNamespace } from "../core/ack-groups.ts";
import { annotationAt, objectReference } from "../formats/object-meta.ts";
import { rewriteTypeEntries } from "../core/resource-types.ts";
import { objectKey, storedName } from "./object-key.ts";

/** The objects that exist after manifests are applied or deleted. */
export interface ProposedState {
  readonly objects: readonly JsonObject[];
  /** The manifests to delete that match no existing object. */
  readonly absent: readonly JsonObject[];
}

/** Returns the objects that exist after `kubectl apply` of the manifests. */
export function stateAfterApply(
  objects: readonly JsonObject[], manifests: readonly JsonObject[], origin: Origin,
): ProposedState {
  const applied = new Map<string, JsonObject>();
  const nameless: JsonObject[] = [];
  for (const manifest of manifests) {
    const key = objectKey(manifest);
    if (key === null) nameless.push(manifest);
    else applied.set(key, manifest);
  }
  const existing = objects.map((stored) => {
    const key = objectKey(stored) ?? "";
    const manifest = applied.get(key);
    applied.delete(key);
    return manifest === undefined ? stored : appliedObject(manifest, stored, origin);
  });
  const created = [...applied.values(), ...nameless].map((manifest) => appliedObject(manifest, null, origin));
  return { objects: [...existing, ...created], absent: [] };
}

/**
 * Returns the objects that exist after `kubectl delete` of the manifests. The deletion of a Namespace also deletes its
 * objects. The deletion of a CustomResourceDefinition also deletes all objects of the kind.
 */
export function stateAfterDelete(objects: readonly JsonObject[], manifests: readonly JsonObject[]): ProposedState {
  const present = new Set(objects.map(objectKey));
  const deleted = new Set(manifests.map(objectKey));
  const namespaces = new Set(manifests.filter(isNamespace).map((object) => objectReference(object).name));
  const kinds = new Set(manifests.filter(isKindDefinition).map((object) => kindKey(definedKind(object))));
  const isDeleted = (object: JsonObject): boolean => {
    const inNamespace = namespaces.has(storedName(object)?.namespace ?? "");
    return deleted.has(objectKey(object)) || inNamespace || kinds.has(kindKey(objectReference(object)));
  };
  return {
    objects: objects.filter((object) => !isDeleted(object)),
    absent: manifests.filter((manifest) => !present.has(objectKey(manifest))),
  };
}

function kindKey({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${kind}.${group}`;
}

/**
 * Returns the object that a manifest creates, or that results if it is merged into the stored object. The status, the
 * deletion timestamp and other metadata remain. If the state comes from a folder, the manifest replaces labels,
 * annotations and data. If the state comes from a cluster, the labels, annotations and data of other writers remain.
 */
export function appliedObject(manifest: JsonObject, stored: JsonObject | null, origin: Origin): JsonObject {
  const applied = rewriteTypes(manifest);
  if (stored === null) return applied;
  const last = origin === "cluster" ? lastApplied(stored) : null;
  const merged = (...path: readonly string[]): unknown => {
    const [before, now, lastNow] = [stored, applied, last].map((object) => path.reduce<unknown>(field, object));
    return origin === "cluster" ? mergeMaps(before, now, lastNow) : now;
  };
  const {
    resourceVersion: _older, ...metadata
  } = { ...objectAt(stored, "metadata"), ...objectAt(applied, "metadata") };
  const maps = { labels: merged("metadata", "labels"), annotations: merged("metadata", "annotations") };
  const result = {
    ...applied, metadata: { ...metadata, ...maps },
    data: merged("data"), status: field(stored, "status") ?? field(applied, "status"),
  };
  return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined));
}

/**
 * Merges maps like `kubectl apply`: removes each key that the last apply set and the manifest lacks. The keys of other
 * writers remain.
 */
function mergeMaps(stored: unknown, manifest: unknown, last: unknown): unknown {
  if (!isJsonObject(stored)) return manifest;
  const others = Object.entries(stored).filter(([key]) => field(last, key) === undefined);
  return Object.fromEntries([...others, ...Object.entries(isJsonObject(manifest) ? manifest : {})]);
}

/**
 * Returns the manifest in the last-applied annotation of kubectl (k8s.io/api core/v1 LastAppliedConfigAnnotation).
 * Returns undefined if the annotation is missing or invalid.
 */
function lastApplied(stored: JsonObject): unknown {
  return parseJSON(annotationAt(stored, LAST_APPLIED) ?? "");
}

function objectAt(object: JsonObject, key: string): JsonObject {
  const value = field(object, key);
  return isJsonObject(value) ? value : {};
}

/** Rewrites a selector's `{apiVersion, kind}` entries to `{group, version, kind}`, as the webhook does. */
function rewriteTypes(manifest: JsonObject): JsonObject {
  const spec = objectAt(manifest, "spec");
  const entries = field(spec, "resourceTypeSelector");
  const patch = rewriteTypeEntries(manifest);
  if (patch.length === 0 || !Array.isArray(entries)) return manifest;
  const byPath = new Map(
    patch.map((operation) => [operation.path, "value" in operation ? operation.value : undefined]),
  );
  const resourceTypeSelector = entries.map(
    (entry: unknown, i) => byPath.get(`/spec/resourceTypeSelector/${i}`) ?? entry,
  );
  return { ...manifest, spec: { ...spec, resourceTypeSelector } };
}
