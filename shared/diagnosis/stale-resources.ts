import type { AnnotatedObject } from "../core/annotated-objects.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import type { ResolvedObject } from "../core/problem.ts";
import { staleAnnotations } from "../core/resolution-annotations.ts";
import { resolve } from "../core/resolve.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { judgeOfRoleObject } from "../judges.ts";
import { ANNOTATED_STORES } from "../kinds.ts";

/** To resolve one resource takes about 10 µs, or some ms if thousands of selectors select the resource. */
const RESOLVED_BETWEEN_PAUSES = 5;

/** Returns the object that has the key of `annotatedKey`, or null if the inventory does not contain the object. */
export function annotatedWithKey(key: string, inventory: Inventory): AnnotatedObject | null {
  for (const store of ANNOTATED_STORES) {
    const found = inventory.of(store).withKey(key);
    if (found !== null) return found;
  }
  return null;
}

/** Yields the stored objects whose roles the webhook records in annotations. */
export function* annotatedObjects(inventory: Inventory): Iterable<AnnotatedObject> {
  for (const store of ANNOTATED_STORES) yield* inventory.of(store).all();
}

/** An object of the inventory, its current resolution, and its annotations that do not match the resolution. */
export interface ResourceState extends ResolvedObject {
  /** The correct value of each stale annotation; null for an annotation that must be removed. */
  readonly stale: ReadonlyMap<string, string | null>;
}

export interface ResourceScope {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
}

/**
 * Returns the state of an object. Returns null if its annotations must not change: the object or its namespace is being
 * deleted, or the namespace or what decides the role is unknown, so that the resolution may be wrong.
 */
export function resourceState(
  resource: AnnotatedObject, { inventory, settings }: ResourceScope,
): ResourceState | null {
  const { namespace, deleting, annotations } = resource;
  if (deleting || !inventory.namespaces.has(namespace)) return null;
  if (inventory.namespaces.isTerminating(namespace)) return null;
  const needs = judgeOfRoleObject(resource)?.record?.needs;
  if (needs !== undefined && !inventory.includes(needs)) return null;
  const resolution = resolve(inventory, resource, settings);
  return { resource, resolution, stale: staleAnnotations(annotations, resolution) };
}

/**
 * Visits the state of each annotated object. Pauses regularly. An object that changes meanwhile can be visited again.
 * Stops and returns false when `visit` returns false. Returns true after the last object.
 */
export function scanResources(scope: ResourceScope, visit: (state: ResourceState) => boolean): Paced<boolean> {
  return paced(annotatedObjects(scope.inventory), RESOLVED_BETWEEN_PAUSES, (object) => {
    const state = resourceState(object, scope);
    return state === null || visit(state);
  });
}
