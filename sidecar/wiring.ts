import { SELECTORS, type SelectorStore } from "../shared/ack/selectors.ts";
import type { Registry } from "prom-client";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import { type Closures, closuresOf } from "../shared/core/closures.ts";
import { grantSelector, isStillGranted } from "../shared/core/grant-decision.ts";
import type { Logger } from "../shared/server/logger.ts";
import { registerInventoryMetrics } from "../shared/server/metrics.ts";
import { REPLICA_IDENTITY } from "../shared/server/events.ts";
import type { WatchedState } from "../shared/server/readiness.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { AuditLog } from "./audit-log.ts";
import { startIdentities } from "./capa/identity-extension.ts";
import { BaseIdentity, type BaseProvider } from "./base/identity.ts";
import { CredentialCache } from "./credentials/cache.ts";
import type { IssuedCredentials } from "./credentials/issued.ts";
import { Issuer } from "./credentials/issuer.ts";
import { roleOfSession } from "./credentials/session.ts";
import { EventLog } from "./event-log.ts";
import type { Extension, StartExtension } from "./extension.ts";
import { InstalledProfile, type LiveClosures } from "./installed-profile.ts";
import { createSidecarMetrics, registerSidecarState, type SidecarMetrics } from "./metrics.ts";
import type { SidecarOptions, SidecarSettings } from "./options.ts";
import { defaultProviderChain, usesPodIdentity } from "./base/provider.ts";
import { ScopedBase } from "./base/scoped-base.ts";
import { AssumeRoleProbe } from "./probe/assume-role-probe.ts";
import { probedSelectors } from "./probe/probed-roles.ts";
import { RoleEvents } from "./role-events.ts";
import { createSTS, type STS } from "./sts-upstream/client.ts";
import { STSCallGuard } from "./sts-upstream/rate-limiter.ts";

/** What serves the endpoints of the sources of shared/kinds.ts. */
const EXTENSIONS: readonly StartExtension[] = [startIdentities];

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
  readonly extensions: readonly Extension[];
  readonly #settings: SidecarSettings;
  readonly #ports: ServicePorts;
  readonly #events: EventLog;
  readonly #sts: STS;
  readonly #guard: STSCallGuard;
  /** Null if the inventory consists of manifests. */
  readonly #roleEvents: RoleEvents | null;
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
      onShortLived: (lookup, lifeMs) => events.logShortSession(lookup, lifeMs),
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
    this.#roleEvents = this.#startRoleEvents();
    this.extensions = this.#startExtensions();
    this.issuer = this.#createIssuer();
    // Tells at the start whether the scope limits the base identity. A request reports the error of a failure.
    void this.issuer.warmBase().catch(() => {});
    this.#probe = this.#startProbe();
    const selectors = (): SelectorStore => source.inventory.of(SELECTORS);
    registerInventoryMetrics(registry, { source, selectors, steadyMs: () => clock.steady() });
    const state = { sessions: this.sessions, guard, base: this.base, probe: this.#probe };
    registerSidecarState(registry, state, () => clock.now());
  }

  /** When a client should retry after a 503, in seconds. */
  get retryAfterSeconds(): number {
    return this.#guard.retryAfterSeconds;
  }

  /** The watches beside the inventory. */
  get watched(): readonly WatchedState[] {
    const { status } = this.profile;
    const profile = status === null ? [] : [{ subject: "the profile of the installation", status }];
    return [...this.extensions.flatMap(({ watched }) => watched ?? []), ...profile];
  }

  close(): void {
    for (const extension of this.extensions) extension.close();
    void this.#installed?.stop();
    void this.#roleEvents?.close();
    this.#probe?.close();
    this.base.close();
    this.sessions.close();
  }

  #startExtensions(): readonly Extension[] {
    const { base, sessions, audit } = this;
    const own = { base, sessions, audit, sts: this.#sts, events: this.#events, roleEvents: this.#roleEvents };
    return EXTENSIONS.map((start) => start({ ...this.#ports, ...own, settings: this.#settings }));
  }

  #createIssuer(): Issuer {
    const { issued, source, options } = this.#ports;
    const scopedBase = this.#createScopedBase();
    return new Issuer(this.#settings, {
      base: this.base, scopedBase, profile: this.profile, sts: this.#sts, sessions: this.sessions, issued,
      audit: this.audit,
      isGranted: (grant) => isStillGranted(source.inventory, grant, options),
      onRefused: (grant, error) => this.#roleEvents?.refused(grant, error),
      onAccountRejected: () => this.metrics.accountRejections.inc(),
      onDurationCapped: (roleARN, requestedSeconds) => this.#events.logCappedDuration(roleARN, requestedSeconds),
    });
  }

  #createScopedBase(): ScopedBase {
    const { sessionName, region } = this.#settings;
    const { environment } = this.#ports;
    return new ScopedBase({
      base: this.base, sts: this.#sts, sessions: this.sessions, environment, sessionName, region,
      onUnlimited: (reason) => this.#events.logUnlimitedBase(reason),
    });
  }

  /** What the settings close. */
  get #closures(): Closures {
    const { profile, base, unmatched, sessionScope } = this.#settings;
    return closuresOf({
      profile, base: base ?? undefined, unmatched: unmatched ?? undefined, sessionScope: sessionScope ?? undefined,
    });
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

  /** Starts the writer of Events. */
  #startRoleEvents(): RoleEvents | null {
    const { api, options: { groups }, ...ports } = this.#ports;
    if (api === undefined) return null;
    const { metrics } = this;
    const roleEvents = new RoleEvents({ ...ports, api, metrics, groups, identity: REPLICA_IDENTITY });
    roleEvents.start();
    return roleEvents;
  }

  /** Starts the probe of the checks that `--check` enables, such as `--check IRS-27=warn`. */
  #startProbe(): AssumeRoleProbe | null {
    const { options, source: { inventory } } = this.#ports;
    const isOn = (check: string): boolean => (options.settings.checkSeverities.get(check) ?? "off") !== "off";
    const selectors = probedSelectors({
      selectors: () => inventory.of(SELECTORS).values(),
      grantOf: (name) => grantSelector(inventory, name, options),
      assume: (grant) => this.issuer.probe(grant),
    });
    const known = [selectors, ...this.extensions.flatMap(({ probed }) => probed)];
    const probed = known.filter(({ check }) => isOn(check));
    if (probed.length === 0) return null;
    const probe = new AssumeRoleProbe({ ...this.#ports, probed, metrics: this.metrics });
    probe.start();
    return probe;
  }
}
