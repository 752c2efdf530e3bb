import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import type { Clock, SteadyClock } from "../shared/clock.ts";
import type { KubernetesAPI } from "../shared/cluster/api.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import type { Identity } from "../shared/model/identity.ts";
import { grantRole } from "../shared/resolution/grant-decision.ts";
import type { RoleQuery } from "../shared/resolution/grant.ts";
import type { Logger } from "../shared/server/logger.ts";
import { registerInventoryMetrics } from "../shared/server/metrics.ts";
import { REPLICA_IDENTITY } from "../shared/server/replica-identity.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { BaseIdentity, type BaseProvider } from "./base/identity.ts";
import { CredentialCache } from "./credentials/cache.ts";
import { IdentityOnlyKeys } from "./credentials/identity-only.ts";
import type { IssuedCredentials } from "./credentials/issued.ts";
import { Issuer } from "./credentials/issuer.ts";
import { roleOfSession } from "./credentials/session.ts";
import { EventLog } from "./event-log.ts";
import { IdentitySessions, isCurrentIdentity } from "./identities/sessions.ts";
import { RefusedIdentities, type RefusedRole } from "./refused-roles/refused-identities.ts";
import { IdentitySecrets } from "./identities/secrets.ts";
import { ServiceAccountTokens } from "./identities/service-account-tokens.ts";
import { WebIdentitySessions } from "./identities/web-identity-sessions.ts";
import { createSidecarMetrics, registerSidecarState, type SidecarMetrics, type SidecarState } from "./metrics.ts";
import type { AssumeRoleProbe } from "./probe/assume-role-probe.ts";
import { startProbe } from "./probe/start-probe.ts";
import { RoleEvents } from "./refused-roles/role-events.ts";
import { createSTS, type STS } from "./sts-upstream/client.ts";
import type { UpstreamSTSError } from "./sts-upstream/errors.ts";
import { STSCallGuard } from "./sts-upstream/rate-limiter.ts";

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
function createIdentitySessions(
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

/** The services that the sidecar's server uses. */
interface Services {
  readonly metrics: SidecarMetrics;
  readonly base: BaseIdentity;
  readonly sessions: CredentialCache;
  readonly issuer: Issuer;
  /** Null if the sidecar does not read Secrets. */
  readonly secrets: IdentitySecrets | null;
  close(): void;
}

interface ServicePorts {
  /** The options of grant decisions, for the IRS-27 probe and the refresh of sessions. */
  readonly options: RoleQuery;
  readonly log: Logger;
  readonly source: InventorySource;
  readonly provider: BaseProvider;
  readonly registry: Registry;
  readonly clock: SteadyClock;
  readonly random: () => number;
  readonly issued: IssuedCredentials;
  /** The client of the API server; undefined if the inventory consists of manifests. */
  readonly api?: KubernetesAPI | undefined;
}

type ServiceSettings = Pick<
  SettingsFor<"sidecar">,
  "stsEndpoint" | "region" | "sessionName" | "base" | "scopeNamespace" | "allowedAccounts"
  | "identitySecretNamespace"
>;

/**
 * Creates and connects the STS client, cache, base identity, issuer and metrics. Throws ERR_CONFIG_INVALID if the STS
 * endpoint is invalid.
 */
export function createServices(settings: ServiceSettings, ports: ServicePorts): Services {
  const { options, source, log, provider, registry, clock, random } = ports;
  const metrics = createSidecarMetrics(registry);
  const events = new EventLog(log);
  const guard = new STSCallGuard({ clock, onCircuit: (state, reason) => events.logCircuit(state, reason) });
  const sessions = new CredentialCache({
    clock,
    random,
    guard,
    onLookup: (result) => metrics.cacheLookups.inc({ result }),
    onShortLived: (key, lifeMs) => events.logShortSession(roleOfSession(key), lifeMs),
    onRefresh: (key, error) => events.logRefresh({ key, roleARN: roleOfSession(key) }, error),
  });
  const sts = createSTS({
    endpoint: settings.stsEndpoint,
    region: settings.region,
    onCall(action, code, seconds) {
      metrics.stsCalls.inc({ action, code });
      metrics.stsCallDuration.observe({ action }, seconds);
    },
  });
  const base = new BaseIdentity({ provider, sts, clock, random, onAttempt: (state) => events.logBase(state) });
  const roleEvents = startRoleEvents(ports, { base, metrics });
  const secrets = startSecrets(settings, ports, { metrics, events });
  const refused = new RefusedIdentities({
    clock, isCurrent: (identity) => isCurrentIdentity(source.inventory, identity),
  });
  const parts = { base, sts, sessions, metrics, events, roleEvents, secrets, refused };
  const identities = createIdentitySessions(settings, ports, parts);
  const issuer = createIssuer(settings, ports, { ...parts, identities });
  const probe = startProbe(options, ports, { issuer, base, metrics, identities, refused });
  registerInventoryMetrics(registry, source, () => clock.steady());
  registerSidecarState(registry, stateOf({ sessions, guard, base, probe, refused }), () => clock.now());
  const close = (): void => {
    void secrets?.stop();
    void roleEvents?.close();
    probe?.close();
    base.close();
    sessions.close();
  };
  return { metrics, base, sessions, issuer, secrets, close };
}

interface IssuerParts extends Pick<Services, "base" | "sessions" | "metrics"> {
  readonly sts: ReturnType<typeof createSTS>;
  readonly events: EventLog;
  readonly roleEvents: RoleEvents | null;
  readonly secrets: IdentitySecrets | null;
  readonly refused: RefusedIdentities;
}

function createIssuer(
  { sessionName, region, base: mode, scopeNamespace, allowedAccounts }: ServiceSettings,
  { clock, issued, source, options: query }: ServicePorts,
  { base, sts, sessions, metrics, events, roleEvents, identities }: IssuerParts & {
    readonly identities: IdentitySessions;
  },
): Issuer {
  const options = {
    sessionName,
    region,
    allowsLongLivedBase: mode === "vend",
    pinsAccount: scopeNamespace !== null,
    allowedAccounts,
  };
  return new Issuer(options, {
    base,
    sts,
    sessions,
    identities,
    issued,
    identityOnly: mode === "identity-only" ? new IdentityOnlyKeys({ base, clock, randomBytes }) : null,
    isGranted: (roleARN) => grantRole(source.inventory, roleARN, query).verdict === "role",
    onRefused: (grant, error) => roleEvents?.refused(grant, error),
    onAccountRejected: () => metrics.accountRejections.inc(),
    onDurationCapped: (roleARN, requestedSeconds) => events.logCappedDuration(roleARN, requestedSeconds),
  });
}

/** Starts the watch of the Secrets of static identities; returns null if the sidecar does not read Secrets. */
function startSecrets(
  { identitySecretNamespace: namespace }: ServiceSettings, { api, clock, random }: ServicePorts,
  { metrics, events }: Pick<IssuerParts, "metrics" | "events">,
): IdentitySecrets | null {
  if (api === undefined || namespace === null) return null;
  const secrets = new IdentitySecrets({
    api, clock, random, namespace,
    onRead: (result) => metrics.secretReads.inc({ result }),
    onStatus: (status) => events.logSecrets(status),
  });
  secrets.start();
  return secrets;
}

/** Starts the writer of Events and returns it; returns null if the inventory consists of manifests. */
function startRoleEvents(
  { api, options: { groups }, source, clock, random, log }: ServicePorts,
  { base, metrics }: Pick<Services, "base" | "metrics">,
): RoleEvents | null {
  if (api === undefined) return null;
  const roleEvents = new RoleEvents({
    api, clock, random, log, metrics, source, groups, baseARN: () => base.verified?.arn ?? null,
    identity: REPLICA_IDENTITY,
  });
  roleEvents.start();
  return roleEvents;
}

interface StateParts {
  readonly sessions: CredentialCache;
  readonly guard: STSCallGuard;
  readonly base: BaseIdentity;
  readonly probe: AssumeRoleProbe | null;
  readonly refused: RefusedIdentities;
}

function stateOf({ sessions, guard, base, probe, refused }: StateParts): SidecarState {
  return {
    get refreshLagMs() { return sessions.refreshLagMs; },
    get circuit() { return guard.circuit; },
    get inFlight() { return guard.inFlight; },
    get waiting() { return guard.waiting; },
    get base() { return base.lastVerification; },
    get failingRoles() { return probe?.failing ?? 0; },
    get refusedIdentities() { return refused.size; },
    *expirations() {
      for (const { key, expirationMs } of sessions.expirations()) yield { role: roleOfSession(key), expirationMs };
    },
  };
}
