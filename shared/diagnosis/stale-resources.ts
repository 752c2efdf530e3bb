import { resolve } from "../core/resolve.ts";
import type { Resolution } from "../core/resolution.ts";
import { IDENTITIES } from "../capa/identities.ts";
import type { DecisionSettings } from "../core/context.ts";
import { type Referrer, refersToIdentity } from "../capa/referrer.ts";
import type { Inventory } from "../core/inventory.ts";
import { referrerKey, REFERRERS } from "../capa/referrers.ts";
import { resourceKey, RESOURCES } from "../ack/resources.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { staleAnnotations } from "../core/resolution-annotations.ts";

/** To resolve one resource takes about 10 µs, or some ms if thousands of selectors select the resource. */
const RESOLVED_BETWEEN_PAUSES = 5;

/** An object that the webhook annotates: an ACK resource, or an object that refers to a CAPA identity. */
export type AnnotatedObject = ACKResource | Referrer;

/** Returns a text that identifies the object in the inventory. The keys of the two types of objects differ. */
export function annotatedKey(object: AnnotatedObject): string {
  return refersToIdentity(object) ? referrerKey(object) : resourceKey(object);
}

/** Returns the object that has the key of `annotatedKey`, or null if the inventory does not contain the object. */
export function annotatedWithKey(key: string, inventory: Inventory): AnnotatedObject | null {
  return inventory.of(RESOURCES).withKey(key) ?? inventory.of(REFERRERS).withKey(key);
}

/** An object of the inventory, its current resolution, and its annotations that do not match the resolution. */
export interface ResourceState {
  readonly resource: AnnotatedObject;
  readonly resolution: Resolution;
  /** The correct value of each stale annotation; null for an annotation that must be removed. */
  readonly stale: ReadonlyMap<string, string | null>;
}

export interface ResourceScope {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
}

/**
 * Returns the state of an object. Returns null if its annotations must not change: the object or its namespace is being
 * deleted, or the namespace or the identities are unknown, so that the resolution may be wrong.
 */
export function resourceState(
  resource: AnnotatedObject, { inventory, settings }: ResourceScope,
): ResourceState | null {
  const { namespace, deleting, annotations } = resource;
  if (deleting || !inventory.namespaces.has(namespace)) return null;
  if (inventory.namespaces.isTerminating(namespace)) return null;
  if (refersToIdentity(resource) && !inventory.includes(IDENTITIES)) return null;
  const resolution = resolve(inventory, resource, settings);
  return { resource, resolution, stale: staleAnnotations(annotations, resolution) };
}

/**
 * Visits the state of each ACK resource, and of each object that refers to a CAPA identity. Pauses regularly. An object
 * that changes meanwhile can be visited again. Stops and returns false when `visit` returns false. Returns true after
 * the last object.
 */
export function* scanResources(scope: ResourceScope, visit: (state: ResourceState) => boolean): Paced<boolean> {
  const resources = scope.inventory.of(RESOURCES);
  const referrers = scope.inventory.of(REFERRERS);
  for (const objects of [resources.all(), referrers.all()]) {
    const isComplete = yield* paced<AnnotatedObject>(objects, RESOLVED_BETWEEN_PAUSES, (object) => {
      const state = resourceState(object, scope);
      return state === null || visit(state);
    });
    if (!isComplete) return false;
  }
  return true;
}
