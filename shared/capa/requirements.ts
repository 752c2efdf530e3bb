import type { CheckInput, Requirement } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { needsStore } from "../core/requirements.ts";
import { IDENTITIES } from "./identities.ts";
import { REFERRERS } from "./referrers.ts";
import { SECRETS } from "./secrets.ts";

/** What the checks of CAPA's kinds need. */
export const CAPA_NEEDS = {
  identities: needsStore("identities", IDENTITIES),
  clusters: needsStore("clusters", REFERRERS),
  secrets: { name: "secrets", store: SECRETS, isMet: hasSecrets },
  secretNamespace: {
    name: "--identity-secret-namespace",
    isMet: (_, { identitySecretNamespace }) => identitySecretNamespace !== null,
  },
} as const satisfies Readonly<Record<string, Requirement>>;

/**
 * Whether the input contains the Secrets of static identities, or would with --identity-secret-namespace. Manifests
 * usually contain no Secrets.
 */
function hasSecrets({ inventory = null }: CheckInput, { identitySecretNamespace }: DecisionSettings): boolean {
  if (inventory === null) return false;
  const { origin } = inventory;
  const secrets = inventory.of(SECRETS);
  if (identitySecretNamespace === null) return origin === "cluster" || secrets.size > 0;
  return inventory.includes(SECRETS) && (origin === "cluster" || secrets.hasNamespace(identitySecretNamespace));
}
