import type { Runtime } from "../core/context.ts";
import { field, type FieldPath, type JsonObject, stringAt } from "../formats/json.ts";
import type { RoleObject } from "../core/inventory.ts";
import { namespaceOrDefault, objectMeta } from "../formats/object-meta.ts";
import { readReference } from "./identity.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, type IdentityReference, type ReferrerKind, referrerKindOf,
} from "../core/capa-kinds.ts";
import { CLUSTER_LABEL, clusterOwner } from "./cluster-parts.ts";

/** An object that refers to an identity, such as an AWSCluster. */
export interface Referrer {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace: string;
  /** Null for an object that does not exist yet. */
  readonly name: string | null;
  /** The reference in the object; null if the object contains no reference. */
  readonly written: IdentityReference | null;
  /** See `ReferrerKind`. */
  readonly isDefaulted: boolean;
  /** The region in the object; null if it is missing. */
  readonly region: string | null;
  /** The name of the Cluster that the object belongs to; null if the owner and the label are missing. */
  readonly clusterName: string | null;
  readonly annotations: ReadonlyMap<string, string>;
  /** Whether the object has a deletion timestamp. */
  readonly deleting: boolean;
  /** Null for an object in a manifest. */
  readonly uid: string | null;
  readonly resourceVersion: string | null;
}

/** Returns whether an object whose role is to be resolved refers to an identity. Other objects are ACK resources. */
export function refersToIdentity(object: RoleObject): object is Referrer {
  return "written" in object;
}

const DEFAULT_REFERENCE: IdentityReference = { kind: CONTROLLER_IDENTITY, name: CONTROLLER_IDENTITY_NAME };

/** Reads an object that refers to an identity. Returns null if its kind has no reference. */
export function readReferrer(object: JsonObject): Referrer | null {
  const { group, version, kind, namespace, name, labels, annotations, resourceVersion } = objectMeta(object);
  const known = referrerKindOf({ group, kind });
  if (known === null) return null;
  const spec = specOf(object, known);
  const clusterLabel = labels.get(CLUSTER_LABEL) ?? "";
  return {
    group,
    version,
    kind,
    namespace: namespaceOrDefault(namespace),
    name: name === "" ? null : name,
    written: readReference(field(spec, "identityRef")),
    isDefaulted: known.isDefaulted,
    region: stringAt(spec, "region"),
    clusterName: clusterOwner(object)?.name ?? (clusterLabel === "" ? null : clusterLabel),
    annotations,
    deleting: (stringAt(object, "metadata", "deletionTimestamp") ?? "") !== "",
    uid: stringAt(object, "metadata", "uid"),
    resourceVersion,
  };
}

/** Whether the object is a template, from which Cluster API creates objects. CAPA creates nothing for a template. */
export function isOfTemplate(referrer: Pick<Referrer, "group" | "kind">): boolean {
  return referrerKindOf(referrer)?.isTemplate === true;
}

/** Returns the name of the Cluster that the object is a part of, or null. A template is not a part of a Cluster. */
export function clusterOf(referrer: Pick<Referrer, "group" | "kind" | "clusterName">): string | null {
  return isOfTemplate(referrer) ? null : referrer.clusterName;
}

/**
 * Returns the name of the Cluster in the tags with which CAPA finds the AWS resources of the object: the name of its
 * Cluster, or its own name until it has an owner. Returns null for a kind whose resources have no such tags. Source:
 * kubernetes-sigs/cluster-api-provider-aws, pkg/cloud/scope, `Name` of ClusterScope and ManagedControlPlaneScope.
 */
export function taggedClusterName({ kind, name, clusterName }: Referrer): string | null {
  return TAGGED_KINDS.has(kind) ? (clusterName ?? name) : null;
}

const TAGGED_KINDS: ReadonlySet<string> = new Set(["AWSCluster", "AWSManagedControlPlane"]);

/** Returns the spec that contains the reference. */
function specOf(object: JsonObject, { isTemplate }: ReferrerKind): unknown {
  const spec = field(object, "spec");
  return isTemplate ? field(field(spec, "template"), "spec") : spec;
}

/** Returns the path of the reference in an object of the kind. */
export function referrerPath(kind: Pick<Referrer, "group" | "kind">): FieldPath {
  return isOfTemplate(kind) ? ["spec", "template", "spec", "identityRef"] : ["spec", "identityRef"];
}

/**
 * Returns the identity that the object uses. A missing reference stands for the AWSClusterControllerIdentity. Returns
 * null if shipped CAPA uses its own credentials without an identity.
 */
export function referenceOf(
  { isDefaulted, written }: Pick<Referrer, "isDefaulted" | "written">, runtime: Runtime,
): IdentityReference | null {
  return written ?? (isDefaulted || runtime === "extended" ? DEFAULT_REFERENCE : null);
}

/** Returns the identity whose credentials the object uses. CAPA's own credentials belong to the controller identity. */
export function credentialsOf({ written }: Pick<Referrer, "written">): IdentityReference {
  return written ?? DEFAULT_REFERENCE;
}
