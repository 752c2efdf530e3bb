import { LIMITS } from "../core/limits.ts";
import { CONTROLLER_IDENTITY, ROLE_IDENTITY } from "../core/capa-kinds.ts";
import { quote } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { IDENTITIES } from "./identities.ts";
import type { IdentitySource, RoleTarget, RoleTargets } from "../core/role-target.ts";
import type { RoleIdentity } from "./identity.ts";
import type { SessionTag } from "../core/session.ts";

/** Returns the roles that AWSClusterRoleIdentities name. */
export function identityTargets(inventory: Inventory): RoleTargets {
  const roles = [...inventory.of(IDENTITIES).all()].filter((one) => one.kind === ROLE_IDENTITY);
  const found = roles.map((identity) => identityTarget(identity, inventory));
  return {
    targets: found.filter((one) => typeof one !== "string"), omitted: found.filter((one) => typeof one === "string"),
  };
}

/** Returns the role of an identity, or why it is not examined. */
export function identityTarget(identity: RoleIdentity, inventory: Inventory): RoleTarget | string {
  const source = sourceOf(identity, inventory);
  const { name, roleARN, externalID, sessionName, durationSeconds, tags, transitiveTags } = identity;
  if (typeof source === "string") return `${ROLE_IDENTITY} ${quote(name)} is not examined: ${source}`;
  const session = {
    externalID, sessionName, durationSeconds, tags, transitiveTags,
    hasInlinePolicy: (identity.inlinePolicy ?? "") !== "", hasManagedPolicies: identity.policyARNs.length > 0,
  };
  return { kind: "identity", name, roleARN: roleARN ?? "", session, source };
}

/** Returns the role that assumes the role of an identity; null for that of the caller, or why it is unknown. */
function sourceOf(identity: RoleIdentity, inventory: Inventory): IdentitySource | null | string {
  const roles: RoleIdentity[] = [];
  for (let at = identity; roles.length <= LIMITS.identityRoles.value;) {
    if (at.source === null || at.source.kind === CONTROLLER_IDENTITY) return throughRoles(roles, false);
    const next = inventory.of(IDENTITIES).get(at.source, "");
    if (next === null) return `its source ${at.source.kind} ${quote(at.source.name)} does not exist`;
    if (next.kind !== ROLE_IDENTITY) {
      return roles.length > 0 ? throughRoles(roles, true) : `the user of ${next.kind} ${quote(next.name)} is not known`;
    }
    roles.push(next);
    at = next;
  }
  return "its sources form a cycle, or are too many";
}

/** `roles` are the sources, first the role that assumes the role of the identity. */
function throughRoles([first, ...others]: readonly RoleIdentity[], isOther: boolean): IdentitySource | null {
  if (first === undefined) return null;
  const tags = [first, ...others].flatMap(transitiveTagsOf);
  return { roleARN: first.roleARN ?? "", tags, hasOtherBase: isOther };
}

function transitiveTagsOf({ tags, transitiveTags }: RoleIdentity): SessionTag[] {
  const keys = new Set(transitiveTags.map((key) => key.toLowerCase()));
  return tags.filter(({ key }) => keys.has(key.toLowerCase()));
}
