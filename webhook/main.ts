import { needsAccessReviews } from "../shared/judges.ts";
import { RESOURCES } from "../shared/ack/resources.ts";
import { SELECTORS, type SelectorStore } from "../shared/ack/selectors.ts";
import type { Server } from "node:http";
import { podNamespace } from "../certs/hosts.ts";
import { type Clock, systemClock } from "../shared/core/clock.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import { decisionSettings, type DecisionSettings } from "../shared/core/context.ts";
import { WEBHOOK } from "../shared/core/installation.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { startHealthServer } from "../shared/server/health.ts";
import {
  boundAddress, formatListenAddress, parseListenAddress, startListening,
} from "../shared/server/listen-address.ts";
import { type Logger, logUnknownGroups } from "../shared/server/logger.ts";
import { createRegistry, registerInventoryMetrics, registerKindMetrics } from "../shared/server/metrics.ts";
import { webhookReadiness } from "../shared/server/readiness.ts";
import { REPLICA_IDENTITY } from "../shared/server/events.ts";
import { Drain } from "../shared/server/stopping.ts";
import { TurnQueue } from "../shared/sources/slices.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { cachedAccessReviewer } from "./access-review.ts";
import { buildWebhook, CurrentSource, type WebhookPorts } from "./app.ts";
import { readAllowedClient } from "./callers.ts";
import { createWebhookMetrics, type WebhookMetrics } from "./metrics.ts";
import { objectFetcher } from "./object-fetch.ts";
import { ObservedStore } from "./observed-store.ts";
import { openSharedPending } from "./pending/open.ts";
import type { StartPart } from "./part.ts";
import { startRoleMap } from "./role-map/start-role-map.ts";
import { maintainCertificates, openCertificate, ServedCertificate } from "./serving-certificate.ts";
import { checkInjection } from "./injection/sidecar-args.ts";

/** What features run beside the reviews. */
const PARTS: readonly StartPart[] = [startRoleMap];
/** Throw ERR_CONFIG_INVALID if what features do with the settings would fail later. */
const CHECKS: readonly ((settings: WebhookSettings) => void)[] = [checkInjection];

const CHECK_MS = 1_000;

/**
 * Closes idle connections each second while the inventory is not loaded, so that the API server connects to another
 * replica. Removing a replica from the endpoints of the Service does not close connections. Returns a function that
 * stops this.
 */
export function closeIdleWhileUnloaded(
  server: Pick<Server, "closeIdleConnections">, source: Pick<InventorySource, "status">, clock: Pick<Clock, "schedule">,
): () => void {
  const check = (): void => {
    if (!source.status.loaded) server.closeIdleConnections();
    cancel = clock.schedule(CHECK_MS, check);
  };
  let cancel = clock.schedule(CHECK_MS, check);
  return () => cancel();
}

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
  /** The client of the API server; undefined if the inventory consists of manifests. Required with --namespace. */
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

/**
 * Starts the webhook. If a certificate, address or port is unusable, rejects with ERR_CONFIG_* and leaves no port open.
 */
export async function runWebhook(settings: WebhookSettings, runtime: WebhookRuntime): Promise<RunningWebhook> {
  const { source, log } = runtime;
  const address = parseListenAddress(settings.listen, "--listen");
  for (const check of CHECKS) check(settings);
  const origin = await openCertificate(settings);
  const client = await readAllowedClient(settings);
  const registry = createRegistry({ component: "webhook" });
  const selectors = (): SelectorStore => source.inventory.of(SELECTORS);
  registerInventoryMetrics(registry, { source, selectors, steadyMs: () => systemClock.steady() });
  const unlistedKinds = (): number => source.inventory.unlisted(RESOURCES).size;
  registerKindMetrics(registry, { source, unlistedKinds }, settings.extraGroups);
  logUnknownGroups(source, log, settings.extraGroups);
  const metrics = createWebhookMetrics(registry);
  const drain = new Drain();
  const current = new CurrentSource(source, systemClock);
  const ofPod = await podNamespace();
  const decisions = decisionSettings({ ...settings, installationNamespaces: [ofPod, settings.namespace] });
  const timed = { ...runtime, clock: systemClock, ...requestsOf(runtime, decisions), source: current, metrics, drain };
  const { shared, close: closeShared } = openShared(settings, settings.namespace ?? ofPod, timed);
  const turns = new TurnQueue();
  const ports = { ...timed, turns, ...shared };
  const app = buildWebhook({ decisions, tls: origin.pair, client }, ports);
  const { server } = app;
  const served = new ServedCertificate({ ...origin, server, clientCA: client?.ca ?? null, metrics });
  const stopReconciling = await startReconciling(settings, decisions, { ...runtime, metrics, turns });
  const stopCertificates = maintainCertificates(origin, client, { served, clock: systemClock, log, metrics });
  const stopClosing = closeIdleWhileUnloaded(server, current, systemClock);
  const stopServing = (): Promise<void> => app.close().then(closeShared);
  const closers = [stopReconciling, stopCertificates, stopServing, async () => stopClosing()];
  try {
    await startListening("--listen", address, () => app.listen({ host: address.host, port: address.port }));
    const health = await startHealthServer({
      listen: settings.healthListen, registry,
      started: () => source.status.loaded,
      ready: () => webhookReadiness({
        draining: drain.active, inventory: source.status, certificateNotAfter: served.notAfter,
        missingHosts: served.missingHosts, nowMs: systemClock.now(), steadyMs: systemClock.steady(),
      }),
    });
    closers.push(() => health.close());
    const partPorts = { ...timed, settings: decisions, turns };
    closers.push(...await Promise.all(PARTS.map((start) => start(settings, partPorts))));
    const bound = formatListenAddress(boundAddress(server));
    log.info({ address: bound, health_address: health.address }, "webhook listening");
    return { address: bound, healthAddress: health.address, drain, close: () => closeAll(closers) };
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

/** Returns the functions with which a review asks the API server; access reviews only if a check needs them. */
function requestsOf(
  { api, log }: WebhookRuntime, settings: DecisionSettings,
): Pick<WebhookPorts, "fetcherOf" | "reviewAccess"> {
  if (api === undefined) return {};
  const ports = { api, clock: systemClock, log };
  const reviews = needsAccessReviews(settings) ? { reviewAccess: cachedAccessReviewer(ports) } : {};
  return { fetcherOf: (kind) => objectFetcher(kind, ports), ...reviews };
}

type SharedRuntime = Pick<WebhookPorts, "source" | "log" | "clock"> & WebhookRuntime;

interface OpenedShared {
  readonly shared: Pick<WebhookPorts, "pending" | "observed">;
  /** Stores what is not stored yet, and ends the watches. */
  readonly close: () => Promise<void>;
}

/**
 * Opens what all replicas share in ConfigMaps of the namespace: the pending writes, and in the profile `observe` what
 * `enforce` would have denied. Without a namespace or a cluster, a replica compares only its own changes.
 */
function openShared(
  { runtime, profile }: WebhookSettings, namespace: string | null, { api, ...ports }: SharedRuntime,
): OpenedShared {
  if (namespace === null || api === undefined) return { shared: {}, close: async () => undefined };
  const { pending, close } = openSharedPending(runtime, { namespace, name: WEBHOOK.pendingWrites }, { ...ports, api });
  if (profile !== "observe") return { shared: { pending }, close };
  const observed = new ObservedStore({ ...ports, api, configMap: { namespace, name: WEBHOOK.observedDenials } });
  observed.start();
  return { shared: { pending, observed }, close: async () => void await Promise.all([close(), observed.stop()]) };
}

interface ReconcilingRuntime extends Pick<WebhookRuntime, "source" | "log" | "api"> {
  readonly metrics: WebhookMetrics;
  readonly turns: TurnQueue;
}

/** Starts the update of stale annotations if --namespace is set. Returns a function that stops it. */
async function startReconciling(
  { namespace, ...flags }: WebhookSettings, settings: DecisionSettings,
  { api, turns, ...runtime }: ReconcilingRuntime,
): Promise<() => Promise<void>> {
  if (namespace === null) return async () => undefined;
  if (api === undefined) throw new ResolverError("ERR_CONFIG_INVALID", "--namespace: requires --cluster");
  // Loaded on demand, because `local` and webhooks without --namespace do not need it.
  const { Reconciler } = await import("./reconciling/reconciler.ts");
  const reconciler = new Reconciler({
    ...runtime, api, clock: systemClock, random: Math.random, settings,
    lease: { namespace, name: WEBHOOK.lease }, identity: REPLICA_IDENTITY, turns, flags,
  });
  reconciler.start();
  return () => reconciler.close();
}

async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  await Promise.all(closers.map((close) => close()));
}
