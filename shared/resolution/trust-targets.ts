import { SELECTORS } from "../ack/selectors.ts";
import { CARM_MAPS } from "../carm/map-store.ts";
import { IDENTITIES } from "../capa/identities.ts";
import { SELECTOR_KIND } from "../core/ack-groups.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import { CONTROLLER_IDENTITY, ROLE_IDENTITY } from "../core/capa-kinds.ts";
import { LIMITS } from "../core/limits.ts";
import { quote } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { RoleIdentity } from "../capa/identity.ts";
import type { SessionTag } from "../core/session.ts";
import type { IdentitySource, TrustTarget } from "../trust/trust-target.ts";
import { onlyNamespace } from "../core/grant-session.ts";

interface Targets {
  readonly targets: readonly TrustTarget[];
  /** Why there is no target for a selector or an identity, as sentences without a full stop. */
  readonly omitted: readonly string[];
}

/** Returns the roles that selectors, CARM maps and identities of Cluster API name, in this order. */
export function trustTargets(inventory: Inventory, ackSystemNamespace: string): Targets {
  const maps = [ACCOUNT_MAP, TEAM_MAP].flatMap((map) => (
    Array.from(inventory.of(CARM_MAPS).data(ackSystemNamespace, map) ?? [], ([key, role]) => mapTarget(map, key, role))
  ));
  const identities = [...inventory.of(IDENTITIES).all()].filter((one) => one.kind === ROLE_IDENTITY)
    .map((identity) => identityTarget(identity, inventory));
  return {
    targets: [
      ...Array.from(inventory.of(SELECTORS).values(), selectorTarget), ...maps,
      ...identities.filter((one) => typeof one !== "string"),
    ],
    omitted: [
      ...Array.from(inventory.of(SELECTORS).malformed.keys(), (name) => (
        `${SELECTOR_KIND} ${quote(name)} is not examined: it is malformed, and controllers ignore it`
      )),
      ...identities.filter((one) => typeof one === "string"),
    ],
  };
}

export function selectorTarget(selector: EffectiveSelector): TrustTarget {
  const { name, roleARN, extras, types } = selector;
  return { kind: "selector", name, roleARN, extras, types, namespace: onlyNamespace(selector) };
}

export function mapTarget(map: string, key: string, roleARN: string): TrustTarget {
  return { kind: "map", name: `${map}/${key}`, roleARN };
}

/** Returns the role of an identity, or why it is not examined. */
export function identityTarget(identity: RoleIdentity, inventory: Inventory): TrustTarget | string {
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
