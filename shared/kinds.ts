import {
  ADOPTED_RESOURCE, FIELD_EXPORT, OTHER_DEFINITION, RESOURCE, RESOURCE_DEFINITION, RESOURCE_LIKE, SELECTOR,
  SELECTOR_DEFINITION, SELECTOR_LIKE,
} from "./ack/kinds.ts";
import { CLUSTER, CLUSTER_PART, IDENTITY, IDENTITY_ACCOUNTS_MAP, IDENTITY_LIKE, SECRET } from "./capa/kinds.ts";
import { CARM_MAP } from "./carm/kinds.ts";
import { WORKLOAD } from "./controllers/kinds.ts";
import type { AnnotatedObject, AnnotatedStore } from "./core/annotated-objects.ts";
import type { KnownKinds } from "./core/inventory.ts";
import { kindTable } from "./core/kind-table.ts";
import type { Kind } from "./core/kind.ts";
import { NAMESPACE } from "./core/namespace-kind.ts";
import type { StoreKey } from "./core/store.ts";
import type { JsonObject } from "./formats/json.ts";
import { objectReference } from "./formats/object-meta.ts";
import { POD } from "./injection/kinds.ts";

/**
 * The kinds of objects that decisions read. The inventory, the webhook configurations, the policies, the roles and the
 * limit checks follow from them. An object is of the first kind that matches.
 */
export const KINDS: readonly Kind[] = [
  SELECTOR, SELECTOR_DEFINITION, SELECTOR_LIKE, RESOURCE_LIKE, RESOURCE, RESOURCE_DEFINITION, NAMESPACE,
  OTHER_DEFINITION, CARM_MAP, FIELD_EXPORT, ADOPTED_RESOURCE, IDENTITY, CLUSTER, CLUSTER_PART, IDENTITY_LIKE, POD,
  WORKLOAD, SECRET, IDENTITY_ACCOUNTS_MAP,
];

export const { kindOf, reviewedKind } = kindTable(KINDS);

/** The stores of the objects whose roles the webhook records in annotations. */
export const ANNOTATED_STORES: readonly StoreKey<AnnotatedStore>[] = KINDS.flatMap(({ annotated }) => annotated ?? []);

/** The stores on which the roles of resources depend, and whose kinds a source may not be allowed to list. */
export const SEPARATE_STORES: readonly StoreKey[] = KINDS.flatMap(({ store, watch }) => (
  store === undefined || watch?.parts === undefined || watch.names !== undefined ? [] : [store]
));

/** Reads an object whose role is resolved, such as an ACK resource; null for another object. */
export function roleObjectOf(object: JsonObject): AnnotatedObject | null {
  return kindOf(objectReference(object))?.readRoleObject?.(object) ?? null;
}

/** What an inventory knows of the kinds. */
export const INVENTORY_KINDS: KnownKinds = { kindOf, roleSources: KINDS.flatMap(({ roles = [] }) => roles) };
