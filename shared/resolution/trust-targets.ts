import { SELECTOR_KIND } from "../contract/ack-groups.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../contract/annotation-keys.ts";
import { CONTROLLER_IDENTITY, ROLE_IDENTITY } from "../contract/capa-kinds.ts";
import { LIMITS } from "../contract/limits.ts";
import { quote } from "../formats/text.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { RoleIdentity } from "../model/identity.ts";
import type { SessionTag } from "../model/session.ts";
import type { IdentitySource, TrustTarget } from "../trust/trust-target.ts";
import { onlyNamespace } from "./grant-session.ts";

interface Targets {
  readonly targets: readonly TrustTarget[];
  /** Why there is no target for a selector or an identity, as sentences without a full stop. */
  readonly omitted: readonly string[];
}

/** Returns the roles that selectors, CARM maps and identities of Cluster API name, in this order. */
export function trustTargets(inventory: Inventory, ackSystemNamespace: string): Targets {
  const selectors = Array.from(inventory.selectors.values(), (selector): TrustTarget => ({
    kind: "selector", name: selector.name, roleARN: selector.roleARN, extras: selector.extras,
    namespace: onlyNamespace(selector),
  }));
  const maps = [ACCOUNT_MAP, TEAM_MAP].flatMap((map) => {
    const data = inventory.carmMaps.data(ackSystemNamespace, map) ?? new Map<string, string>();
    return Array.from(data, ([key, roleARN]): TrustTarget => ({ kind: "map", name: `${map}/${key}`, roleARN }));
  });
  const identities = [...inventory.identities.all()].filter((one) => one.kind === ROLE_IDENTITY)
    .map((identity) => ({ identity, source: sourceOf(identity, inventory) }));
  return {
    targets: [...selectors, ...maps, ...identities.flatMap(({ identity, source }) => (
      typeof source === "string" ? [] : targetOf(identity, source)
    ))],
    omitted: [
      ...Array.from(inventory.selectors.malformed.keys(), (name) => (
        `${SELECTOR_KIND} ${quote(name)} is not examined: it is malformed, and controllers ignore it`
      )),
      ...identities.flatMap(({ identity, source }) => (
        typeof source === "string" ? `${ROLE_IDENTITY} ${quote(identity.name)} is not examined: ${source}` : []
      )),
    ],
  };
}

function targetOf(identity: RoleIdentity, source: IdentitySource | null): TrustTarget {
  const { name, roleARN, externalID, sessionName, durationSeconds, tags, transitiveTags } = identity;
  const session = { externalID, sessionName, durationSeconds, tags, transitiveTags };
  return { kind: "identity", name, roleARN: roleARN ?? "", session, source };
}

/** Returns the role that assumes the role of an identity; null for that of the caller, or why it is unknown. */
function sourceOf(identity: RoleIdentity, { identities }: Inventory): IdentitySource | null | string {
  const roles: RoleIdentity[] = [];
  for (let at = identity; roles.length <= LIMITS.identityRoles.value;) {
    if (at.source === null || at.source.kind === CONTROLLER_IDENTITY) return throughRoles(roles, false);
    const next = identities.get(at.source, "");
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
