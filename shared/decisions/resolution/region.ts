import { DEFAULT_REGION_ANNOTATION, REGION_ANNOTATION } from "../annotation-keys.ts";
import { carmAnnotations } from "../carm/maps.ts";
import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";

/** A region and its source. */
export interface Region {
  readonly value: string;
  readonly from: "status" | "resource" | "namespace" | "controller";
}

/**
 * Returns the region in the status of a resource. If the status of the resource has no region, returns the desired
 * region.
 */
export function regionOf(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  return regionFrom(query.status.region, "status") ?? desiredRegion(inventory, query, settings);
}

/**
 * Returns the configured region of a resource. Precedence: annotation of the resource, annotation of the namespace,
 * controller flag.
 */
export function desiredRegion(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  const ofNamespace = namespaceAnnotations(inventory, query.namespace, settings);
  return regionFrom(query.annotations.get(REGION_ANNOTATION), "resource")
    ?? regionFrom(ofNamespace.get(DEFAULT_REGION_ANNOTATION), "namespace")
    ?? regionFrom(settings.region, "controller");
}

/**
 * Returns the annotations that controllers read on a namespace. With CARM, controllers ignore the annotations of some
 * namespaces.
 */
function namespaceAnnotations(
  inventory: Inventory, namespace: string, { mode }: DecisionSettings,
): ReadonlyMap<string, string> {
  const annotations = inventory.namespaces.annotationsOf(namespace);
  return mode === "carm" ? carmAnnotations(namespace, annotations) : annotations;
}

/** Returns null if the value is missing or empty. */
export function regionFrom(value: string | null | undefined, from: Region["from"]): Region | null {
  return value === undefined || value === null || value === "" ? null : { value, from };
}
