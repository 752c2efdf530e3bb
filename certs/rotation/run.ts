import { WEBHOOK, CERTIFICATES } from "../../shared/contract/installation.ts";
import type { SettingsFor } from "../../shared/contract/settings.ts";
import { systemClock } from "../../shared/clock.ts";
import type { KubernetesAPI } from "../../shared/cluster/api.ts";
import { startHealthServer } from "../../shared/server/health.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { createRegistry } from "../../shared/server/metrics.ts";
import { REPLICA_IDENTITY } from "../../shared/server/replica-identity.ts";
import { hostOf, serviceHosts } from "../hosts.ts";
import { CertificateManager } from "./manager.ts";
import { createCertificateMetrics } from "./reports.ts";
import type { Timing } from "./plan.ts";

export interface ManagerRuntime {
  readonly api: KubernetesAPI;
  readonly log: Logger;
  /** Durations of the certificates, for tests. */
  readonly timing?: Partial<Timing>;
}

export interface RunningManager {
  readonly healthAddress: string;
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TIMING: Timing = { leafMs: 30 * DAY_MS, caMs: 365 * DAY_MS, publishMs: MINUTE_MS, retireMs: 10 * MINUTE_MS };

type ManagerSettings = Pick<SettingsFor<"certs manage">, "namespace" | "url" | "healthListen">;

/**
 * Starts the maintenance of the webhook's certificate and of its caBundles, and a server of probes and metrics. Rejects
 * with ERR_CONFIG_* if the address is unusable.
 */
export async function runManager(
  { namespace, url, healthListen }: ManagerSettings, { api, log, timing }: ManagerRuntime,
): Promise<RunningManager> {
  const registry = createRegistry({ component: "certificates" });
  const manager = new CertificateManager({
    api, log, clock: systemClock, random: Math.random, metrics: createCertificateMetrics(registry),
    secret: { namespace, name: CERTIFICATES }, serving: { namespace, name: WEBHOOK.certificate },
    hosts: url === null ? serviceHosts(namespace) : [hostOf(url)], configuration: WEBHOOK.configuration,
    identity: REPLICA_IDENTITY, timing: { ...TIMING, ...timing },
  });
  const health = await startHealthServer({
    listen: healthListen, registry, started: () => true,
    ready: () => ({
      ready: manager.isReady, warnings: [],
      reasons: manager.isReady ? [] : ["the Secrets and the webhook configurations have not been read yet"],
    }),
  });
  manager.start();
  log.info({ health_address: health.address }, "certificate manager listening");
  return {
    healthAddress: health.address,
    close: async () => void (await Promise.all([manager.close(), health.close()])),
  };
}
