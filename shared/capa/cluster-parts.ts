import { field, type FieldPath, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { type KindName, objectMeta, objectReference, splitAPIVersion } from "../formats/object-meta.ts";
import { CONTROL_PLANE_GROUP, INFRASTRUCTURE_GROUP, REFERRER_KINDS } from "../core/capa-kinds.ts";

// The objects without an identityRef for which CAPA uses the identity of their Cluster. CAPA finds the Cluster of a
// machine or a pool by the label of its owner, which is a Machine or a MachinePool, and that of an AWSFargateProfile by
// `spec.clusterName`. Cluster API sets the owner, and sets the label to `spec.clusterName` of the owner. Source:
// kubernetes-sigs/cluster-api-provider-aws v2.10, controllers/ and exp/controllers/.

interface PartKind extends KindName {
  /** The resource name of the kind, in webhook rules. */
  readonly plural: string;
}

/** The label in which Cluster API records the name of the Cluster that an object belongs to. */
export const CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name";
export const CLUSTER_GROUP = "cluster.x-k8s.io";

/** An owner reference that names a Cluster of Cluster API. */
// A type and not an interface, so that the value is also a JsonObject.
type ClusterOwner = { readonly apiVersion: string; readonly kind: "Cluster"; readonly name: string };

/** Returns the first owner reference of the object that names a Cluster, or null. */
export function clusterOwner(object: JsonObject): ClusterOwner | null {
  const owners = field(field(object, "metadata"), "ownerReferences");
  for (const owner of Array.isArray(owners) ? owners : []) {
    const [apiVersion, name] = [stringAt(owner, "apiVersion") ?? "", stringAt(owner, "name") ?? ""];
    const isCluster = stringAt(owner, "kind") === "Cluster" && isOfClusterAPI(apiVersion);
    if (isCluster && name !== "") return { apiVersion, kind: "Cluster", name };
  }
  return null;
}

/** Cluster API ignores an owner reference whose apiVersion has no version. */
function isOfClusterAPI(apiVersion: string): boolean {
  const { group, version } = splitAPIVersion(apiVersion);
  return group === CLUSTER_GROUP && version !== "";
}

/** The kinds of CAPA, and the kinds of Cluster API from which its controllers create, change and delete them. */
export const PART_KINDS: readonly PartKind[] = [
  ...["AWSMachine", "AWSMachinePool", "AWSManagedMachinePool", "AWSFargateProfile", "ROSAMachinePool"].map((kind) => (
    partKind(INFRASTRUCTURE_GROUP, kind)
  )),
  ...["Cluster", "Machine", "MachineSet", "MachineDeployment", "MachinePool"].map((kind) => (
    partKind(CLUSTER_GROUP, kind)
  )),
  partKind(CONTROL_PLANE_GROUP, "KubeadmControlPlane"),
];

function partKind(group: string, kind: string): PartKind {
  return { group, kind, plural: `${kind.toLowerCase()}s` };
}

/** Returns whether CAPA uses the identity of a Cluster for objects of the kind, or for objects created from them. */
export function isPartKind({ group, kind }: KindName): boolean {
  return PART_KINDS.some((known) => known.group === group && known.kind === kind);
}

export function isClusterPart(object: JsonObject): boolean {
  return isPartKind(objectReference(object));
}

/** The name of a Cluster in an object, and the field that contains it. */
interface ClusterName {
  readonly name: string;
  readonly path: FieldPath;
}

/** An object that names the object with the identity of a Cluster. */
interface ReferrerName {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly path: FieldPath;
}

/** A part of a Cluster. */
export interface ClusterPart {
  readonly namespace: string;
  readonly clusters: readonly ClusterName[];
  /** The objects with an identity that a Cluster names. */
  readonly referrers: readonly ReferrerName[];
  /** The owners that decide on the Cluster, as `KIND/NAME`. */
  readonly owners: readonly string[];
  /** Whether CAPA acts for the object. Cluster API also supports other infrastructure, which has no identity. */
  readonly isOfAWS: boolean;
}

const LABEL_PATH: FieldPath = ["metadata", "labels", { key: CLUSTER_LABEL }];
export const OWNERS_PATH: FieldPath = ["metadata", "ownerReferences"];

/** Reads a part of a Cluster. */
export function readClusterPart(object: JsonObject): ClusterPart {
  const { group, kind, namespace, name, labels } = objectMeta(object);
  const common = { namespace, owners: [], referrers: [] };
  if (group === CLUSTER_GROUP && kind === "Cluster") {
    const clusters = name === "" ? [] : [{ name, path: ["metadata", "name"] }];
    return { ...common, clusters, referrers: referrersOf(object), isOfAWS: false };
  }
  const written = [
    { name: labels.get(CLUSTER_LABEL) ?? "", path: LABEL_PATH },
    { name: stringAt(object, "spec", "clusterName") ?? "", path: ["spec", "clusterName"] },
    { name: clusterOwner(object)?.name ?? "", path: OWNERS_PATH },
  ];
  const clusters = written.filter((one) => one.name !== "");
  if (group === INFRASTRUCTURE_GROUP) return { ...common, clusters, owners: ownersOf(object), isOfAWS: true };
  return { ...common, clusters, isOfAWS: isOfAWS(field(object, "spec")) };
}

/** Returns the objects that a Cluster names as its infrastructure and its control plane, if they have an identity. */
function referrersOf(cluster: JsonObject): ReferrerName[] {
  return ["infrastructureRef", "controlPlaneRef"].flatMap((key) => {
    const path = ["spec", key];
    const known = REFERRER_KINDS.find(({ kind }) => kind === stringAt(cluster, ...path, "kind"));
    if (known === undefined) return [];
    return [{ group: known.group, kind: known.kind, name: stringAt(cluster, ...path, "name") ?? "", path }];
  });
}

/**
 * Whether the infrastructure of a machine, or of a template of machines, is a kind of CAPA. A KubeadmControlPlane has
 * no effect before a Cluster names it, so its infrastructure does not matter.
 */
function isOfAWS(spec: unknown): boolean {
  const machine = field(field(spec, "template"), "spec") ?? spec;
  const kind = stringAt(machine, "infrastructureRef", "kind") ?? "";
  return isPartKind({ group: INFRASTRUCTURE_GROUP, kind: kind.replace(/Template$/, "") });
}

/** Returns the owners of the object that are a Machine or a MachinePool. */
function ownersOf(object: JsonObject): string[] {
  const owners = field(field(object, "metadata"), "ownerReferences");
  return (Array.isArray(owners) ? owners : []).filter(isJsonObject).flatMap((owner) => {
    const [kind, apiVersion] = [stringAt(owner, "kind") ?? "", stringAt(owner, "apiVersion") ?? ""];
    return isOfClusterAPI(apiVersion) && kind.startsWith("Machine") ? [`${kind}/${stringAt(owner, "name") ?? ""}`] : [];
  });
}
