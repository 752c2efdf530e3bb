import type { Inventory } from "../inventory/inventory.ts";
import { LIMITS } from "../contract/limits.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { type Identity, identityKey } from "../model/identity.ts";
import type { Referrer } from "../model/referrer.ts";

const BETWEEN_PAUSES = 200;

/** Visits every object that refers to the identity itself. Stops and returns false when `visit` returns false. */
export function* visitDirectUsers(
  { referrers }: Inventory, identity: Identity, visit: (user: Referrer) => boolean,
): Paced<boolean> {
  return yield* paced(referrers.ofIdentity(identity, identity.namespace), BETWEEN_PAUSES, visit);
}

/**
 * Visits every object whose chain contains the identity. Stops when `visit` returns false. Omits the objects whose
 * chain has too many roles: their chain is denied with any change of the identity.
 */
export function* visitUsers(
  inventory: Inventory, identity: Identity, visit: (user: Referrer) => boolean,
): Paced<void> {
  const found = new Set([identityKey(identity)]);
  let level: readonly Identity[] = [identity];
  for (let roles = 0; roles <= LIMITS.identityRoles.value && level.length > 0; roles++) {
    const next: Identity[] = [];
    for (const one of level) {
      if (!(yield* visitDirectUsers(inventory, one, visit))) return;
      yield* paced(inventory.identities.withSource(one), BETWEEN_PAUSES, (dependent) => {
        const key = identityKey(dependent);
        if (!found.has(key)) next.push(dependent);
        found.add(key);
        return true;
      });
      yield next.length;
    }
    level = next;
  }
}

/** Returns `KIND NAMESPACE/NAME`. */
export function referrerName({ kind, namespace, name }: Pick<Referrer, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}
