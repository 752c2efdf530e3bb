import { readServingPair } from "../certs/read.ts";
import { type DecisionSettings, decisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { systemClock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { type HealthServer, startHealthServer } from "../shared/server/health.ts";
import { registerInventoryMetrics, registerKindMetrics } from "../shared/server/inventory-metrics.ts";
import { boundAddress, formatListenAddress, listening, parseListenAddress } from "../shared/server/listen-address.ts";
import type { Logger } from "../shared/server/logger.ts";
import { createRegistry } from "../shared/server/metrics.ts";
import { webhookReadiness } from "../shared/server/readiness.ts";
import { Drain } from "../shared/server/stopping.ts";
import type { AskAccess } from "./access-review.ts";
import { buildWebhook, type WebhookApp } from "./app.ts";
import { CertificateReload } from "./certificate-reload.ts";
import { createWebhookMetrics } from "./metrics.ts";

/** How long a stopping webhook still takes requests: the time that every node needs to take its endpoint out of service. */
export const DRAIN_MS = 10_000;

/** The settings that say where the webhook stands and what it decides; where its inventory comes from is the caller's. */
export type WebhookSettings = Omit<SettingsFor<"webhook">, "from" | "cluster" | "kubeconfig" | "context" | "logLevel">;

export interface WebhookRuntime {
  /** The caller starts and stops it; until it is loaded the webhook is not ready and annotates nothing. */
  readonly source: InventorySource;
  readonly log: Logger;
  /** Where checks ask who may `use` a selector. */
  readonly access?: AskAccess;
}

export interface RunningWebhook {
  /** `HOST:PORT` as it listens. */
  readonly address: string;
  readonly healthAddress: string;
  /** Begun by whoever stops the process: readiness goes off and clients are told to leave. */
  readonly drain: Drain;
  /** Answers what is in flight, then closes both listeners. */
  close(): Promise<void>;
}

/** Runs the webhook. Rejects with ERR_CONFIG_* and nothing listening: a bad pair, a bad address, a port in use. */
export async function runWebhook(settings: WebhookSettings, { source, log, access }: WebhookRuntime): Promise<RunningWebhook> {
  const tlsDir = requireTLSDir(settings.tlsDir);
  const address = parseListenAddress(settings.listen, "--listen");
  const pair = await readServingPair(tlsDir, now());
  const registry = createRegistry({ component: "webhook" });
  registerInventoryMetrics(registry, source, () => systemClock.now());
  registerKindMetrics(source, { registry, log, extraGroups: settings.extraGroups });
  const metrics = createWebhookMetrics(registry);
  const drain = new Drain();
  const decisions: DecisionSettings = decisionSettings(settings);
  const ports = { source, log, metrics, drain, clock: systemClock, monotonicMs: () => performance.now(), ...(access !== undefined && { access }) };
  const app = buildWebhook({ decisions, tls: pair }, ports);
  const certificate = new CertificateReload({ server: app.server, dir: tlsDir, pair, now, log, metrics });
  const closers = [async () => certificate.close(), () => app.close()];
  try {
    await listening("--listen", address, () => app.listen({ host: address.host, port: address.port }));
    const health = await startHealthServer({
      listen: settings.healthListen,
      registry,
      started: () => source.status.loaded,
      ready: () => webhookReadiness({
        draining: drain.active,
        inventory: source.status,
        maxStalenessMs: settings.maxStaleness,
        certificateNotAfter: certificate.notAfter,
        nowMs: systemClock.now(),
      }),
    });
    closers.push(() => health.close());
    return announced(app, health, { drain, log, closers });
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

type Closers = readonly (() => Promise<void>)[];

function announced(app: WebhookApp, health: HealthServer, running: { drain: Drain; log: Logger; closers: Closers }): RunningWebhook {
  const address = formatListenAddress(boundAddress(app.server));
  running.log.info({ address, health_address: health.address }, "webhook listening");
  return { address, healthAddress: health.address, drain: running.drain, close: () => closeAll(running.closers) };
}

function now(): Date {
  return new Date(systemClock.now());
}

function requireTLSDir(tlsDir: string | null): string {
  if (tlsDir !== null) return tlsDir;
  throw new ResolverError("ERR_CONFIG_INVALID", "--tls-dir: required; `ack-role-resolver certs make --dir DIR --host NAME` makes one");
}

async function closeAll(closers: Closers): Promise<void> {
  await Promise.all(closers.map((close) => close()));
}
