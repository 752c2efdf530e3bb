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

/** Returns the region of a resource: that of its status if it exists in AWS, otherwise the desired region. */
export function regionOf(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  return region(query.status.region, "status") ?? desiredRegion(inventory, query, settings);
}

/**
 * Returns the region that is configured. Precedence: annotation of the resource, annotation of the namespace,
 * controller flag.
 */
export function desiredRegion(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  return region(query.annotations.get(REGION_ANNOTATION), "resource")
    ?? region(namespaceAnnotations(inventory, query.namespace, settings).get(DEFAULT_REGION_ANNOTATION), "namespace")
    ?? region(settings.region, "controller");
}

/** Returns the annotations of a namespace that controllers read. With CARM they ignore some namespaces. */
function namespaceAnnotations(
  inventory: Inventory, namespace: string, { mode }: DecisionSettings,
): ReadonlyMap<string, string> {
  const annotations = inventory.namespaces.annotationsOf(namespace);
  return mode === "carm" ? carmAnnotations(namespace, annotations) : annotations;
}

function region(value: string | null | undefined, from: Region["from"]): Region | null {
  return value === undefined || value === null || value === "" ? null : { value, from };
}
