import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { type Paced, paced } from "../paced.ts";
import { staleAnnotations } from "./annotations.ts";
import { type Resolution, resolve } from "./resolve.ts";

/** To resolve one resource takes about 10 µs, or some ms if thousands of selectors select the resource. */
const RESOLVED_BETWEEN_PAUSES = 5;

/** A resource of the inventory, its current resolution, and its annotations that do not match the resolution. */
export interface ResourceState {
  readonly resource: ACKResource;
  readonly resolution: Resolution;
  /** The correct value of each stale annotation; null for an annotation that must be removed. */
  readonly stale: ReadonlyMap<string, string | null>;
}

export interface ResourceScope {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  /** The namespaces whose resources the webhook does not annotate. */
  readonly exemptNamespaces: ReadonlySet<string>;
}

/**
 * Returns the state of a resource. Returns null if its annotations must not change: the resource or its namespace is
 * being deleted, the namespace is exempt, or the namespace is unknown, so that the resolution may be wrong.
 */
export function resourceState(
  resource: ACKResource, { inventory, settings, exemptNamespaces }: ResourceScope,
): ResourceState | null {
  const { namespace, deleting, annotations } = resource;
  if (deleting || exemptNamespaces.has(namespace) || !inventory.namespaces.has(namespace)) return null;
  if (inventory.namespaces.isTerminating(namespace)) return null;
  const resolution = resolve(inventory, resource, settings);
  return { resource, resolution, stale: staleAnnotations(annotations, resolution) };
}

/**
 * Visits the state of each resource. Pauses regularly. A resource that changes meanwhile can be visited again. Stops
 * and returns false when `visit` returns false. Returns true after the last resource.
 */
export function* scanResources(scope: ResourceScope, visit: (state: ResourceState) => boolean): Paced<boolean> {
  return yield* paced(scope.inventory.resources.all(), RESOLVED_BETWEEN_PAUSES, (resource) => {
    const state = resourceState(resource, scope);
    return state === null || visit(state);
  });
}
