import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import type { SteadyClock } from "../shared/clock.ts";
import type { KubernetesAPI } from "../shared/cluster/api.ts";
import type { Identity } from "../shared/model/identity.ts";
import { servesIdentities } from "../shared/resolution/grant-by-identity.ts";
import { grantRole, grantSelector } from "../shared/resolution/grant-decision.ts";
import type { Logger } from "../shared/server/logger.ts";
import { registerInventoryMetrics } from "../shared/server/metrics.ts";
import { REPLICA_IDENTITY } from "../shared/server/replica-identity.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { BaseIdentity, type BaseProvider, IdentityOnlyKeys } from "./base/identity.ts";
import { CredentialCache } from "./credentials/cache.ts";
import type { IssuedCredentials } from "./credentials/issued.ts";
import { Issuer } from "./credentials/issuer.ts";
import { roleOfSession } from "./credentials/session.ts";
import { EventLog } from "./event-log.ts";
import { IdentitySecrets } from "./identities/secrets.ts";
import { ServiceAccountTokens } from "./identities/service-account-tokens.ts";
import { IdentitySessions, isCurrentIdentity } from "./identities/sessions.ts";
import { createSidecarMetrics, registerSidecarState, type SidecarMetrics } from "./metrics.ts";
import type { SidecarOptions, SidecarSettings } from "./options.ts";
import { AssumeRoleProbe } from "./probe/assume-role-probe.ts";
import { probedIdentities, probedSelectors } from "./probe/probed-roles.ts";
import { RefusedIdentities } from "./refused-roles/refused-identities.ts";
import { RoleEvents } from "./refused-roles/role-events.ts";
import { createSTS, type STS } from "./sts-upstream/client.ts";
import { STSCallGuard } from "./sts-upstream/rate-limiter.ts";

/** The services that the sidecar's server uses. */
interface Services extends Pick<Parts, "metrics" | "base" | "secrets"> {
  readonly issuer: Issuer;
  close(): void;
}

interface ServicePorts {
  /** The options of grant decisions, for the probes and the refresh of sessions. */
  readonly options: SidecarOptions;
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

/** What the sessions of roles and of identities share. */
interface Parts {
  readonly metrics: SidecarMetrics;
  readonly events: EventLog;
  readonly sts: STS;
  readonly base: BaseIdentity;
  readonly sessions: CredentialCache;
  readonly refused: RefusedIdentities;
  /** Null if the inventory consists of manifests. */
  readonly roleEvents: RoleEvents | null;
  /** Null if the sidecar does not read Secrets. */
  readonly secrets: IdentitySecrets | null;
}

/**
 * Creates and connects the STS client, cache, base identity, issuer and metrics. Throws ERR_CONFIG_INVALID if the STS
 * endpoint is invalid.
 */
export function createServices(settings: SidecarSettings, ports: ServicePorts): Services {
  const { source, log, provider, registry, clock, random } = ports;
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
  const refused = new RefusedIdentities({ clock, isCurrent: isCurrentIn(ports) });
  const roleEvents = startRoleEvents(ports, { base, metrics });
  const secrets = startSecrets(settings, ports, { metrics, events });
  const parts = { metrics, events, sts, base, sessions, refused, roleEvents, secrets };
  const identities = createIdentitySessions(settings, ports, parts);
  const issuer = createIssuer(settings, ports, { ...parts, identities });
  const probe = startProbe(ports, { ...parts, identities, issuer });
  registerInventoryMetrics(registry, source, () => clock.steady());
  registerSidecarState(registry, { sessions, guard, base, probe, refused }, () => clock.now());
  const close = (): void => {
    void secrets?.stop();
    void roleEvents?.close();
    probe?.close();
    base.close();
    sessions.close();
  };
  return { metrics, base, issuer, secrets, close };
}

function isCurrentIn({ source }: ServicePorts): (identity: Identity) => boolean {
  return (identity) => isCurrentIdentity(source.inventory, identity);
}

/** Creates the sessions of CAPA identities, which report each role that STS rejects. */
function createIdentitySessions(
  settings: SidecarSettings, ports: ServicePorts,
  { base, sts, sessions, secrets, roleEvents, refused, metrics }: Parts,
): IdentitySessions {
  const { api, clock } = ports;
  const onRequest = (result: string): void => metrics.tokenRequests.inc({ result });
  return new IdentitySessions(settings, {
    base, sts, sessions, secrets, isCurrent: isCurrentIn(ports),
    tokens: api === undefined ? null : new ServiceAccountTokens({ api, clock, onRequest }),
    onAssumed: (identity) => refused.remove(identity),
    onRefused(role, error) {
      refused.add(role.identity);
      void roleEvents?.identityRefused(role, error);
    },
  });
}

function createIssuer(
  { sessionName, region, base: mode, scopeNamespace, allowedAccounts }: SidecarSettings,
  { clock, issued, source, options: query }: ServicePorts,
  { base, sts, sessions, metrics, events, roleEvents, identities }: Parts & { readonly identities: IdentitySessions },
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
  { identitySecretNamespace: namespace }: SidecarSettings, { api, clock, random }: ServicePorts,
  { metrics, events }: Pick<Parts, "metrics" | "events">,
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
  { api, options: { groups }, ...ports }: ServicePorts, { base, metrics }: Pick<Parts, "base" | "metrics">,
): RoleEvents | null {
  if (api === undefined) return null;
  const baseARN = (): string | null => base.verified?.arn ?? null;
  const roleEvents = new RoleEvents({ ...ports, api, metrics, groups, baseARN, identity: REPLICA_IDENTITY });
  roleEvents.start();
  return roleEvents;
}

/**
 * Starts the probe and returns it if `--check IRS-27=...` or `--check CI-35=...` enables the probe; otherwise returns
 * null.
 */
function startProbe(
  { options, ...ports }: ServicePorts,
  { issuer, base, metrics, identities, refused }: Parts & Pick<Services, "issuer"> & {
    readonly identities: IdentitySessions;
  },
): AssumeRoleProbe | null {
  const { inventory } = ports.source;
  const isOn = (check: string): boolean => (options.settings.checkSeverities.get(check) ?? "off") !== "off";
  const probed = [
    ...(isOn("IRS-27") ? [probedSelectors({
      selectors: () => inventory.selectors.values(),
      grantOf: (name) => grantSelector(inventory, name, options),
      assume: (grant) => issuer.probe(grant),
      baseARN: () => base.verified?.arn ?? null,
    })] : []),
    ...(isOn("CI-35") && servesIdentities(options) ? [probedIdentities({
      inventory, query: options, isRefused: (identity) => refused.has(identity),
      assume: (grant) => identities.get(grant, { isAwaited: false }),
    })] : []),
  ];
  if (probed.length === 0) return null;
  const probe = new AssumeRoleProbe({ ...ports, probed, metrics });
  probe.start();
  return probe;
}
