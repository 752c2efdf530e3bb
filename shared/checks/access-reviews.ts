import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { queryOf } from "../core/ack-resource.ts";
import type { JsonObject } from "../formats/json.ts";
import { isACKGroup } from "../core/ack-groups.ts";
import { DEFAULT_NAMESPACE, objectReference } from "../formats/object-meta.ts";
import { usedSelectors } from "../ack/selection.ts";
import type { CheckEntry } from "../core/check.ts";
import { AC_05 } from "../capa/cluster-reference.ts";
import { stateOf } from "../core/namespace-change.ts";
import { gainedSelectors, NS_02 } from "../ack/namespace-labels.ts";
import { ACK_09 } from "../ack/resource-selection.ts";

/**
 * The checks that need access reviews. These checks are off by default, because each access review is a request to the
 * API server.
 */
const ACCESS_CHECKS: readonly CheckEntry[] = [ACK_09, NS_02, AC_05];

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

/** Returns the names of all selectors that the resource uses before or after the change. */
export function selectorsToReview(
  object: JsonObject, old: JsonObject | null, inventory: Inventory, { mode }: Pick<DecisionSettings, "mode">,
): readonly string[] {
  if (mode !== "selectors" || !isACKGroup(objectReference(object).group)) return [];
  const states = old === null ? [object] : [object, old];
  return [...new Set(states.flatMap((state) => usedSelectors(inventory, queryOf(state, DEFAULT_NAMESPACE))))];
}

/**
 * Returns the names of the selectors that select the namespace only after the change, and of the selector that a new
 * annotation `use-selector` names.
 */
export function newSelectorsToReview(
  object: JsonObject, old: JsonObject | null, inventory: Inventory, { mode }: Pick<DecisionSettings, "mode">,
): readonly string[] {
  if (mode !== "selectors") return [];
  const stored = old === null ? null : stateOf(old);
  const change = { inventory, name: objectReference(object).name, state: stateOf(object), stored };
  return [...gainedSelectors(change).keys()];
}
