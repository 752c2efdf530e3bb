import { servesIdentities } from "../../shared/capa/grant-by-identity.ts";
import { IDENTITIES } from "../../shared/capa/identities.ts";
import type { Identity } from "../../shared/capa/identity.ts";
import type { Extension, ExtensionPorts } from "../extension.ts";
import { IdentitySecrets } from "./access-keys.ts";
import { AccountRecords } from "./account-records.ts";
import { refusedIdentity } from "./identity-events.ts";
import { createIdentityMetrics } from "./identity-metrics.ts";
import { addIdentityRoute, identityFields } from "./identity-route.ts";
import { IdentitySessions, isCurrentIdentity } from "./identity-sessions.ts";
import { probedIdentities } from "./probed-identities.ts";
import { RefusedIdentities } from "./refused-identities.ts";
import { ServiceAccountTokens } from "./service-account-tokens.ts";

/** Serves the credentials of CAPA identities. */
export function startIdentities(ports: ExtensionPorts): Extension {
  const { settings, options, source, api, clock, audit, roleEvents, registry } = ports;
  const isCurrent = (identity: Identity): boolean => (
    isCurrentIdentity(source.inventory.of(IDENTITIES), identity)
  );
  const refused = new RefusedIdentities({ clock, isCurrent });
  const metrics = createIdentityMetrics(registry, refused);
  const secrets = startSecrets(ports, (result) => metrics.secretReads.inc({ result }));
  const onRequest = (result: string): void => metrics.tokenRequests.inc({ result });
  const sessions = new IdentitySessions(settings, {
    ...ports, secrets, isCurrent,
    tokens: api === undefined ? null : new ServiceAccountTokens({ api, clock, onRequest }),
    onAssumed(identity, session) {
      refused.remove(identity);
      audit.obtained({ auditFields: identityFields(identity) }, session);
    },
    onRefused(role) {
      refused.add(role.identity);
      if (roleEvents !== null) void refusedIdentity(role, source.inventory).then((one) => roleEvents.report(one));
    },
  });
  const { allowedAudiences } = settings;
  const isServed = servesIdentities(options);
  return {
    addRoutes(app, issue) {
      if (isServed) addIdentityRoute(app, issue, { sessions, query: { ...options, allowedAudiences } });
    },
    probed: !isServed ? [] : [probedIdentities({
      inventory: source.inventory, query: options, isRefused: (identity) => refused.has(identity),
      assume: (grant) => sessions.get(grant, { isAwaited: false }),
    })],
    watched: secrets === null ? null : {
      subject: "the list of Secrets",
      get status() {
        return secrets.status;
      },
    },
    close: () => void secrets?.stop(),
  };
}

/** Starts the watch of the Secrets of static identities; returns null if the sidecar reads none. */
function startSecrets(
  { api, events, ...ports }: ExtensionPorts, onRead: (result: "ok" | "invalid" | "failed") => void,
): IdentitySecrets | null {
  const { identitySecretNamespace: namespace } = ports.settings;
  if (api === undefined || namespace === null) return null;
  const accounts = new AccountRecords({ ...ports, api, namespace });
  const secrets = new IdentitySecrets({
    ...ports, api, namespace, onRead,
    onAccount: (name, accountID, version) => accounts.record(name, accountID, version),
    onStatus: (status) => events.logWatch("list of Secrets", status),
  });
  secrets.start();
  return secrets;
}
