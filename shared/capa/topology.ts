import { referrerKindOf } from "../core/capa-kinds.ts";
import type { Derivation, DerivedObject } from "../core/derivation.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, stringAt, valueAt } from "../formats/json.ts";
import { namespaceOrDefault, objectReference, splitAPIVersion } from "../formats/object-meta.ts";
import { identityPatches, listAt, type PatchedReference, patchedReference, type Topology } from "./class-patches.ts";
import { CLUSTER_GROUP, CLUSTER_LABEL } from "./cluster-parts.ts";

/** The parts of a ClusterClass that name the template of an object with an identity. */
const PARTS = ["infrastructure", "controlPlane"] as const;

/**
 * Returns the objects that Cluster API creates from the Clusters with a topology, if patches of their ClusterClass set
 * the identity. Another template is judged as it is written. A Cluster of a live cluster has its objects already.
 */
export function deriveClusters(objects: readonly JsonObject[]): Derivation {
  const clusters = objects.filter((object) => isOfKind(object, "Cluster") && isPlanned(object));
  if (clusters.length === 0) return { objects: [], unknown: [] };
  const byName = new Map(objects.map((object) => [keyOf(objectReference(object)), object]));
  const results = clusters.flatMap((cluster) => resultsOf(cluster, byName).map((result) => ({ cluster, result })));
  return {
    objects: results.flatMap(({ result }) => result ?? []),
    unknown: results.filter(({ result }) => result === null).map(({ cluster }) => cluster),
  };
}

function isOfKind(object: JsonObject, kind: string): boolean {
  const type = objectReference(object);
  return type.kind === kind && type.group === CLUSTER_GROUP;
}

function isPlanned(cluster: JsonObject): boolean {
  const spec = field(cluster, "spec");
  return isJsonObject(field(spec, "topology")) && field(spec, "infrastructureRef") === undefined;
}

type ObjectsByKey = ReadonlyMap<string, JsonObject>;

function keyOf(id: { readonly group: string; readonly kind: string; namespace: string; name: string }): string {
  return `${id.kind}.${id.group} ${namespaceOrDefault(id.namespace)}/${id.name}`;
}

/** Returns the objects of a Cluster; null for one that cannot be computed. */
function resultsOf(cluster: JsonObject, byName: ObjectsByKey): readonly (DerivedObject | null)[] {
  const topology = field(field(cluster, "spec"), "topology");
  const { namespace: own, name } = objectReference(cluster);
  const ofClass = stringAt(topology, "classRef", "namespace") ?? stringAt(topology, "classNamespace") ?? own;
  const className = stringAt(topology, "classRef", "name") ?? stringAt(topology, "class") ?? "";
  const id = { group: CLUSTER_GROUP, kind: "ClusterClass", namespace: ofClass, name: className };
  const clusterClass = byName.get(keyOf(id));
  if (clusterClass === undefined) return seemsToSetIdentity(topology) ? [null] : [];
  const builtin = { cluster: { name, namespace: namespaceOrDefault(own) } };
  return PARTS.flatMap((part) => partOf(part, { cluster, clusterClass, builtin }, byName));
}

/** Whether a variable seems to name an identity. One that is a whole reference is counted as such. */
function seemsToSetIdentity(topology: unknown): boolean {
  return listAt(topology, "variables").some((one) => (
    /identity/i.test(stringAt(one, "name") ?? "") && typeof field(one, "value") === "string"
  ));
}

function partOf(
  part: (typeof PARTS)[number], topology: Topology, byName: ObjectsByKey,
): readonly (DerivedObject | null)[] {
  const { cluster, clusterClass } = topology;
  const inClass = valueAt(clusterClass, ["spec", part]);
  const template = field(inClass, "templateRef") ?? field(inClass, "ref");
  const [apiVersion, kind] = [stringAt(template, "apiVersion") ?? "", stringAt(template, "kind") ?? ""];
  const { group } = splitAPIVersion(apiVersion);
  const patches = referrerKindOf({ group, kind })?.isTemplate === true ? identityPatches(clusterClass, kind) : [];
  if (patches.length === 0) return [];
  const { namespace } = objectReference(clusterClass);
  const written = byName.get(keyOf({ group, kind, namespace, name: stringAt(template, "name") ?? "" }));
  const spec = valueAt(written, ["spec", "template", "spec"]);
  const reference = patchedReference(field(spec, "identityRef"), patches, topology);
  return [reference === null ? null : derivedObject(cluster, reference, {
    apiVersion, kind: kind.replace(/Template$/, ""), region: field(spec, "region"),
  })];
}

const TOPOLOGY: FieldPath = ["spec", "topology"];

interface Derived {
  readonly apiVersion: string;
  readonly kind: string;
  readonly region: unknown;
}

/** Returns the object with the name of its Cluster. Cluster API appends random letters. */
function derivedObject(
  cluster: JsonObject, { value, sources }: PatchedReference, { apiVersion, kind, region }: Derived,
): DerivedObject {
  const { namespace, name } = objectReference(cluster);
  const metadata = { name, ...(namespace !== "" && { namespace }), labels: { [CLUSTER_LABEL]: name } };
  const spec = { ...(region !== undefined && { region }), identityRef: value };
  const inCluster = [...sources.values()].find((source) => source.object === cluster)?.path ?? TOPOLOGY;
  const pathOf = (path: FieldPath): FieldPath => {
    if (path[0] === "metadata") return path;
    const own = typeof path[2] === "string" ? sources.get(path[2]) : undefined;
    const source = own ?? sources.get("");
    return source?.object === cluster ? [...source.path, ...path.slice(own === undefined ? 2 : 3)] : inCluster;
  };
  return { object: { apiVersion, kind, metadata, spec }, from: cluster, pathOf, reads: [...sources.values()] };
}
