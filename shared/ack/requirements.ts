import { queryOf } from "../core/ack-resource.ts";
import type { CheckInput, Requirement } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { NAMESPACES } from "../core/namespaces.ts";
import { NEEDS, needsStore } from "../core/requirements.ts";
import { DEFAULT_NAMESPACE } from "../formats/object-meta.ts";
import { roleNamespaceOf } from "./adopted-resource.ts";
import { RESOURCES } from "./resources.ts";

/** What the checks of ACK's kinds need. */
export const ACK_NEEDS = {
  resources: needsStore("resources", RESOURCES),
  /** The role of the resource. An audit, like `resolve`, treats its input as the whole state. */
  role: {
    name: "selectors and namespaces",
    isMet: (input, settings) => input.operation === "AUDIT" || canResolve(input, settings),
  },
} as const satisfies Readonly<Record<string, Requirement>>;

/** The requirements of a check that needs the role of the resource. */
export const RESOLUTION: readonly Requirement[] = [ACK_NEEDS.role];

/** The requirements of a check that also needs the account of the controller's own role. */
export const RESOLUTION_AND_CONTROLLER_ACCOUNT: readonly Requirement[] = [...RESOLUTION, NEEDS.controllerAccount];

/**
 * Returns whether the input contains every object that determines the role of the resource. Manifests may omit objects
 * that exist in the cluster. In a cluster, the watch may not have delivered a new namespace yet.
 */
function canResolve({ inventory = null, object, origin }: CheckInput, settings: DecisionSettings): boolean {
  if (inventory === null) return false;
  const source = inventory.sourceOf(queryOf(object, DEFAULT_NAMESPACE), settings);
  const { hasRoles, readsNamespace } = source.knownIn(inventory);
  if (origin === "cluster") {
    const dependsOnNamespace = readsNamespace || inventory.runtime === "extended";
    return !dependsOnNamespace || inventory.namespaces.has(roleNamespaceOf(object));
  }
  return hasRoles && (!readsNamespace || inventory.includes(NAMESPACES));
}
