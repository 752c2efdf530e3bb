import { SELECTOR_KIND } from "../core/ack-groups.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { onlyNamespace } from "../core/grant-session.ts";
import type { Inventory } from "../core/inventory.ts";
import type { RoleTarget, RoleTargets } from "../core/role-target.ts";
import { quote } from "../formats/text.ts";
import { SELECTORS } from "./selectors.ts";

/** Returns the roles that the selectors name. */
export function selectorTargets(inventory: Inventory): RoleTargets {
  const selectors = inventory.of(SELECTORS);
  return {
    targets: Array.from(selectors.values(), selectorTarget),
    omitted: Array.from(selectors.malformed.keys(), (name) => (
      `${SELECTOR_KIND} ${quote(name)} is not examined: it is malformed, and controllers ignore it`
    )),
  };
}

/** Returns the role that a selector names. */
export function selectorTarget(selector: EffectiveSelector): RoleTarget {
  const { name, roleARN, extras, types } = selector;
  return { kind: "selector", name, roleARN, extras, types, namespace: onlyNamespace(selector) };
}
