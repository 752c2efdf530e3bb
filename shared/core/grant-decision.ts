import { differingExtras } from "./session-annotations.ts";
import { listOf } from "../formats/text.ts";
import type { Endpoint, Inventory } from "./inventory.ts";
import {
  deny, type Grant, type GrantScope, type NamespaceQuery, type RoleGrant, type RoleQuery, unknownNamespace,
} from "./grant.ts";

/** Grants the role of a namespace if every requested group, kind and version resolves to this role. */
export function grantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  const unknown = unknownNamespace(inventory, query.namespace);
  return unknown ?? forResources(inventory, query, (ofResources) => grantOfNamespace(inventory, ofResources));
}

function grantOfNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  const unserved = query.kinds.find(({ group }) => group !== null && !query.groups.includes(group));
  if (unserved !== undefined) {
    const message = `This sidecar does not serve group ${unserved.group}; --group allows ${query.groups.join(", ")}.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message);
  }
  return inventory.granterIn(query.settings.mode).inNamespace(inventory, query);
}

/** Grants the role of an IAMRoleSelector. */
export function grantSelector(inventory: Inventory, name: string, query: RoleQuery): Grant {
  const granter = inventory.granterIn(query.settings.mode);
  return forResources(inventory, query, (ofResources) => granter.ofSelector(inventory, name, ofResources));
}

/** Grants a role by its ARN, which is the only input of an AssumeRole request. */
export function grantRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  const granter = inventory.granterIn(query.settings.mode);
  return forResources(inventory, query, (ofResources) => granter.ofRole(inventory, roleARN, ofResources));
}

/**
 * Whether the role of an earlier grant is still granted with the same session settings, in the namespace that its
 * session contains, if any.
 */
export function isStillGranted(inventory: Inventory, grant: RoleGrant, query: RoleQuery): boolean {
  const { roleARN, extras, namespace: scope = query.scope } = grant;
  const current = grantRole(inventory, roleARN, { ...query, scope });
  return current.verdict === "role" && differingExtras(current.extras, extras).length === 0;
}

/**
 * Decides without the groups that have an endpoint of their own. Selectors and CARM maps set the roles of ACK resources
 * only: even a selector of all types selects no object of these groups.
 */
function forResources<Query extends GrantScope>(
  { endpoints }: Inventory, query: Query, decide: (query: Query) => Grant,
): Grant {
  const others = endpoints.filter(({ group }) => query.groups.includes(group));
  if (others.length === 0) return decide(query);
  const groups = query.groups.filter((group) => others.every((other) => other.group !== group));
  return groups.length === 0 ? onlyOthers(others) : decide({ ...query, groups });
}

function onlyOthers(endpoints: readonly Endpoint[]): Grant {
  const served = endpoints.map(({ objects, group }) => `${objects} (--group ${group})`);
  const message = `This sidecar serves only ${listOf(served)}, not the roles of selectors and CARM maps. Request `
    + `${endpoints.map(({ path }) => path).join(" or ")}, or add the API group of ACK resources to --group.`;
  return deny("ERR_SELECTOR_NOT_GRANTED", message);
}
