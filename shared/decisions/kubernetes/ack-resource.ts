import { field, type JsonObject, stringAt } from "./json.ts";
import type { Labels } from "./label-selector.ts";
import { objectMeta } from "./object-meta.ts";

/** What ACK wrote into `status.ackResourceMetadata` of a resource that exists in AWS. */
export interface ResourceStatus {
  readonly ownerAccountID: string | null;
  readonly region: string | null;
}

/** A resource that a role is wanted for: one that exists, or one that is asked about (`name` null). */
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

/** Reads an ACK resource. ACK resources are namespaced, so one without a namespace is in `defaultNamespace`. */
export function queryOf(object: JsonObject, defaultNamespace: string): ResourceQuery {
  const { group, version, kind, namespace, name, labels, annotations } = objectMeta(object);
  const metadata = field(field(object, "status"), "ackResourceMetadata");
  return {
    group, version, kind, labels, annotations,
    namespace: namespace === "" ? defaultNamespace : namespace,
    name: name === "" ? null : name,
    status: { ownerAccountID: nonEmpty(stringAt(metadata, "ownerAccountID")), region: nonEmpty(stringAt(metadata, "region")) },
  };
}

/** A resource of the inventory: what a role is decided by, and how it stands in AWS. */
export interface ACKResource extends ResourceQuery {
  /** Whether it was ever made in AWS: ACK knows its ARN, or has synced it once. */
  readonly created: boolean;
  /** Whether it is being deleted and waits for its finalizer. */
  readonly deleting: boolean;
}

/** Reads a stored ACK resource; one that a manifest puts in no namespace is in `default`, as kubectl has it. */
export function resourceOf(object: JsonObject): ACKResource {
  const metadata = field(object, "metadata");
  const status = field(object, "status");
  const conditions = field(status, "conditions");
  const synced = Array.isArray(conditions) && conditions.some((one) => stringAt(one, "type") === "ACK.ResourceSynced" && stringAt(one, "status") === "True");
  return {
    ...queryOf(object, "default"),
    created: synced || nonEmpty(stringAt(status, "ackResourceMetadata", "arn")) !== null,
    deleting: nonEmpty(stringAt(metadata, "deletionTimestamp")) !== null,
  };
}

function nonEmpty(text: string | null): string | null {
  return text === "" ? null : text;
}
