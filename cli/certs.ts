import { storeCertificates } from "../certs/certificate-files.ts";
import { hostOf, serviceHosts } from "../certs/hosts.ts";
import { makeCertificates } from "../certs/make.ts";
import { CertificateManager } from "../certs/rotation/manager.ts";
import type { Timing } from "../certs/rotation/plan.ts";
import { createCertificateMetrics, UNREACHED } from "../certs/rotation/reports.ts";
import { systemClock } from "../shared/core/clock.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import { connectKubernetes } from "../shared/api/kubeconfig.ts";
import { CERTIFICATES, WEBHOOK } from "../shared/core/installation.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { startHealthServer } from "../shared/server/health.ts";
import { createLogger, type Logger } from "../shared/server/logger.ts";
import { createRegistry } from "../shared/server/metrics.ts";
import { REPLICA_IDENTITY } from "../shared/server/events.ts";
import { Drain } from "../shared/server/stopping.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { serveUntilStopped } from "./serve.ts";

interface ManagerRuntime {
  readonly api: KubernetesAPI;
  readonly log: Logger;
  /** Durations of the certificates, for tests. */
  readonly timing?: Partial<Timing>;
}

interface RunningManager {
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
      ready: manager.isReady, warnings: manager.isUnreached ? [UNREACHED] : [],
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

/** Writes the certificates and prints their paths, one line each. */
export async function runCertsMake({ dir, host }: SettingsFor<"certs make">, io: IO): Promise<ExitStatus> {
  const certificates = await makeCertificates({ hosts: host, now: new Date() });
  writeLines(io.stdout, await storeCertificates(dir ?? "", certificates));
  return EXIT.fine;
}

/** Maintains the certificate of the webhook until a signal ends the process. Only tests pass `forTests`. */
export async function runCertsManage(
  settings: SettingsFor<"certs manage">, forTests: Pick<ManagerRuntime, "timing"> = {},
): Promise<ExitStatus> {
  const log = createLogger({ name: "certificates", level: settings.logLevel });
  const api = await connectKubernetes(settings);
  const manager = await runManager(settings, { api, log, ...forTests });
  return await serveUntilStopped({ log, drain: new Drain(), drainMs: 0, close: () => manager.close() });
}
