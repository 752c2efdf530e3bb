import type { Registry } from "prom-client";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import type { SteadyClock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { registerInventoryMetrics } from "../shared/server/inventory-metrics.ts";
import { BaseIdentity, type BaseProvider } from "./base-identity.ts";
import { CallGate } from "./call-gate.ts";
import { CredentialCache } from "./credential-cache.ts";
import { createSidecarMetrics, type SidecarMetrics } from "./metrics.ts";
import { roleOfSession } from "./session-key.ts";
import { registerSidecarState, type SidecarState } from "./state-metrics.ts";
import { createSTS } from "./sts-client.ts";
import { Vending } from "./vending.ts";

/** What stands behind the sidecar's listener. */
export interface Services {
  readonly metrics: SidecarMetrics;
  readonly base: BaseIdentity;
  readonly sessions: CredentialCache;
  readonly vending: Vending;
  close(): void;
}

export interface ServicePorts {
  readonly source: InventorySource;
  readonly provider: BaseProvider;
  readonly registry: Registry;
  readonly clock: SteadyClock;
  readonly random: () => number;
}

type ServiceSettings = Pick<SettingsFor<"sidecar">, "stsEndpoint" | "region" | "sessionName" | "base" | "scopeNamespace" | "allowedAccounts">;

/** Connects the parts: what is asked of STS, kept, vended, and counted in `registry`. Throws ERR_CONFIG_INVALID for no usable STS endpoint. */
export function createServices(settings: ServiceSettings, { source, provider, registry, clock, random }: ServicePorts): Services {
  const now = (): number => clock.now();
  const metrics = createSidecarMetrics(registry);
  const gate = new CallGate({ clock });
  const sessions = new CredentialCache({ clock, random, gate, onLookup: (result) => metrics.lookup(result) });
  const sts = createSTS({ endpoint: settings.stsEndpoint, region: settings.region, onCall: (...call) => metrics.stsCall(...call) });
  const base = new BaseIdentity({ provider, sts, clock, random });
  const vending = new Vending(
    {
      sessionName: settings.sessionName, region: settings.region, vendsLongLivedBase: settings.base === "vend", pinsAccount: settings.scopeNamespace !== null,
      allowedAccounts: settings.allowedAccounts,
    },
    { base, sts, sessions, onAccountRefused: () => metrics.accountRefused() },
  );
  registerInventoryMetrics(registry, source, now);
  registerSidecarState(registry, stateOf(sessions), now);
  const close = (): void => {
    base.close();
    sessions.close();
  };
  return { metrics, base, sessions, vending, close };
}

function stateOf(sessions: CredentialCache): SidecarState {
  return {
    *expirations() {
      for (const { key, expirationMs } of sessions.expirations()) yield { role: roleOfSession(key), expirationMs };
    },
  };
}
