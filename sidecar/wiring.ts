import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import { grantSelector } from "../shared/decisions/grants/decide.ts";
import type { Grant, RoleQuery } from "../shared/decisions/grants/grant.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import type { SteadyClock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { registerInventoryMetrics } from "../shared/server/inventory-metrics.ts";
import type { Logger } from "../shared/server/logger.ts";
import { AssumeRoleProbe } from "./assume-role-probe.ts";
import { BaseIdentity, type BaseProvider } from "./base/identity.ts";
import { CredentialCache } from "./credentials/cache.ts";
import { IdentityOnlyKeys } from "./credentials/identity-only.ts";
import type { IssuedCredentials } from "./credentials/issued.ts";
import { Issuer } from "./credentials/issuer.ts";
import { roleOfSession } from "./credentials/session-key.ts";
import { EventLog } from "./event-log.ts";
import { createSidecarMetrics, registerSidecarState, type SidecarMetrics, type SidecarState } from "./metrics.ts";
import { createSTS } from "./sts-upstream/client.ts";
import { CallGate } from "./sts-upstream/rate-limiter.ts";

/** What stands behind the sidecar's listener. */
export interface Services {
  readonly metrics: SidecarMetrics;
  readonly base: BaseIdentity;
  readonly sessions: CredentialCache;
  readonly vending: Issuer;
  close(): void;
}

export interface ServicePorts {
  /** What is granted, for the trials of IRS-27. */
  readonly options: RoleQuery;
  readonly log: Logger;
  readonly source: InventorySource;
  readonly provider: BaseProvider;
  readonly registry: Registry;
  readonly clock: SteadyClock;
  readonly random: () => number;
  readonly issued: IssuedCredentials;
}

type ServiceSettings = Pick<SettingsFor<"sidecar">, "stsEndpoint" | "region" | "sessionName" | "base" | "scopeNamespace" | "allowedAccounts">;

/** Connects the parts: what is asked of STS, kept, vended, and counted in `registry`. Throws ERR_CONFIG_INVALID for no usable STS endpoint. */
export function createServices(settings: ServiceSettings, ports: ServicePorts): Services {
  const { source, log, provider, registry, clock, random, issued } = ports;
  const now = (): number => clock.now();
  const metrics = createSidecarMetrics(registry);
  const told = new EventLog(log);
  const gate = new CallGate({ clock, onCircuit: (...change) => told.circuit(...change) });
  const sessions = new CredentialCache({
    clock, random, gate,
    onLookup: (result) => metrics.lookup(result),
    onShortLived: (key, lifeMs) => told.shortLived(roleOfSession(key), lifeMs),
    onRefresh: (key, error) => told.refresh({ key, roleARN: roleOfSession(key) }, error),
  });
  const sts = createSTS({ endpoint: settings.stsEndpoint, region: settings.region, onCall: (...call) => metrics.stsCall(...call) });
  const base = new BaseIdentity({ provider, sts, clock, random, onAttempt: (state) => told.base(state) });
  const vending = new Issuer(
    {
      sessionName: settings.sessionName, region: settings.region, vendsLongLivedBase: settings.base === "vend", pinsAccount: settings.scopeNamespace !== null,
      allowedAccounts: settings.allowedAccounts,
    },
    {
      base, sts, sessions, issued, onAccountRefused: () => metrics.accountRefused(), onDurationCapped: (...session) => told.durationCapped(...session),
      identityOnly: settings.base === "identity-only" ? new IdentityOnlyKeys({ base, clock, randomBytes }) : null,
    },
  );
  const roles = roleCheck(ports, { vending, base, metrics });
  registerInventoryMetrics(registry, source, now);
  registerSidecarState(registry, stateOf({ sessions, gate, base, roles }), now);
  const close = (): void => {
    roles?.close();
    base.close();
    sessions.close();
  };
  return { metrics, base, sessions, vending, close };
}

/** Null unless `--check IRS-27=...` asks for it. */
function roleCheck({ options, source, clock, random, log }: ServicePorts, { vending, base, metrics }: Pick<Services, "vending" | "base" | "metrics">): AssumeRoleProbe | null {
  if ((options.settings.checkSeverities.get("IRS-27") ?? "off") === "off") return null;
  const grantOf = (name: string): Grant => grantSelector(source.inventory, name, options);
  const check = new AssumeRoleProbe({ source, grantOf, assume: (grant) => vending.tryRole(grant), identity: () => base.known?.arn ?? null, clock, random, log, metrics });
  check.start();
  return check;
}

interface Stateful {
  readonly sessions: CredentialCache;
  readonly gate: CallGate;
  readonly base: BaseIdentity;
  readonly roles: AssumeRoleProbe | null;
}

function stateOf({ sessions, gate, base, roles }: Stateful): SidecarState {
  return {
    get refreshLagMs() { return sessions.refreshLagMs; },
    get circuit() { return gate.circuit; },
    get inFlight() { return gate.inFlight; },
    get waiting() { return gate.waiting; },
    get base() { return base.proved; },
    get failingRoles() { return roles?.failing ?? 0; },
    *expirations() {
      for (const { key, expirationMs } of sessions.expirations()) yield { role: roleOfSession(key), expirationMs };
    },
  };
}
