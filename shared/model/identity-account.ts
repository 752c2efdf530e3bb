import { ACCOUNT_ID } from "../formats/arn.ts";
import { subdomainFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { accountOfIdentity, type Identity, type IdentityReference } from "./identity.ts";
import { CONTROLLER_IDENTITY, STATIC_IDENTITY } from "../contract/capa-kinds.ts";

/** The text for the unknown account of CAPA. */
export const ACCOUNT_OF_CAPA = "the account of CAPA";

/**
 * Returns a text that names the account of an object that uses the identity, such as `account 111122223333` or `the
 * account of Secret creds`. Two objects are in the same account if their texts are equal. Returns null if the account
 * is unknown. `reference` is null if CAPA uses its own credentials without an identity. `identity` is null if it does
 * not exist.
 */
export function accountText(
  reference: IdentityReference | null, identity: Identity | null, controllerAccount: string | null = null,
): string | null {
  if (reference === null || reference.kind === CONTROLLER_IDENTITY) {
    return controllerAccount === null ? ACCOUNT_OF_CAPA : `account ${controllerAccount}`;
  }
  if (identity === null) return null;
  if (identity.kind === STATIC_IDENTITY) return `the account of Secret ${secretText(identity.secretName ?? "")}`;
  const account = accountOfIdentity(identity);
  // CAPA accepts any text as a role.
  return account === null || !ACCOUNT_ID.test(account) ? null : `account ${account}`;
}

/** Returns the name of a Secret. Quotes a name that no Secret can have, which can be long. */
function secretText(name: string): string {
  return subdomainFaults(name).length === 0 ? name : quote(name);
}
