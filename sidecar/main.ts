import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { type Clock, type SteadyClock, systemClock } from "../shared/core/clock.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { type Readiness, startHealthServer } from "../shared/server/health.ts";
import {
  boundAddress, formatListenAddress, type ListenAddress, startListening,
} from "../shared/server/listen-address.ts";
import type { Logger } from "../shared/server/logger.ts";
import { createRegistry } from "../shared/server/metrics.ts";
import { sidecarReadiness } from "../shared/server/readiness.ts";
import { buildSidecar } from "./app.ts";
import type { BaseProvider } from "./base/identity.ts";
import { IssuedCredentials } from "./credentials/issued.ts";
import {
  checkSidecarSettings, loopbackAddress, sidecarOptions, type SidecarSettings, unknownGroups,
} from "./options.ts";
import { TokenFile } from "./token.ts";
import { Services } from "./wiring.ts";

export interface SidecarRuntime {
  /**
   * The source of the inventory, which the caller starts and stops. Until the inventory is loaded, the sidecar responds
   * with 503.
   */
  readonly source: InventorySource;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** The provider of the base credentials. Default: the default provider chain of the AWS SDK. */
  readonly baseProvider?: BaseProvider;
  readonly clock?: SteadyClock;
  /** The client of the API server, for Events; undefined if the inventory consists of manifests. */
  readonly api?: KubernetesAPI;
}

export interface RunningSidecar {
  /** The bound `HOST:PORT`. */
  readonly address: string;
  readonly healthAddress: string;
  /** Completes requests in flight, and then closes the credentials server and the health server. */
  close(): Promise<void>;
}

/**
 * Starts the sidecar. Rejects with ERR_CONFIG_* if a setting is invalid, or with ERR_CONFIG_PORT_IN_USE, which names
 * the flag. The sidecar is unready until the inventory is loaded and STS has verified the base identity. /readyz
 * returns the reasons.
 */
export async function runSidecar(settings: SidecarSettings, runtime: SidecarRuntime): Promise<RunningSidecar> {
  const { source, log, clock = systemClock } = runtime;
  checkSidecarSettings(settings, runtime.environment);
  const options = sidecarOptions(settings);
  const listen = { address: loopbackAddress(settings.listen) };
  const registry = createRegistry({ component: "sidecar" });
  const issued = await IssuedCredentials.open(settings.stateDir, { log, clock });
  const services = new Services(settings, { ...runtime, options, registry, clock, issued, random: Math.random });
  const { metrics, base, profile } = services;
  const token = await TokenFile.open(settings.tokenFile ?? "", { log, clock, metrics, randomBytes })
    .catch((error: unknown) => {
      services.close();
      throw error;
    });
  const retryAfterSeconds = (): number => services.retryAfterSeconds;
  const { issuer, sessions, audit, extensions } = services;
  const app = buildSidecar(options, {
    source, log, token: token.check, clock, issued, listen, metrics, issuer, profile, base, sessions, audit,
    extensions, retryAfterSeconds,
  });
  // Closes the servers before the STS client, because requests in flight can still call STS.
  const closers = [() => closeApp(app, clock), async () => { token.close(); services.close(); await issued.close(); }];
  try {
    listen.address = await listenAt(app, listen.address);
    const ready = (): Readiness => sidecarReadiness({
      inventory: source.status, base, steadyMs: clock.steady(), watched: services.watched,
    });
    const started = (): boolean => [source, ...services.watched].every(({ status }) => status.loaded);
    const health = await startHealthServer({ listen: settings.healthListen, registry, ready, started, clock });
    closers.push(() => health.close());
    // Requests the base identity now, so that the first client does not wait for the verification.
    ready();
    const address = formatListenAddress(listen.address);
    const { groups, scope } = options;
    log.info({ address, health_address: health.address, groups, scope_namespace: scope }, "sidecar listening");
    // An unknown group is a warning and not an error, because a controller can be newer than this release.
    for (const unknown of unknownGroups(groups, source.inventory.endpoints)) {
      log.warn(unknown, "no known ACK controller serves this --group; check the name for a typo");
    }
    return { address, healthAddress: health.address, close: () => closeAll(closers) };
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function listenAt(app: FastifyInstance, address: ListenAddress): Promise<ListenAddress> {
  await startListening("--listen", address, () => app.listen({ host: address.host, port: address.port }));
  return { host: address.host, port: boundAddress(app.server).port };
}

/** The maximum time that a shutdown waits for requests in flight, in ms. */
const DRAIN_MS = 4_000;

async function closeApp(app: FastifyInstance, clock: Clock): Promise<void> {
  const cancel = clock.schedule(DRAIN_MS, () => app.server.closeAllConnections());
  await app.close().finally(cancel);
}

async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const [first, ...others] = closers;
  if (first === undefined) return;
  try {
    await first();
  } finally {
    await closeAll(others);
  }
}
