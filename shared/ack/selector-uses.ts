import { isACKGroup } from "../core/ack-groups.ts";
import { queryOf } from "../core/ack-resource.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { stateOf } from "../core/namespace-change.ts";
import type { JsonObject } from "../formats/json.ts";
import { DEFAULT_NAMESPACE, objectReference } from "../formats/object-meta.ts";
import { gainedSelectors } from "./namespace-labels.ts";
import { usedSelectors } from "./selection.ts";

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
