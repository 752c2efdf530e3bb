import { servesIdentities } from "../../shared/capa/grant-by-identity.ts";
import { IDENTITIES, identitySubject } from "../../shared/capa/identities.ts";
import { identityChain } from "../../shared/capa/identity-chain.ts";
import { type Identity, identityKey } from "../../shared/capa/identity.ts";
import { readReferrer, referenceOf } from "../../shared/capa/referrer.ts";
import { describeIdentity, REFERRER_KINDS } from "../../shared/core/capa-kinds.ts";
import { resourceSubject } from "../../shared/core/event-subjects.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { EventSubject } from "../../shared/formats/object-meta.ts";
import { IdentitySecrets } from "./access-keys.ts";
import { AccountRecords } from "./account-records.ts";
import { createIdentityMetrics } from "./identity-metrics.ts";
import { addIdentityRoute, identityFields } from "./identity-route.ts";
import { IdentitySessions, isCurrentIdentity } from "./identity-sessions.ts";
import { probedIdentities } from "./probed-identities.ts";
import { RefusedIdentities, type RefusedRole } from "./refused-identities.ts";
import { ServiceAccountTokens } from "./service-account-tokens.ts";
import type { Extension, ExtensionPorts } from "../extension.ts";
import type { RefusedObject, Search } from "../role-events.ts";

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

/** Returns the identity whose role STS rejected, for an Event. Never rejects. */
async function refusedIdentity({ identity, error }: RefusedRole, inventory: Inventory): Promise<RefusedObject> {
  return {
    subject: identitySubject(identity, inventory), object: describeIdentity(identity), error: await error(),
    users: () => clustersOf(identity, inventory),
  };
}

/**
 * Finds clusters, and other objects that use an identity, whose chain contains the identity and allows their namespace.
 * Templates use no credentials.
 */
function clustersOf(identity: Identity, inventory: Inventory): Search {
  const types = REFERRER_KINDS.flatMap(({ group, kind, isTemplate }) => {
    const version = isTemplate ? null : inventory.kinds.servedVersion(group, kind);
    return version === null ? [] : [{ group, version, kind }];
  });
  return { types, metadataOnly: false, subjectOf: (object) => subjectIfAffected(object, identity, inventory) };
}

function subjectIfAffected(object: JsonObject, identity: Identity, inventory: Inventory): EventSubject | null {
  const referrer = readReferrer(object);
  const reference = referrer === null ? null : referenceOf(referrer, inventory.runtime);
  if (referrer === null || reference === null) return null;
  const { identities, denial } = identityChain(inventory, reference, referrer.namespace);
  const key = identityKey(identity);
  return denial === null && identities.some((one) => identityKey(one) === key) ? resourceSubject(referrer) : null;
}
