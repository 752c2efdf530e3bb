import type { Origin } from "../../decisions/context.ts";
import { field, isJsonObject, type JsonObject, parseJSON, stringAt } from "../../decisions/kubernetes/json.ts";
import { objectMeta } from "../../decisions/kubernetes/object-meta.ts";
import { rewriteTypeEntries } from "../../decisions/selectors/type-entry.ts";
import { identityKey, identityOf } from "./identity.ts";

/** The objects that there would be, and of the manifests those that would do nothing. */
export interface ProposedState {
  readonly objects: readonly JsonObject[];
  /** Manifests to delete of which there is no object. */
  readonly absent: readonly JsonObject[];
}

/** What `kubectl apply` of the manifests would leave: each replaces the object of its name, or is new. */
export function stateWith(objects: readonly JsonObject[], manifests: readonly JsonObject[], origin: Origin): ProposedState {
  const applied = new Map<string, JsonObject>();
  const nameless: JsonObject[] = [];
  for (const manifest of manifests) {
    const key = keyOf(manifest);
    if (key === null) nameless.push(manifest);
    else applied.set(key, manifest);
  }
  const kept = objects.map((stored) => {
    const key = keyOf(stored) ?? "";
    const manifest = applied.get(key);
    applied.delete(key);
    return manifest === undefined ? stored : applyManifest(manifest, stored, origin);
  });
  return { objects: [...kept, ...[...applied.values(), ...nameless].map(rewritten)], absent: [] };
}

/** What `kubectl delete` of the manifests would leave. With a Namespace all that is in it goes, with a CustomResourceDefinition all of its kind. */
export function stateWithout(objects: readonly JsonObject[], manifests: readonly JsonObject[]): ProposedState {
  const present = new Set(objects.map(keyOf));
  const gone = new Set(manifests.map(keyOf));
  const namespaces = new Set(manifests.flatMap((object) => (isNamespace(object) ? [objectMeta(object).name] : [])));
  const kinds = new Set(manifests.flatMap((object) => (isDefinition(object) ? [kindKey(stringAt(object, "spec", "group"), stringAt(object, "spec", "names", "kind"))] : [])));
  const goes = (object: JsonObject): boolean => {
    const { group, kind } = objectMeta(object);
    return gone.has(keyOf(object)) || namespaces.has(identityOf(object)?.namespace ?? "") || kinds.has(kindKey(group, kind));
  };
  return { objects: objects.filter((object) => !goes(object)), absent: manifests.filter((manifest) => !present.has(keyOf(manifest))) };
}

function keyOf(object: JsonObject): string | null {
  const identity = identityOf(object);
  return identity === null ? null : identityKey(identity);
}

function isNamespace(object: JsonObject): boolean {
  const { group, kind } = objectMeta(object);
  return kind === "Namespace" && group === "";
}

function isDefinition(object: JsonObject): boolean {
  const { group, kind } = objectMeta(object);
  return kind === "CustomResourceDefinition" && group === "apiextensions.k8s.io";
}

function kindKey(group: string | null, kind: string | null): string {
  return `${kind ?? ""}.${group ?? ""}`;
}

/**
 * The stored object keeps what a manifest does not speak of: its status, which apply never writes, its deletion, and in a cluster
 * the labels, annotations and data that others put there. In a folder the manifest is all that there is of the object.
 */
function applyManifest(manifest: JsonObject, stored: JsonObject, origin: Origin): JsonObject {
  const written = rewritten(manifest);
  const last = origin === "cluster" ? lastApplied(stored) : null;
  const merged = (...path: readonly string[]): unknown => {
    const [before, now, lastly] = [stored, written, last].map((object) => path.reduce<unknown>(field, object));
    return origin === "cluster" ? mergeMaps(before, now, lastly) : now;
  };
  const { resourceVersion: _older, ...metadata } = { ...objectAt(stored, "metadata"), ...objectAt(written, "metadata") };
  const result = {
    ...written, metadata: { ...metadata, labels: merged("metadata", "labels"), annotations: merged("metadata", "annotations") },
    data: merged("data"), status: field(stored, "status") ?? field(written, "status"),
  };
  return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined));
}

/** Three-way, as kubectl merges maps: what was applied last and is not any more goes, what others added stays. */
function mergeMaps(stored: unknown, manifest: unknown, last: unknown): unknown {
  if (!isJsonObject(stored)) return manifest;
  const kept = Object.entries(stored).filter(([key]) => field(last, key) === undefined);
  return Object.fromEntries([...kept, ...Object.entries(isJsonObject(manifest) ? manifest : {})]);
}

/** Where kubectl apply keeps what it applied (k8s.io/api core/v1 LastAppliedConfigAnnotation); undefined when another tool did. */
function lastApplied(stored: JsonObject): unknown {
  return parseJSON(objectMeta(stored).annotations.get("kubectl.kubernetes.io/last-applied-configuration") ?? "");
}

function objectAt(object: JsonObject, key: string): JsonObject {
  const value = field(object, key);
  return isJsonObject(value) ? value : {};
}

/** As the webhook stores it: `{apiVersion, kind}` entries of a selector in the form that controllers read. */
function rewritten(manifest: JsonObject): JsonObject {
  const spec = objectAt(manifest, "spec");
  const entries = field(spec, "resourceTypeSelector");
  const patch = rewriteTypeEntries(manifest);
  if (patch.length === 0 || !Array.isArray(entries)) return manifest;
  const byPath = new Map(patch.map((operation) => [operation.path, "value" in operation ? operation.value : undefined]));
  const resourceTypeSelector = entries.map((entry: unknown, i) => byPath.get(`/spec/resourceTypeSelector/${i}`) ?? entry);
  return { ...manifest, spec: { ...spec, resourceTypeSelector } };
}
