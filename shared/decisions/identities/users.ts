import type { Inventory } from "../inventory/inventory.ts";
import { type Paced, paced } from "../paced.ts";
import { type Identity, identityKey } from "./identity.ts";
import type { Referrer } from "./referrer.ts";

const BETWEEN_PAUSES = 200;

/** Returns the identities whose chain contains the identity, including the identity itself. */
export function dependentsOf({ identities }: Inventory, identity: Identity): readonly Identity[] {
  const found = new Map([[identityKey(identity, identity.namespace), identity]]);
  // A map yields the entries that are added during the iteration.
  for (const one of found.values()) {
    if (one.kind === "AWSServiceAccountIdentity") continue;
    for (const dependent of identities.withSource(one)) {
      const key = identityKey(dependent, dependent.namespace);
      if (!found.has(key)) found.set(key, dependent);
    }
  }
  return [...found.values()];
}

/**
 * Visits every object whose chain contains the identity. Stops when `visit` returns false. `direct` is true if the
 * object refers to the identity itself.
 */
export function* visitUsers(
  inventory: Inventory, identity: Identity, visit: (user: Referrer, isDirect: boolean) => boolean,
): Paced<void> {
  for (const [i, dependent] of dependentsOf(inventory, identity).entries()) {
    const users = inventory.referrers.ofIdentity(dependent, dependent.namespace);
    if (!(yield* paced(users, BETWEEN_PAUSES, (user) => visit(user, i === 0)))) return;
  }
}

/** Returns `KIND NAMESPACE/NAME`. */
export function referrerName({ kind, namespace, name }: Pick<Referrer, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}
