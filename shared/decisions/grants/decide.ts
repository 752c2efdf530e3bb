import type { Inventory } from "../inventory/inventory.ts";
import { mapGrantInNamespace, mapGrantOfRole } from "./by-carm.ts";
import { selectorGrantByName, selectorGrantInNamespace, selectorGrantOfRole } from "./by-selector.ts";
import { deny, type Grant, type NamespaceQuery, type RoleQuery, unknownNamespace } from "./grant.ts";
import { withinSteps } from "./steps.ts";

/** Grants the role of a namespace if every requested group, kind and version resolves to this role. */
export function grantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  const unknown = unknownNamespace(inventory, query.namespace);
  if (unknown !== null) return unknown;
  const unserved = query.kinds.find(({ group }) => group !== null && !query.groups.includes(group));
  if (unserved !== undefined) {
    const message = `This sidecar does not serve group ${unserved.group}; --group allows ${query.groups.join(", ")}.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message);
  }
  const isCARM = query.settings.mode === "carm";
  if (isCARM) return mapGrantInNamespace(inventory, query);
  return withinSteps((steps) => selectorGrantInNamespace(inventory, query, steps));
}

/** Grants the role of an IAMRoleSelector. */
export function grantSelector(inventory: Inventory, name: string, query: RoleQuery): Grant {
  if (query.settings.mode === "carm") return NO_SELECTORS;
  return withinSteps((steps) => selectorGrantByName(inventory, name, query, steps));
}

/** Grants a role by its ARN, which is the only input of an AssumeRole request. */
export function grantRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  const isCARM = query.settings.mode === "carm";
  if (isCARM) return mapGrantOfRole(inventory, roleARN, query);
  return withinSteps((steps) => selectorGrantOfRole(inventory, roleARN, query, steps));
}

const NO_SELECTORS = deny(
  "ERR_SELECTOR_NOT_GRANTED",
  "With --mode carm, only the CARM ConfigMaps grant roles, not IAMRoleSelectors. "
    + "Request the credentials of a namespace, or run the controllers and the sidecar with --mode selectors.",
);
