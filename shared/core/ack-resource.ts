import { field, type JsonObject, stringAt } from "../formats/json.ts";
import type { Labels } from "../formats/label-selector.ts";
import { DEFAULT_NAMESPACE, objectMeta } from "../formats/object-meta.ts";

/**
 * The fields of `status.ackResourceMetadata` that affect decisions. ACK controllers write these fields when they first
 * try to create the resource in AWS, even if the attempt fails.
 */
export interface ResourceStatus {
  readonly ownerAccountID: string | null;
  readonly region: string | null;
}

/**
 * The version of a kind whose CustomResourceDefinition is unknown. All shipped ACK controllers use this version.
 * Source: the folder apis/v1alpha1 of each controller at github.com/aws-controllers-k8s.
 */
export const DEFAULT_VERSION = "v1alpha1";

/** A resource whose role is to be resolved. `name` is null for a hypothetical resource. */
export interface ResourceQuery {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string | null;
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
  readonly status: ResourceStatus;
}

/** Whether an object whose role is to be resolved is an ACK resource. */
export function isResource(object: object): object is ResourceQuery {
  return "status" in object;
}

/** Reads an ACK resource. ACK resources are namespaced, so `defaultNamespace` replaces a missing namespace. */
export function queryOf(object: JsonObject, defaultNamespace: string): ResourceQuery {
  const { group, version, kind, namespace, name, labels, annotations } = objectMeta(object);
  return {
    group,
    version,
    kind,
    labels,
    annotations,
    namespace: namespace === "" ? defaultNamespace : namespace,
    name: name === "" ? null : name,
    status: statusOf(object),
  };
}

/** Reads the status of an ACK resource. */
export function statusOf(object: JsonObject): ResourceStatus {
  const metadata = field(field(object, "status"), "ackResourceMetadata");
  return {
    ownerAccountID: nonEmpty(stringAt(metadata, "ownerAccountID")), region: nonEmpty(stringAt(metadata, "region")),
  };
}

/** A resource of the inventory. */
export interface ACKResource extends ResourceQuery {
  /**
   * Whether the status proves that the resource exists in AWS: it has an ARN, or its condition ACK.ResourceSynced is
   * True. A resource can exist in AWS without this proof, for example after a reconcile error.
   */
  readonly created: boolean;
  /** Whether the resource has a deletion timestamp. Only finalizers delay the removal of such a resource. */
  readonly deleting: boolean;
  /** Null for a resource in a manifest. */
  readonly uid: string | null;
  readonly resourceVersion: string | null;
}

/**
 * Whether the resource is pinned to an account: its status has an ARN or an owner account. Controllers reject a role of
 * another account for a pinned resource. Controllers record the account at the first attempt, even if the attempt
 * creates nothing. Source: aws-controllers-k8s/runtime pkg/runtime/reconciler.go, getOwnerAccountID.
 */
export function isPinned({ created, status }: Pick<ACKResource, "created" | "status">): boolean {
  return created || status.ownerAccountID !== null;
}

/** Reads a stored ACK resource. A resource without a namespace is in the default one. */
export function resourceOf(object: JsonObject): ACKResource {
  const metadata = field(object, "metadata");
  const query = queryOf(object, DEFAULT_NAMESPACE);
  const { group, version, kind, namespace, name, labels, annotations } = query;
  return {
    group,
    version,
    kind,
    namespace,
    name,
    labels,
    annotations,
    status: query.status,
    created: isCreated(object),
    deleting: nonEmpty(stringAt(metadata, "deletionTimestamp")) !== null,
    uid: nonEmpty(stringAt(metadata, "uid")),
    resourceVersion: nonEmpty(stringAt(metadata, "resourceVersion")),
  };
}

function isCreated(object: JsonObject): boolean {
  const status = field(object, "status");
  const conditions = field(status, "conditions");
  return nonEmpty(stringAt(status, "ackResourceMetadata", "arn")) !== null
    || Array.isArray(conditions) && conditions.some(isSyncedCondition);
}

/** Returns the account in which a resource exists in AWS; null if its status does not prove that it exists. */
export function createdIn(object: JsonObject): string | null {
  return isCreated(object) ? statusOf(object).ownerAccountID : null;
}

/** Returns the start of a sentence about the account or the region that the status records. */
export function placeOf({ created }: Pick<ACKResource, "created">, what: "account" | "region"): string {
  if (!created) return `the status of the resource records ${what}`;
  return what === "account" ? "the resource is in account" : "the resource exists in region";
}

function isSyncedCondition(condition: unknown): boolean {
  return stringAt(condition, "type") === "ACK.ResourceSynced" && stringAt(condition, "status") === "True";
}

function nonEmpty(text: string | null): string | null {
  return text === "" ? null : text;
}

/** Returns the name of a resource for messages, such as `Bucket team-a/b1`. */
export function resourceName({ kind, namespace, name }: ACKResource): string {
  return `${kind} ${namespace}/${name ?? ""}`;
}
