import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { queryOf } from "../kubernetes/ack-resource.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { isACKGroup } from "../kubernetes/kinds.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { selectingSelectors } from "../resolution/resolve.ts";
import type { CheckEntry } from "./check.ts";
import { stateOf } from "./namespaces/change.ts";
import { newSelectors, NS_02 } from "./namespaces/labels.ts";
import { ACK_09 } from "./resources/selection.ts";

/** The checks that need access reviews. Each is off by default, because a review costs one call to the API server. */
const ACCESS_CHECKS: readonly CheckEntry[] = [ACK_09, NS_02];

/** Returns whether any check that needs access reviews is enabled. */
export function needsAccessReviews(settings: Pick<DecisionSettings, "checkSeverities">): boolean {
  return ACCESS_CHECKS.some((check) => isCheckEnabled(check, settings));
}

/** Returns whether the severity of the check is not "off". */
export function isCheckEnabled(
  { id, severity }: CheckEntry, { checkSeverities }: Pick<DecisionSettings, "checkSeverities">,
): boolean {
  return (checkSeverities.get(id) ?? severity) !== "off";
}

/** Returns the selectors to review for an ACK resource: the only one that selects it, or none. */
export function selectorsToReview(
  object: JsonObject, inventory: Inventory, { mode }: Pick<DecisionSettings, "mode">,
): readonly string[] {
  if (mode !== "selectors" || !isACKGroup(objectMeta(object).group)) return [];
  const selecting = selectingSelectors(inventory, queryOf(object, "default"));
  return selecting.length === 1 ? selecting.map(({ name }) => name) : [];
}

/** Returns the selectors to review for a change of a Namespace: those that newly select the namespace. */
export function newSelectorsToReview(
  object: JsonObject, old: JsonObject | null, inventory: Inventory, { mode }: Pick<DecisionSettings, "mode">,
): readonly string[] {
  if (mode !== "selectors") return [];
  const stored = old === null ? null : stateOf(old);
  return newSelectors({ inventory, name: objectMeta(object).name, state: stateOf(object), stored });
}
