import { ACCOUNT_OF_CAPA } from "../core/capa-kinds.ts";
import { controllerAccountOf } from "../core/resolution.ts";
import { IDENTITY_ACCOUNTS_STORE } from "./identity-accounts.ts";
import { IDENTITIES } from "./identities.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { accountOfSecret, accountText } from "./identity.ts";
import { referenceOf, type Referrer } from "./referrer.ts";

/** Returns the `accountText` of an object that refers to an identity; null if its account is unknown. */
export function clusterAccount(referrer: Referrer, inventory: Inventory, settings: DecisionSettings): string | null {
  const reference = referenceOf(referrer, inventory.runtime);
  const identity = reference === null ? null : inventory.of(IDENTITIES).get(reference, referrer.namespace);
  const { identitySecretNamespace: namespace } = settings;
  return accountText(reference, identity, {
    ofCAPA: controllerAccountOf(settings),
    ofSecret: (name) => (namespace === null ? null : inventory.of(IDENTITY_ACCOUNTS_STORE).accountOf(namespace, name)),
  });
}

/**
 * Yields the texts under which the inventory indexes the clusters of the account: it knows neither the settings, which
 * can state the account of CAPA, nor the accounts of Secrets.
 */
export function* indexedAccounts(account: string, inventory: Inventory, settings: DecisionSettings): Iterable<string> {
  yield account;
  const [, accountID = null] = /^account (.*)$/.exec(account) ?? [];
  if (accountID === null) return;
  if (accountID === controllerAccountOf(settings)) yield ACCOUNT_OF_CAPA;
  const { identitySecretNamespace: namespace } = settings;
  if (namespace === null) return;
  for (const name of inventory.of(IDENTITY_ACCOUNTS_STORE).secretsOf(namespace, accountID)) yield accountOfSecret(name);
}
