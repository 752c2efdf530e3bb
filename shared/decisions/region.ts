import type { ResourceQuery } from "./ack-resource.ts";
import { carmAnnotations } from "./carm.ts";
import type { Inventory } from "./inventory.ts";
import type { DecisionSettings } from "./settings.ts";

/** A region and who decided it. */
export interface Region {
  readonly value: string;
  readonly from: "status" | "resource" | "namespace" | "controller";
}

// Source: aws-controllers-k8s/runtime apis/core/v1alpha1/annotations.go.
export const REGION_ANNOTATION = "services.k8s.aws/region";
export const DEFAULT_REGION_ANNOTATION = "services.k8s.aws/default-region";

const REGION = /^[a-z]{2,}(-[a-z]+)+-[0-9]+$/;

/** Whether the text has the form of a region, such as eu-west-1; new ones appear, so no list is kept. */
export function isRegion(text: string): boolean {
  return REGION.test(text);
}

// Source: aws-sdk-go-v2 internal/endpoints/awsrulesfn/partitions.json, regionRegex of each partition.
const PARTITIONS: readonly (readonly [prefix: string, partition: string])[] = [
  ["cn-", "aws-cn"], ["us-gov-", "aws-us-gov"], ["us-iso-", "aws-iso"], ["us-isob-", "aws-iso-b"], ["eu-isoe-", "aws-iso-e"],
  ["us-isof-", "aws-iso-f"], ["eusc-", "aws-eusc"],
];

/** The partition that a region belongs to, and its roles' ARNs name. */
export function partitionOfRegion(name: string): string {
  return PARTITIONS.find(([prefix]) => name.startsWith(prefix))?.[1] ?? "aws";
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
  return mode === "carm" ? carmAnnotations(inventory, namespace) : inventory.namespaceAnnotations(namespace);
}

function region(value: string | null | undefined, from: Region["from"]): Region | null {
  return value === undefined || value === null || value === "" ? null : { value, from };
}
