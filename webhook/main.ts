import { podNamespace } from "../certs/hosts.ts";
import { WEBHOOK } from "../manifests/installation.ts";
import { type DecisionSettings, decisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { systemClock } from "../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../shared/inventory/cluster/api.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { type HealthServer, startHealthServer } from "../shared/server/health.ts";
import {
  boundAddress, formatListenAddress, parseListenAddress, startListening,
} from "../shared/server/listen-address.ts";
import { type Logger, logUnknownGroups } from "../shared/server/logger.ts";
import { createRegistry, registerInventoryMetrics, registerKindMetrics } from "../shared/server/metrics.ts";
import { webhookReadiness } from "../shared/server/readiness.ts";
import { Drain } from "../shared/server/stopping.ts";
import { TurnQueue } from "../shared/server/turn-queue.ts";
import type { AccessReviewer } from "./access-review.ts";
import { buildWebhook, type WebhookApp, type WebhookPorts } from "./app.ts";
import { readAllowedClient } from "./callers.ts";
import { maintainCertificates, openCertificate } from "./certificates/origin.ts";
import { closeIdleWhileUnloaded, CurrentSource } from "./current-source.ts";
import { openSharedPending, type PendingByKind } from "./pending/open.ts";
import { createWebhookMetrics, type WebhookMetrics } from "./metrics.ts";
import type { ObjectFetcher } from "./object-fetch.ts";
import { REPLICA_IDENTITY } from "../shared/server/replica-identity.ts";
import { ServedCertificate } from "./certificates/served.ts";
import { checkSidecarArgs } from "./sidecar-args.ts";

/**
 * The maximum time for which the webhook accepts requests after a stop signal, in ms. While requests arrive, the nodes
 * have not removed the endpoint yet.
 */
export const DRAIN_MS = 10_000;

/**
 * The settings of the webhook. The settings of the inventory source and of the log are omitted, because the caller
 * opens the source and the log.
 */
type WebhookSettings = Omit<SettingsFor<"webhook">, "from" | "cluster" | "kubeconfig" | "context" | "logLevel">;

export interface WebhookRuntime {
  /**
   * The inventory source, which the caller starts and stops. Until the source is loaded, the webhook is unready and
   * reviews fail.
   */
  readonly source: InventorySource;
  readonly log: Logger;
  /** Sends access reviews; undefined if no check needs access reviews. */
  readonly reviewAccess?: AccessReviewer;
  /** Undefined if the inventory consists of manifests. */
  readonly fetchSelector?: ObjectFetcher;
  /** The same for an AWSClusterRoleIdentity. */
  readonly fetchRoleIdentity?: ObjectFetcher;
  /** Undefined if the inventory consists of manifests. */
  readonly fetchNamespace?: ObjectFetcher;
  /** The client of the API server. Required with --namespace. */
  readonly api?: KubernetesAPI;
}

export interface RunningWebhook {
  /** The listen address, `HOST:PORT`. */
  readonly address: string;
  readonly healthAddress: string;
  /**
   * The state of the drain, which the caller starts. During the drain, the webhook is unready and closes each
   * connection after the response.
   */
  readonly drain: Drain;
  /** Resolves when all requests in flight are answered, and the webhook and health listeners are closed. */
  close(): Promise<void>;
}

type Closers = readonly (() => Promise<void>)[];

/**
 * Starts the webhook. If a certificate, address or port is unusable, rejects with ERR_CONFIG_* and leaves no port open.
 */
export async function runWebhook(settings: WebhookSettings, runtime: WebhookRuntime): Promise<RunningWebhook> {
  const { source, log } = runtime;
  const address = parseListenAddress(settings.listen, "--listen");
  checkSidecarArgs(settings.sidecarArgs);
  const origin = await openCertificate(settings);
  const client = await readAllowedClient(settings);
  const registry = createRegistry({ component: "webhook" });
  registerInventoryMetrics(registry, source, () => systemClock.steady());
  registerKindMetrics(registry, source, settings.extraGroups);
  logUnknownGroups(source, log, settings.extraGroups);
  const metrics = createWebhookMetrics(registry);
  const drain = new Drain();
  const current = new CurrentSource(source, systemClock);
  const clocks = { clock: systemClock, monotonicMs: () => systemClock.steady() };
  const timed = { ...runtime, ...clocks, source: current, metrics, drain };
  const ofPod = await podNamespace();
  const { pending, close: closePending } = sharedPending(settings, settings.namespace ?? ofPod, timed);
  const turns = new TurnQueue();
  const ports = { ...timed, turns, ...(pending !== null && { pending }) };
  const { onInternalError } = settings;
  const decisions = decisionSettings({ ...settings, installationNamespaces: [ofPod, settings.namespace] });
  const app = buildWebhook({ decisions, onInternalError, tls: origin.pair, client }, ports);
  const { server } = app;
  const served = new ServedCertificate({ ...origin, server, clientCA: client?.ca ?? null, metrics });
  const stopReconciling = await startReconciling(settings, decisions, { ...runtime, metrics, turns });
  const stopCertificates = maintainCertificates(origin, client, { served, now, log, metrics });
  const stopClosing = closeIdleWhileUnloaded(server, current, systemClock);
  const closers = [stopReconciling, stopCertificates, closePending, async () => stopClosing(), () => app.close()];
  try {
    await startListening("--listen", address, () => app.listen({ host: address.host, port: address.port }));
    const health = await startHealthServer({
      listen: settings.healthListen,
      registry,
      started: () => source.status.loaded,
      ready: () => webhookReadiness({
        draining: drain.active,
        inventory: source.status,
        certificateNotAfter: served.notAfter,
        missingHosts: served.missingHosts,
        nowMs: systemClock.now(),
        steadyMs: systemClock.steady(),
      }),
    });
    closers.push(() => health.close());
    return toRunning(app, health, { drain, log, closers });
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

type PendingRuntime = Pick<WebhookPorts, "source" | "log" | "clock" | "monotonicMs"> & WebhookRuntime;

/**
 * Returns the pending writes that all replicas share in the namespace, and a function that ends their watch. Without a
 * namespace or a cluster, a replica compares only its own changes.
 */
function sharedPending(
  { runtime }: WebhookSettings, namespace: string | null, { api, ...ports }: PendingRuntime,
): { readonly pending: PendingByKind | null; readonly close: () => Promise<void> } {
  if (namespace === null || api === undefined) return { pending: null, close: async () => undefined };
  return openSharedPending(runtime, { namespace, name: WEBHOOK.pendingWrites }, { ...ports, clock: systemClock, api });
}

interface ReconcilingRuntime extends Pick<WebhookRuntime, "source" | "log" | "api"> {
  readonly metrics: WebhookMetrics;
  readonly turns: TurnQueue;
}

/** Starts the update of stale annotations if --namespace is set. Returns a function that stops it. */
async function startReconciling(
  { namespace, extraGroups, autoControllerIdentity: names }: WebhookSettings, settings: DecisionSettings,
  { api, turns, ...runtime }: ReconcilingRuntime,
): Promise<() => Promise<void>> {
  if (namespace === null) return async () => undefined;
  if (api === undefined) throw new ResolverError("ERR_CONFIG_INVALID", "--namespace: requires --cluster");
  // Loaded on demand, because `local` and webhooks without --namespace do not need it.
  const { Reconciler } = await import("./reconciling/reconciler.ts");
  const reconciler = new Reconciler({
    ...runtime, api, clock: systemClock, random: Math.random, settings,
    extraGroups, lease: { namespace, name: WEBHOOK.lease }, identity: REPLICA_IDENTITY, turns,
    controllerIdentityNamespaces: names.length === 0 ? null : names.join() === "none" ? [] : names,
  });
  reconciler.start();
  return () => reconciler.close();
}

interface Runtime {
  readonly drain: Drain;
  readonly log: Logger;
  readonly closers: Closers;
}

function toRunning(app: WebhookApp, health: HealthServer, { drain, log, closers }: Runtime): RunningWebhook {
  const address = formatListenAddress(boundAddress(app.server));
  log.info({ address, health_address: health.address }, "webhook listening");
  return { address, healthAddress: health.address, drain, close: () => closeAll(closers) };
}

function now(): Date {
  return new Date(systemClock.now());
}

async function closeAll(closers: Closers): Promise<void> {
  await Promise.all(closers.map((close) => close()));
}
