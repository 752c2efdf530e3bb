import type { Inventory } from "../inventory/inventory.ts";
import { mapGrantInNamespace, mapGrantOfRole } from "./by-carm.ts";
import { selectorGrantByName, selectorGrantInNamespace, selectorGrantOfRole } from "./by-selector.ts";
import { denied, type Grant, type NamespaceQuery, type RoleQuery, unknownNamespace } from "./grant.ts";

/** The role that resolves in a namespace, where every group, kind and version in question has the same. */
export function grantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  const unknown = unknownNamespace(inventory, query.namespace);
  if (unknown !== null) return unknown;
  const foreign = query.kinds.find(({ group }) => group !== null && !query.groups.includes(group));
  if (foreign !== undefined) {
    return denied("ERR_SELECTOR_NOT_GRANTED", `Group ${foreign.group} is not served here; --group allows ${query.groups.join(", ")}.`);
  }
  return query.settings.mode === "carm" ? mapGrantInNamespace(inventory, query) : selectorGrantInNamespace(inventory, query);
}

/** The role of one IAMRoleSelector by its name. */
export function grantSelector(inventory: Inventory, name: string, query: RoleQuery): Grant {
  return query.settings.mode === "carm" ? NO_SELECTORS : selectorGrantByName(inventory, name, query);
}

/** A role by its ARN, which is all that an AssumeRole request tells. */
export function grantRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  return query.settings.mode === "carm" ? mapGrantOfRole(inventory, roleARN, query) : selectorGrantOfRole(inventory, roleARN, query);
}

const NO_SELECTORS = denied(
  "ERR_SELECTOR_NOT_GRANTED",
  "With --mode carm the maps of CARM give roles, and no IAMRoleSelector does. Ask for a namespace, or run controllers and sidecar with selectors.",
);
