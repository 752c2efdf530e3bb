import { type Identity, readIdentity, type RoleIdentity } from "../../identities/identity.ts";
import { field, type JsonObject } from "../../kubernetes/json.ts";
import { NO_CHANGES, type PendingChanges } from "../../resolution/change-set.ts";
import type { CheckContext, CheckInput } from "../change.ts";

/** A change of a CAPA identity, which the identity checks examine. */
export interface IdentityChange extends CheckContext {
  /** The object after the change; at DELETE the deleted object. */
  readonly object: JsonObject;
  readonly identity: Identity;
  /** The value of `spec.allowedNamespaces`; undefined if it is missing. */
  readonly allowed: unknown;
  /** The stored object and its identity at UPDATE; otherwise null. */
  readonly stored: { readonly object: JsonObject; readonly identity: Identity } | null;
  /** Admitted changes of other identities that the inventory does not contain yet. */
  readonly pending: PendingChanges<RoleIdentity>;
}

/** Returns the change, or null if the object is not an identity. */
export function identityChange(
  input: Pick<CheckInput, "object" | "old" | "pendingIdentities">, context: CheckContext,
): IdentityChange | null {
  const { object, old, pendingIdentities: pending = NO_CHANGES } = input;
  const { runtime } = context.settings;
  const identity = readIdentity(object, runtime);
  if (identity === null) return null;
  const before = old === null ? null : readIdentity(old, runtime);
  const stored = old === null || before === null ? null : { object: old, identity: before };
  return { ...context, object, identity, allowed: field(field(object, "spec"), "allowedNamespaces"), stored, pending };
}
