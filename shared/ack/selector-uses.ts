import { isACKGroup } from "../core/ack-groups.ts";
import { queryOf } from "../core/ack-resource.ts";
import { stateOf } from "../core/namespace-change.ts";
import type { UseNeeds } from "../core/review-needs.ts";
import { usedSelector } from "../core/use-rights.ts";
import { DEFAULT_NAMESPACE, objectReference } from "../formats/object-meta.ts";
import { gainedSelectors } from "./namespace-labels.ts";
import { usedSelectors } from "./selection.ts";

/** Returns the selectors that the resource uses before or after the change, by name. */
export const usesOfResource: UseNeeds["of"] = ({ object, old }, { mode }, inventory) => {
  const { group, namespace } = objectReference(object);
  if (mode !== "selectors" || !isACKGroup(group)) return [];
  const states = old === null ? [object] : [object, old];
  const names = new Set(states.flatMap((state) => usedSelectors(inventory, queryOf(state, DEFAULT_NAMESPACE))));
  return [...names].map((name) => [name, { ...usedSelector(name), namespace }]);
};

/**
 * Returns the selectors that select the namespace only after the change, and the selector that a new annotation
 * `use-selector` names, by name.
 */
export const usesOfNamespace: UseNeeds["of"] = ({ object, old }, { mode }, inventory) => {
  if (mode !== "selectors") return [];
  const { name } = objectReference(object);
  const stored = old === null ? null : stateOf(old);
  const gained = gainedSelectors({ inventory, name, state: stateOf(object), stored });
  return [...gained.keys()].map((selector) => [selector, { ...usedSelector(selector), namespace: name }]);
};
