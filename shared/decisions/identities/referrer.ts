import type { Runtime } from "../context.ts";
import type { FieldPath } from "../kubernetes/field-path.ts";
import { field, type JsonObject, stringAt } from "../kubernetes/json.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { type IdentityReference, readReference } from "./identity.ts";
import { CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, type ReferrerKind, referrerKindOf } from "./kinds.ts";

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
  /** The name of the Cluster that the object belongs to; null if the label is missing. */
  readonly clusterName: string | null;
  readonly annotations: ReadonlyMap<string, string>;
  /** Whether the object has a deletion timestamp. */
  readonly deleting: boolean;
}

/** The label in which Cluster API records the name of the Cluster that an object belongs to. */
const CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name";

const DEFAULT_REFERENCE: IdentityReference = { kind: CONTROLLER_IDENTITY, name: CONTROLLER_IDENTITY_NAME };

/**
 * Reads an object that refers to an identity. Returns null if its kind has no reference. An object without a namespace
 * is in `defaultNamespace`.
 */
export function readReferrer(object: JsonObject, defaultNamespace = "default"): Referrer | null {
  const { group, version, kind, namespace, name, labels, annotations } = objectMeta(object);
  const known = referrerKindOf({ group, kind });
  if (known === null) return null;
  const spec = specOf(object, known);
  return {
    group,
    version,
    kind,
    namespace: namespace === "" ? defaultNamespace : namespace,
    name: name === "" ? null : name,
    written: readReference(field(spec, "identityRef")),
    isDefaulted: known.isDefaulted,
    region: stringAt(spec, "region"),
    clusterName: labels.get(CLUSTER_LABEL) ?? null,
    annotations,
    deleting: (stringAt(object, "metadata", "deletionTimestamp") ?? "") !== "",
  };
}

/** Returns the spec that contains the reference. */
function specOf(object: JsonObject, { isTemplate }: ReferrerKind): unknown {
  const spec = field(object, "spec");
  return isTemplate ? field(field(spec, "template"), "spec") : spec;
}

/** Returns the path of the reference in an object of the kind. */
export function referrerPath(kind: Pick<Referrer, "group" | "kind">): FieldPath {
  const isTemplate = referrerKindOf(kind)?.isTemplate === true;
  return isTemplate ? ["spec", "template", "spec", "identityRef"] : ["spec", "identityRef"];
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
