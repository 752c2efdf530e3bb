import { type Excess, excessOf, field, isJsonObject, type JsonObject, omitField } from "../formats/json.ts";
import { LIMITS } from "../contract/limits.ts";
import type { Fault, QuickCheck } from "./check.ts";

const BOUNDS = { maxDepth: LIMITS.objectDepth.value, maxValues: LIMITS.objectValues.value };

/**
 * The limit check of an ACK resource. If a resource exceeds a limit, this check reports one fault, and no other check
 * runs on the resource.
 */
export const ACK_35: QuickCheck<JsonObject> = {
  id: "ACK-35",
  severity: "deny",
  waivable: false,
  fixed: true,
  reason: "A very large or deeply nested object delays the webhook. No other check runs on the object.",
  fix: "split the resource, or move data out of it, for example into a Secret or a ConfigMap",
  example: "a Bucket whose spec is nested deeper than 100 levels",
  ofChange: true,
  find: excessFaults,
};

export const NS_14: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "NS-14",
  fix: "remove labels and annotations from the namespace",
  example: "a Namespace that has more than 1,000 labels",
};

export const CM_14: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "CM-14",
  fix: "remove entries from the ConfigMap",
  example: "the ConfigMap ack-role-account-map with more than 20,000 entries",
};

export const POD_10: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "POD-10",
  fix: "remove containers, variables or volumes from the Pod",
  example: "a Pod that requests a sidecar and has more than 20,000 values",
};

export const CI_34: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "CI-34",
  fix: "remove values from the identity, and select namespaces by label instead of a long list",
  example: "an AWSClusterRoleIdentity that lists 20,000 namespaces",
};

export const AC_08: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "AC-08",
  fix: "split the object, or remove values from it",
  example: "an AWSCluster whose spec is nested deeper than 100 levels",
};

export const FE_02: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "FE-02",
  fix: "remove labels and annotations from the FieldExport",
  example: "a FieldExport that has more than 1,000 annotations",
};

function* excessFaults(object: JsonObject): Iterable<Fault> {
  const excess = objectExcess(object);
  if (excess !== null) yield { ...excess };
}

/**
 * Returns the first limit of reviewed objects that the object exceeds, or null. Visits at most 20,000 values. Does not
 * count `managedFields`: every user who may patch an object adds to them, and the other users could not change the
 * object anymore.
 */
export function objectExcess(object: JsonObject): Excess | null {
  return excessOf(withoutManagedFields(object), BOUNDS)
    ?? metadataExcess(object, "labels") ?? metadataExcess(object, "annotations");
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = field(object, "metadata");
  return isJsonObject(metadata) ? { ...object, metadata: omitField(metadata, "managedFields") } : object;
}

function metadataExcess(object: JsonObject, name: "labels" | "annotations"): Excess | null {
  const map = field(field(object, "metadata"), name);
  const entries = isJsonObject(map) ? Object.keys(map).length : 0;
  const limit = LIMITS.metadataEntries.value;
  if (entries <= limit) return null;
  return { path: ["metadata", name], message: `${entries} ${name} exceed the limit of ${limit}` };
}
