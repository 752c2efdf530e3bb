import { DEFAULT_REGION_ANNOTATION, REGION_ANNOTATION } from "../annotation-keys.ts";
import { carmAnnotations } from "../carm/annotations.ts";
import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";

/** A region and who decided it. */
export interface Region {
  readonly value: string;
  readonly from: "status" | "resource" | "namespace" | "controller";
}

/** The region that a resource is managed in: that of its status once it exists, else the wanted one. */
export function regionOf(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  return region(query.status.region, "status") ?? wantedRegion(inventory, query, settings);
}

/** The first that says one: the resource's annotation, its namespace's, the controller's flag. */
export function wantedRegion(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  return region(query.annotations.get(REGION_ANNOTATION), "resource")
    ?? region(namespaceAnnotations(inventory, query.namespace, settings).get(DEFAULT_REGION_ANNOTATION), "namespace")
    ?? region(settings.region, "controller");
}

/** What controllers read of a namespace's annotations: with CARM nothing on those that it ignores. */
function namespaceAnnotations(inventory: Inventory, namespace: string, { mode }: DecisionSettings): ReadonlyMap<string, string> {
  const annotations = inventory.namespaceAnnotations(namespace);
  return mode === "carm" ? carmAnnotations(namespace, annotations) : annotations;
}

function region(value: string | null | undefined, from: Region["from"]): Region | null {
  return value === undefined || value === null || value === "" ? null : { value, from };
}
