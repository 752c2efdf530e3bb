import { isSelector, SELECTOR_KIND } from "../core/ack-groups.ts";
import { ROLE_IDENTITY } from "../core/capa-kinds.ts";
import type { DecisionSettings } from "../core/context.ts";
import { field, stringMap } from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import type { Inventory } from "../core/inventory.ts";
import { readIdentity } from "../capa/identity.ts";
import { identityTarget, mapTarget, selectorTarget } from "../resolution/trust-targets.ts";
import { dataPath } from "../carm/carm-map-entries.ts";
import type { CheckInput } from "../core/check.ts";
import { judgeSelector } from "../ack/judge-selector.ts";
import { type NamedRole, RoleTrust } from "../trust/role-trust.ts";

/** Returns what is wrong with the roles that a selector, a CARM map or an identity names. */
export function roleTrustOf(input: CheckInput, settings: DecisionSettings): RoleTrust {
  const { trust = null, object } = input;
  const isIdentity = objectReference(object).kind === ROLE_IDENTITY;
  const isUnread = !isIdentity && isSelector(object) !== (settings.mode === "selectors");
  return new RoleTrust(() => namedRoles(input, settings), trust, isUnread);
}

function namedRoles({ object, origin, inventory = null }: CheckInput, settings: DecisionSettings): NamedRole[] {
  const { kind } = objectReference(object);
  if (kind === SELECTOR_KIND) {
    const { effective } = judgeSelector(object, { origin, runtime: settings.runtime });
    return effective === null ? [] : [{ path: ["spec", "arn"], target: selectorTarget(effective) }];
  }
  if (kind === "ConfigMap") return rolesOfMap(object, settings);
  return inventory === null ? [] : rolesOfIdentity(object, settings, inventory);
}

function rolesOfMap(object: CheckInput["object"], { ackSystemNamespace }: DecisionSettings): NamedRole[] {
  const { name, namespace } = objectReference(object);
  if (namespaceOrDefault(namespace) !== ackSystemNamespace) return [];
  return Array.from(stringMap(field(object, "data")), ([key, roleARN]) => (
    { path: dataPath(key), target: mapTarget(name, key, roleARN) }
  ));
}

/** Other checks report an identity whose source does not exist. */
function rolesOfIdentity(
  object: CheckInput["object"], { runtime }: DecisionSettings, inventory: Inventory,
): NamedRole[] {
  const identity = readIdentity(object, runtime);
  const target = identity?.kind === ROLE_IDENTITY ? identityTarget(identity, inventory) : "";
  if (typeof target === "string") return [];
  return [{ path: ["spec", "roleARN"], durationPath: ["spec", "durationSeconds"], target }];
}
