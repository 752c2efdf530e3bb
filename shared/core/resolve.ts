import { printable } from "../formats/text.ts";
import type { ResourceQuery } from "./ack-resource.ts";
import {
  DEFAULT_REGION_ANNOTATION, IGNORED_NAMESPACES, REGION_ANNOTATION,
} from "./annotation-keys.ts";
import type { DecisionSettings } from "./context.ts";
import type { Inventory, RoleObject } from "./inventory.ts";
import { accountDrift, DRIFT, type Region, regionDrift, regionFrom, type Resolution } from "./resolution.ts";

/**
 * Resolves the role of an object as its controller does in the configured mode. The sources of roles decide, such as
 * IAMRoleSelectors. Throws an Error if no source decides for such an object.
 */
export function resolve(
  inventory: Inventory, object: RoleObject | ResourceQuery, settings: DecisionSettings,
): Resolution {
  return inventory.sourceOf(object, settings).resolve(inventory, object, settings);
}

/**
 * Resolves the role of an ACK resource, whose region is independent of the role. `find` resolves the role of a resource
 * in the region. Adds to the message how the status of the resource differs.
 */
export function resolveResource(
  inventory: Inventory, query: ResourceQuery, settings: DecisionSettings, find: (region: Region | null) => Resolution,
): Resolution {
  const desired = desiredRegion(inventory, query, settings);
  const resolution = find(regionFrom(query.status.region, "status") ?? desired);
  const [account, region] = [accountDrift(resolution, query.status), regionDrift(query.status, desired)];
  const drifts = [
    account && `the status records account ${account.recorded}, but its role is in account ${account.current}`,
    region && `the status records region ${region.recorded}, but its desired region is ${region.current}`,
  ].filter((drift) => drift !== null).map(printable);
  return drifts.length === 0
    ? resolution
    : { ...resolution, message: `${resolution.message}${DRIFT}${drifts.join("; ")}.` };
}

/**
 * Returns the configured region of a resource. Precedence: annotation of the resource, annotation of the namespace,
 * controller flag.
 */
export function desiredRegion(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  const ofNamespace = readAnnotations(query.namespace, inventory.namespaces.annotationsOf(query.namespace), settings);
  return regionFrom(query.annotations.get(REGION_ANNOTATION), "resource")
    ?? regionFrom(ofNamespace.get(DEFAULT_REGION_ANNOTATION), "namespace")
    ?? regionFrom(settings.region, "controller");
}

type Annotations = ReadonlyMap<string, string>;

/**
 * Returns the annotations of a namespace that controllers read. In mode `carm`, controllers ignore those of some
 * namespaces.
 */
export function readAnnotations(
  namespace: string, annotations: Annotations, { mode }: Pick<DecisionSettings, "mode">,
): Annotations {
  return mode !== "selectors" && IGNORED_NAMESPACES.has(namespace) ? NONE : annotations;
}

const NONE: Annotations = new Map();
