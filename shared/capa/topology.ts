import { referrerKindOf } from "../core/capa-kinds.ts";
import type { Derivation, DerivedObject } from "../core/derivation.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, stringAt, valueAt } from "../formats/json.ts";
import { namespaceOrDefault, objectReference, splitAPIVersion } from "../formats/object-meta.ts";
import {
  identityPatches, listAt, type Part, PARTS, type PatchedReference, type Patches, patchedReference, type Variables,
  variablesAt,
} from "./class-patches.ts";
import { CLUSTER_GROUP, CLUSTER_LABEL } from "./cluster-parts.ts";

/**
 * Returns the objects that Cluster API creates from the Clusters with a topology, if patches of their ClusterClass set
 * the identity. Another template is judged as it is written. A Cluster of a live cluster has its objects already.
 */
export function deriveClusters(objects: readonly JsonObject[]): Derivation {
  const clusters = objects.filter((object) => isOfKind(object, "Cluster") && isPlanned(object));
  if (clusters.length === 0) return { objects: [], unknown: [] };
  const byName = new Map(objects.map((object) => [keyOf(objectReference(object)), object]));
  const classes = new Map(objects.filter((object) => isOfKind(object, "ClusterClass"))
    .map((object) => [keyOf(objectReference(object)), plannedClass(object, byName)]));
  const results = clusters.flatMap((cluster) => resultsOf(cluster, classes).map((result) => ({ cluster, result })));
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

/** What all Clusters of a ClusterClass share. */
interface PlannedClass {
  readonly defaults: Variables;
  readonly parts: readonly PlannedPart[];
}

/** A template, and the patches that set its identity. */
interface PlannedPart extends Derived {
  readonly part: Part;
  readonly patches: Patches;
  /** The identityRef that the template contains. */
  readonly written: unknown;
}

function plannedClass(clusterClass: JsonObject, byName: ObjectsByKey): PlannedClass {
  return {
    defaults: variablesAt(clusterClass, ["spec", "variables"], ["schema", "openAPIV3Schema", "default"]),
    parts: PARTS.flatMap((part) => plannedPart(part, clusterClass, byName)),
  };
}

/** Returns a part whose identity patches can set. */
function plannedPart(part: Part, clusterClass: JsonObject, byName: ObjectsByKey): readonly PlannedPart[] {
  const inClass = valueAt(clusterClass, ["spec", part[0]]);
  const template = field(inClass, "templateRef") ?? field(inClass, "ref");
  const [apiVersion, kind] = [stringAt(template, "apiVersion") ?? "", stringAt(template, "kind") ?? ""];
  const { group } = splitAPIVersion(apiVersion);
  if (referrerKindOf({ group, kind })?.isTemplate !== true) return [];
  const patches = identityPatches(clusterClass, part, { apiVersion, kind });
  if (patches?.length === 0) return [];
  const { namespace } = objectReference(clusterClass);
  const object = byName.get(keyOf({ group, kind, namespace, name: stringAt(template, "name") ?? "" }));
  const spec = valueAt(object, ["spec", "template", "spec"]);
  const derived = { apiVersion, kind: kind.replace(/Template$/, ""), region: field(spec, "region") };
  return [{ ...derived, part, patches, written: field(spec, "identityRef") }];
}

/** Returns the objects of a Cluster; null for one that cannot be computed. */
function resultsOf(
  cluster: JsonObject, classes: ReadonlyMap<string, PlannedClass>,
): readonly (DerivedObject | null)[] {
  const topology = field(field(cluster, "spec"), "topology");
  const { namespace: own, name } = objectReference(cluster);
  const ofClass = stringAt(topology, "classRef", "namespace") ?? stringAt(topology, "classNamespace") ?? own;
  const className = stringAt(topology, "classRef", "name") ?? stringAt(topology, "class") ?? "";
  const id = { group: CLUSTER_GROUP, kind: "ClusterClass", namespace: ofClass, name: className };
  const planned = classes.get(keyOf(id));
  if (planned === undefined) return seemsToSetIdentity(cluster) ? [null] : [];
  if (planned.parts.length === 0) return [];
  const builtin: Variables = new Map([["builtin", {
    object: { cluster: { name, namespace: namespaceOrDefault(own) } }, path: [],
  }]]);
  const shared = [variablesAt(cluster, VARIABLES, ["value"]), planned.defaults];
  return planned.parts.map(({ part: [part], patches, written, ...derived }) => {
    const overrides = part === "controlPlane" ? [variablesAt(cluster, OVERRIDES, ["value"])] : [];
    const reference = patchedReference(written, patches, [builtin, ...overrides, ...shared]);
    return reference === null ? null : derivedObject(cluster, reference, derived);
  });
}

const VARIABLES = ["spec", "topology", "variables"] as const;
/** Values of variables for the templates of the control plane only. */
const OVERRIDES = ["spec", "topology", "controlPlane", "variables", "overrides"] as const;

/** Whether a variable seems to name an identity. One that is a whole reference is counted as such. */
function seemsToSetIdentity(cluster: JsonObject): boolean {
  return [...listAt(cluster, ...VARIABLES), ...listAt(cluster, ...OVERRIDES)].some((one) => (
    /identity/i.test(stringAt(one, "name") ?? "") && typeof field(one, "value") === "string"
  ));
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
