import type { Identity } from "../shared/decisions/identities/identity.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../shared/inventory/cluster/api.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { BaseIdentity } from "./base/identity.ts";
import type { CredentialCache } from "./credentials/cache.ts";
import { isCurrentIdentity } from "./identities/current-identity.ts";
import { IdentitySessions } from "./identities/sessions.ts";
import type { RefusedRole } from "./identities/refused-role.ts";
import { WebIdentitySessions } from "./identities/web-identity-sessions.ts";
import type { IdentitySecrets } from "./identities/secrets.ts";
import type { SidecarMetrics } from "./metrics.ts";
import type { RefusedIdentities } from "./refused-roles/refused-identities.ts";
import type { RoleEvents } from "./refused-roles/role-events.ts";
import { ServiceAccountTokens } from "./identities/service-account-tokens.ts";
import type { STS } from "./sts-upstream/client.ts";
import type { UpstreamSTSError } from "./sts-upstream/errors.ts";

interface IdentityPorts {
  readonly source: Pick<InventorySource, "inventory">;
  readonly clock: Clock;
  /** Undefined if the inventory consists of manifests. */
  readonly api?: KubernetesAPI | undefined;
}

interface IdentityParts {
  readonly base: BaseIdentity;
  readonly sts: STS;
  readonly sessions: CredentialCache;
  readonly metrics: Pick<SidecarMetrics, "tokenRequests">;
  readonly roleEvents: RoleEvents | null;
  readonly secrets: IdentitySecrets | null;
  readonly refused: RefusedIdentities;
}

/** Creates the sessions of CAPA identities, which report each role that STS rejects. */
export function createIdentitySessions(
  settings: Pick<SettingsFor<"sidecar">, "sessionName" | "region">, { source, api, clock }: IdentityPorts,
  { base, sts, sessions, secrets, roleEvents, refused, metrics }: IdentityParts,
): IdentitySessions {
  const ports = {
    sts, sessions, isCurrent: (identity: Identity) => isCurrentIdentity(source.inventory, identity),
    onAssumed: (identity: Identity) => refused.remove(identity),
    onRefused(role: RefusedRole, error: UpstreamSTSError) {
      refused.add(role.identity);
      void roleEvents?.identityRefused(role, error);
    },
  };
  const onRequest = (result: string): void => metrics.tokenRequests.inc({ result });
  const tokens = api === undefined ? null : new ServiceAccountTokens({ api, clock, onRequest });
  const webIdentities = new WebIdentitySessions(settings, { ...ports, tokens });
  return new IdentitySessions(settings, { ...ports, base, secrets, webIdentities });
}
