import { field, type JsonObject, stringAt } from "./json.ts";
import type { Labels } from "./label-selector.ts";
import { objectMeta } from "./object-meta.ts";

/** The part of `status.ackResourceMetadata` that decisions read. ACK writes it for a resource that exists in AWS. */
export interface ResourceStatus {
  readonly ownerAccountID: string | null;
  readonly region: string | null;
}

/** A resource to resolve a role for. `name` is null for a hypothetical resource. */
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

/** Reads an ACK resource. ACK resources are namespaced, so `defaultNamespace` replaces a missing namespace. */
export function queryOf(object: JsonObject, defaultNamespace: string): ResourceQuery {
  const { group, version, kind, namespace, name, labels, annotations } = objectMeta(object);
  const metadata = field(field(object, "status"), "ackResourceMetadata");
  return {
    group,
    version,
    kind,
    labels,
    annotations,
    namespace: namespace === "" ? defaultNamespace : namespace,
    name: name === "" ? null : name,
    status: {
      ownerAccountID: nonEmpty(stringAt(metadata, "ownerAccountID")),
      region: nonEmpty(stringAt(metadata, "region")),
    },
  };
}

/** A resource of the inventory. */
export interface ACKResource extends ResourceQuery {
  /** Whether it was created in AWS: its status has an ARN or the condition ACK.ResourceSynced. */
  readonly created: boolean;
  /** Whether it has a deletion timestamp, so that only its finalizer delays its removal. */
  readonly deleting: boolean;
}

/** Reads a stored ACK resource. As with kubectl, a manifest without a namespace is in `default`. */
export function resourceOf(object: JsonObject): ACKResource {
  const metadata = field(object, "metadata");
  const status = field(object, "status");
  const conditions = field(status, "conditions");
  const isSynced = Array.isArray(conditions) && conditions.some(isSyncedCondition);
  return {
    ...queryOf(object, "default"),
    created: isSynced || nonEmpty(stringAt(status, "ackResourceMetadata", "arn")) !== null,
    deleting: nonEmpty(stringAt(metadata, "deletionTimestamp")) !== null,
  };
}

function isSyncedCondition(condition: unknown): boolean {
  return stringAt(condition, "type") === "ACK.ResourceSynced" && stringAt(condition, "status") === "True";
}

function nonEmpty(text: string | null): string | null {
  return text === "" ? null : text;
}
