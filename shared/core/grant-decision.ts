import { INFRASTRUCTURE_GROUP } from "./capa-kinds.ts";
import type { Inventory } from "./inventory.ts";
import {
  deny, type Grant, type GrantScope, type NamespaceQuery, type RoleGrant, type RoleQuery, unknownNamespace,
} from "./grant.ts";

/** Grants the role of a namespace if every requested group, kind and version resolves to this role. */
export function grantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  const unknown = unknownNamespace(inventory, query.namespace);
  return unknown ?? forResources(query, (ofResources) => grantOfNamespace(inventory, ofResources));
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
  return forResources(query, (ofResources) => granter.ofSelector(inventory, name, ofResources));
}

/** Grants a role by its ARN, which is the only input of an AssumeRole request. */
export function grantRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  const granter = inventory.granterIn(query.settings.mode);
  return forResources(query, (ofResources) => granter.ofRole(inventory, roleARN, ofResources));
}

/** Whether the role of an earlier grant is still granted, in the namespace that its session tags contain, if any. */
export function isStillGranted(inventory: Inventory, grant: RoleGrant, query: RoleQuery): boolean {
  const { roleARN, namespace: scope = query.scope } = grant;
  return grantRole(inventory, roleARN, { ...query, scope }).verdict === "role";
}

/**
 * Decides without the group of CAPA. Selectors and CARM maps set the roles of ACK resources only: even a selector of
 * all types selects no object of CAPA.
 */
function forResources<Query extends GrantScope>(query: Query, decide: (query: Query) => Grant): Grant {
  if (!query.groups.includes(INFRASTRUCTURE_GROUP)) return decide(query);
  const groups = query.groups.filter((group) => group !== INFRASTRUCTURE_GROUP);
  return groups.length === 0 ? ONLY_IDENTITIES : decide({ ...query, groups });
}

const ONLY_IDENTITIES = deny(
  "ERR_SELECTOR_NOT_GRANTED",
  `This sidecar serves only identities of Cluster API (--group ${INFRASTRUCTURE_GROUP}), not the roles of selectors `
    + "and CARM maps. Request /v1/credentials/identities/KIND/NAME?namespace=NS, or add the API group of ACK resources "
    + "to --group.",
);
