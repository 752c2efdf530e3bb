import { IDENTITIES } from "../shared/capa/identities.ts";
import { SELECTORS, type SelectorStore } from "../shared/ack/selectors.ts";
import type { Registry } from "prom-client";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import { type Closures, closuresOf } from "../shared/core/closures.ts";
import type { Identity } from "../shared/capa/identity.ts";
import { servesIdentities } from "../shared/capa/grant-by-identity.ts";
import { grantSelector, isStillGranted } from "../shared/core/grant-decision.ts";
import type { Logger } from "../shared/server/logger.ts";
import { registerInventoryMetrics } from "../shared/server/metrics.ts";
import { REPLICA_IDENTITY } from "../shared/server/events.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { AuditLog } from "./audit-log.ts";
import { BaseIdentity, type BaseProvider } from "./base/identity.ts";
import { CredentialCache } from "./credentials/cache.ts";
import type { IssuedCredentials } from "./credentials/issued.ts";
import { Issuer } from "./credentials/issuer.ts";
import { roleOfSession } from "./credentials/session.ts";
import { EventLog } from "./event-log.ts";
import { AccountRecords } from "./identities/account-records.ts";
import { IdentitySecrets } from "./identities/secrets.ts";
import { ServiceAccountTokens } from "./identities/service-account-tokens.ts";
import { InstalledProfile, type LiveClosures } from "./installed-profile.ts";
import { IdentitySessions, isCurrentIdentity } from "./identities/sessions.ts";
import { createSidecarMetrics, registerSidecarState, type SidecarMetrics } from "./metrics.ts";
import type { SidecarOptions, SidecarSettings } from "./options.ts";
import { defaultProviderChain, usesPodIdentity } from "./base/provider.ts";
import { AssumeRoleProbe } from "./probe/assume-role-probe.ts";
import { probedIdentities, probedSelectors } from "./probe/probed-roles.ts";
import { RefusedIdentities } from "./refused-roles/refused-identities.ts";
import { RoleEvents } from "./refused-roles/role-events.ts";
import { createSTS, type STS } from "./sts-upstream/client.ts";
import { STSCallGuard } from "./sts-upstream/rate-limiter.ts";

interface ServicePorts {
  /** The options of grant decisions, for the probes and the refresh of sessions. */
  readonly options: SidecarOptions;
  readonly log: Logger;
  readonly source: InventorySource;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Default: the default provider chain of the AWS SDK. */
  readonly baseProvider?: BaseProvider;
  readonly registry: Registry;
  readonly clock: SteadyClock;
  readonly random: () => number;
  readonly issued: IssuedCredentials;
  /** The client of the API server; undefined if the inventory consists of manifests. */
  readonly api?: KubernetesAPI;
}

/** What the sidecar runs beside its server. */
export class Services {
  readonly metrics: SidecarMetrics;
  readonly base: BaseIdentity;
  readonly profile: LiveClosures;
  readonly issuer: Issuer;
  readonly sessions: CredentialCache;
  readonly audit: AuditLog;
  /** Null if the sidecar does not read Secrets. */
  readonly secrets: IdentitySecrets | null;
  readonly #settings: SidecarSettings;
  readonly #ports: ServicePorts;
  readonly #events: EventLog;
  readonly #sts: STS;
  readonly #guard: STSCallGuard;
  readonly #refused: RefusedIdentities;
  /** Null if the inventory consists of manifests. */
  readonly #roleEvents: RoleEvents | null;
  readonly #identities: IdentitySessions;
  readonly #probe: AssumeRoleProbe | null;
  /** Null without --profile-namespace. */
  readonly #installed: InstalledProfile | null;

  /** Starts all services. Throws ERR_CONFIG_INVALID if the STS endpoint is invalid. */
  constructor(settings: SidecarSettings, ports: ServicePorts) {
    const { source, registry, clock, random } = ports;
    const { region, stsEndpoint: endpoint } = settings;
    [this.#settings, this.#ports] = [settings, ports];
    const metrics = createSidecarMetrics(registry);
    const events = new EventLog(ports.log);
    [this.metrics, this.#events, this.audit] = [metrics, events, new AuditLog(ports)];
    const guard = new STSCallGuard({ clock, onCircuit: (state, reason) => events.logCircuit(state, reason) });
    this.#guard = guard;
    this.sessions = new CredentialCache({
      clock, random, guard, lookups: metrics.cacheLookups,
      onShortLived: (key, lifeMs) => events.logShortSession(key, lifeMs),
      onRefresh: (key, error, state) => events.logRefresh(roleOfSession(key), error, state),
    });
    this.#sts = createSTS({
      endpoint, region,
      onCall(action, code, seconds) {
        metrics.stsCalls.inc({ action, code });
        metrics.stsCallDuration.observe({ action }, seconds);
      },
    });
    const provider = ports.baseProvider ?? defaultProviderChain({ region, endpoint });
    this.base = new BaseIdentity({
      provider, hasPodTags: usesPodIdentity(ports.environment), sts: this.#sts, clock, random,
      onAttempt: (state) => events.logBase(state),
    });
    this.#installed = this.#startProfile();
    this.profile = this.#installed ?? { closures: this.#closures, status: null };
    this.#refused = new RefusedIdentities({ clock, isCurrent: (identity) => this.#isCurrent(identity) });
    this.#roleEvents = this.#startRoleEvents();
    this.secrets = this.#startSecrets();
    this.#identities = this.#createIdentities();
    this.issuer = this.#createIssuer();
    this.#probe = this.#startProbe();
    const selectors = (): SelectorStore => source.inventory.of(SELECTORS);
    registerInventoryMetrics(registry, { source, selectors, steadyMs: () => clock.steady() });
    const state = { sessions: this.sessions, guard, base: this.base, probe: this.#probe, refused: this.#refused };
    registerSidecarState(registry, state, () => clock.now());
  }

  /** When a client should retry after a 503, in seconds. */
  get retryAfterSeconds(): number {
    return this.#guard.retryAfterSeconds;
  }

  close(): void {
    void this.secrets?.stop();
    void this.#installed?.stop();
    void this.#roleEvents?.close();
    this.#probe?.close();
    this.base.close();
    this.sessions.close();
  }

  #isCurrent(identity: Identity): boolean {
    return isCurrentIdentity(this.#ports.source.inventory.of(IDENTITIES), identity);
  }

  /** Returns the sessions of CAPA identities, which report each role that STS rejects. */
  #createIdentities(): IdentitySessions {
    const { api, clock } = this.#ports;
    const onRequest = (result: string): void => this.metrics.tokenRequests.inc({ result });
    return new IdentitySessions(this.#settings, {
      base: this.base, sts: this.#sts, sessions: this.sessions, secrets: this.secrets,
      isCurrent: (identity) => this.#isCurrent(identity),
      tokens: api === undefined ? null : new ServiceAccountTokens({ api, clock, onRequest }),
      onAssumed: (identity, session) => {
        this.#refused.remove(identity);
        this.audit.obtained(identity, session);
      },
      onRefused: (role) => {
        this.#refused.add(role.identity);
        void this.#roleEvents?.identityRefused(role);
      },
    });
  }

  #createIssuer(): Issuer {
    const { issued, source, options } = this.#ports;
    return new Issuer(this.#settings, {
      base: this.base, profile: this.profile, sts: this.#sts, sessions: this.sessions, identities: this.#identities,
      issued, audit: this.audit,
      isGranted: (grant) => isStillGranted(source.inventory, grant, options),
      onRefused: (grant, error) => this.#roleEvents?.refused(grant, error),
      onAccountRejected: () => this.metrics.accountRejections.inc(),
      onDurationCapped: (roleARN, requestedSeconds) => this.#events.logCappedDuration(roleARN, requestedSeconds),
    });
  }

  /** What the settings close. */
  get #closures(): Closures {
    const { profile, base, unmatched } = this.#settings;
    return closuresOf({ profile, base: base ?? undefined, unmatched: unmatched ?? undefined });
  }

  /** Starts the watch of the profile of the installation. */
  #startProfile(): InstalledProfile | null {
    const { api, ...ports } = this.#ports;
    const { profileNamespace: namespace } = this.#settings;
    if (api === undefined || namespace === null) return null;
    const onChange = ({ closures, status }: InstalledProfile): void => {
      this.#events.logWatch("profile", status);
      if (status.loaded) this.#events.logClosures(closures);
    };
    const installed = new InstalledProfile({ ...ports, api, namespace, configured: this.#closures, onChange });
    installed.start();
    return installed;
  }

  /** Starts the watch of the Secrets of static identities. */
  #startSecrets(): IdentitySecrets | null {
    const { api, ...ports } = this.#ports;
    const { identitySecretNamespace: namespace } = this.#settings;
    if (api === undefined || namespace === null) return null;
    const accounts = new AccountRecords({ ...ports, api, namespace });
    const secrets = new IdentitySecrets({
      ...ports, api, namespace,
      onAccount: (name, accountID, version) => accounts.record(name, accountID, version),
      onRead: (result) => this.metrics.secretReads.inc({ result }),
      onStatus: (status) => this.#events.logWatch("list of Secrets", status),
    });
    secrets.start();
    return secrets;
  }

  /** Starts the writer of Events. */
  #startRoleEvents(): RoleEvents | null {
    const { api, options: { groups }, ...ports } = this.#ports;
    if (api === undefined) return null;
    const { metrics } = this;
    const roleEvents = new RoleEvents({ ...ports, api, metrics, groups, identity: REPLICA_IDENTITY });
    roleEvents.start();
    return roleEvents;
  }

  /** Starts the probe if `--check IRS-27=...` or `--check CI-35=...` enables it. */
  #startProbe(): AssumeRoleProbe | null {
    const { options, source: { inventory } } = this.#ports;
    const isOn = (check: string): boolean => (options.settings.checkSeverities.get(check) ?? "off") !== "off";
    const probed = [
      ...(isOn("IRS-27") ? [probedSelectors({
        selectors: () => inventory.of(SELECTORS).values(),
        grantOf: (name) => grantSelector(inventory, name, options),
        assume: (grant) => this.issuer.probe(grant),
      })] : []),
      ...(isOn("CI-35") && servesIdentities(options) ? [probedIdentities({
        inventory, query: options, isRefused: (identity) => this.#refused.has(identity),
        assume: (grant) => this.#identities.get(grant, { isAwaited: false }),
      })] : []),
    ];
    if (probed.length === 0) return null;
    const probe = new AssumeRoleProbe({ ...this.#ports, probed, metrics: this.metrics });
    probe.start();
    return probe;
  }
}
