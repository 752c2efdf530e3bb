import { readServingPair, type ServingPair } from "../../certs/read.ts";
import { WEBHOOK } from "../../manifests/installation.ts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import type { SettingsFor } from "../../shared/decisions/settings.ts";
import { systemClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import { nameOf, type ObjectName } from "../../shared/inventory/cluster/watched-kind.ts";
import type { AllowedClient } from "../callers.ts";
import { REPLICA_IDENTITY } from "../../shared/server/replica-identity.ts";
import { type ReloadPorts, watchClientCA, watchServingFiles } from "./reload.ts";
import type { Timing } from "./plan.ts";
import { serviceHosts, verifiedHosts } from "./hosts.ts";

type CertificateSettings = Pick<SettingsFor<"webhook">, "tlsDir" | "tlsSecret" | "tlsHost" | "maxStaleness">;

interface Origin {
  /** The names for which the certificate must be valid. */
  readonly hosts: readonly string[];
  /** The certificate at the start; null if no certificate is available yet. */
  readonly pair: ServingPair | null;
  /** Keeps the served certificate up to date. Returns a function that stops it. */
  readonly maintain: (ports: ReloadPorts) => () => Promise<void>;
}

interface OriginRuntime {
  readonly api?: KubernetesAPI;
  readonly certificateTiming?: Partial<Timing>;
}

/**
 * Returns the certificate of --tls-dir or --tls-secret. Rejects with ERR_CONFIG_* if the files are invalid. An invalid
 * Secret is not an error: the leader repairs it.
 */
export async function openCertificate(settings: CertificateSettings, runtime: OriginRuntime): Promise<Origin> {
  const { tlsDir, tlsSecret, tlsHost } = settings;
  if (tlsSecret !== null) return await ofSecret(nameOf(tlsSecret), settings, runtime);
  if (tlsDir === null) throw invalid("--tls-dir, --tls-secret: exactly one is required");
  const [hosts, pair] = await Promise.all([
    verifiedHosts(tlsHost), readServingPair(tlsDir, new Date(systemClock.now())),
  ]);
  const maintain: Origin["maintain"] = (ports) => {
    const stop = watchServingFiles({ dir: tlsDir, pair }, ports);
    return async () => stop();
  };
  return { hosts, pair, maintain };
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

async function ofSecret(
  secret: ObjectName, { tlsHost, maxStaleness }: CertificateSettings, { api, certificateTiming }: OriginRuntime,
): Promise<Origin> {
  if (api === undefined) throw invalid("--tls-secret: requires --cluster");
  // Loaded on demand, because node-forge needs memory.
  const { CertificateManager } = await import("./manager.ts");
  const hosts = tlsHost.length > 0 ? tlsHost : serviceHosts(secret.namespace);
  const timing = {
    leafMs: 30 * DAY_MS, caMs: 365 * DAY_MS, publishMs: MINUTE_MS,
    // A replica that lost its connection to the API server is unready after --max-staleness.
    retireMs: Math.max(10 * MINUTE_MS, 2 * maxStaleness),
    ...certificateTiming,
  };
  const maintain: Origin["maintain"] = ({ served, log, metrics }) => {
    const manager = new CertificateManager({
      api, clock: systemClock, random: Math.random, log, metrics, secret, hosts, timing,
      configuration: WEBHOOK.configuration, identity: REPLICA_IDENTITY,
      serve: (pair) => {
        served.usePair(pair);
        log.info({ not_after: pair.notAfter.toISOString() }, "serving certificate replaced");
      },
    });
    manager.start();
    return () => manager.close();
  };
  return { hosts, pair: null, maintain };
}

function invalid(message: string): ResolverError {
  return new ResolverError("ERR_CONFIG_INVALID", message);
}

/** Keeps the certificate and the CA of client certificates up to date. Returns a function that stops it. */
export function maintainCertificates(
  origin: Origin, client: AllowedClient | null, ports: ReloadPorts,
): () => Promise<void> {
  const stop = origin.maintain(ports);
  const stopClientCA = client === null ? null : watchClientCA(client, ports);
  return async () => {
    stopClientCA?.();
    await stop();
  };
}
