import { IGNORED_NAMESPACES, SELECTOR_REQUIRED_ANNOTATION } from "./annotation-keys.ts";
import type { CheckContext, CheckEntry, Fault } from "./check.ts";
import type { Inventory } from "./inventory.ts";

/** The value of the annotation that requires a selector. */
export const REQUIRED = "true";
/** The value that permits the controllers' own role where ACK-05 or AC-03 denies it. */
const PERMITTED = "false";

/** Returns the value of the annotation of a namespace. */
export function requirementOf({ namespaces }: Pick<Inventory, "namespaces">, namespace: string): string | undefined {
  return namespaces.annotationsOf(namespace).get(SELECTOR_REQUIRED_ANNOTATION);
}

/**
 * Returns what a fault of the check adds that denies the controllers' own role: a warning if the namespace permits this
 * role, else how to permit it. System namespaces permit nothing, because NS-17 does not protect their annotation.
 */
export function ownRolePermission(
  { id, fix }: Pick<CheckEntry, "id" | "fix">, { inventory, settings }: Pick<CheckContext, "inventory" | "settings">,
  namespace: string,
): Pick<Fault, "fix" | "severity"> {
  if (settings.checkSeverities.get(id) !== "deny") return {};
  const isPermitted = requirementOf(inventory, namespace) === PERMITTED && !IGNORED_NAMESPACES.has(namespace);
  return isPermitted ? { severity: "warn" } : { fix: `${fix}, ${PERMIT}` };
}

const PERMIT = `or ask a waiver user to set ${SELECTOR_REQUIRED_ANNOTATION}: "${PERMITTED}" on the namespace`;
