import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { type Clock, type SteadyClock, systemClock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { type Readiness, startHealthServer } from "../shared/server/health.ts";
import { boundAddress, formatListenAddress, type ListenAddress, listening } from "../shared/server/listen-address.ts";
import type { Logger } from "../shared/server/logger.ts";
import { createRegistry } from "../shared/server/metrics.ts";
import { sidecarReadiness } from "../shared/server/readiness.ts";
import { buildSidecar } from "./app.ts";
import type { BaseProvider } from "./base/identity.ts";
import { defaultProviderChain } from "./base/provider.ts";
import { IssuedCredentials } from "./credentials/issued.ts";
import {
  checkSidecarSettings, loopbackAddress, sidecarOptions, type SidecarSettings, unknownGroups,
} from "./options.ts";
import { TokenCheck, TokenFile, type TokenFilePorts } from "./token.ts";
import { createServices } from "./wiring.ts";

export interface SidecarRuntime {
  /** The caller starts and stops it; requests are answered 503 until it is loaded. */
  readonly source: InventorySource;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** Default: the AWS SDK's default provider chain. */
  readonly baseProvider?: BaseProvider;
  readonly clock?: SteadyClock;
}

export interface RunningSidecar {
  /** `HOST:PORT` as it listens. */
  readonly address: string;
  readonly healthAddress: string;
  /** Answers what is in flight, then closes both listeners. */
  close(): Promise<void>;
}

/**
 * Runs the sidecar. Rejects with ERR_CONFIG_* before anything listens, or with ERR_CONFIG_PORT_IN_USE naming the flag. It is
 * not ready, and says why at /readyz, until the inventory is loaded and its own identity proved with STS.
 */
export async function runSidecar(settings: SidecarSettings, runtime: SidecarRuntime): Promise<RunningSidecar> {
  const { source, log, clock = systemClock } = runtime;
  checkSidecarSettings(settings, runtime.environment);
  const options = sidecarOptions(settings);
  let bound = loopbackAddress(settings.listen);
  const provider = runtime.baseProvider ?? defaultProviderChain({ region: settings.region, endpoint: settings.stsEndpoint });
  const registry = createRegistry({ component: "sidecar" });
  const issued = await IssuedCredentials.open(settings.stateDir, { log, clock });
  const services = createServices(settings, { options, source, log, provider, registry, clock, issued, random: Math.random });
  const token = await openToken(settings, { log, clock, metrics: services.metrics });
  const app = buildSidecar(options, { source, log, token: token.check, clock, issued, listen: () => bound, ...services });
  // One after another: what is in flight may still need STS.
  const closers = [() => closeApp(app, clock), async () => { token.close(); services.close(); await issued.close(); }];
  try {
    bound = await listenAt(app, bound);
    const ready = (): Readiness =>
      sidecarReadiness({ inventory: source.status, maxStalenessMs: settings.maxStaleness, base: services.base, nowMs: clock.now() });
    const health = await startHealthServer({ listen: settings.healthListen, registry, ready, started: () => source.status.loaded });
    closers.push(() => health.close());
    // Asked for once at the start, so that the first client does not wait for it.
    ready();
    const address = formatListenAddress(bound);
    log.info({ address, health_address: health.address, groups: options.groups, scope_namespace: options.scope }, "sidecar listening");
    // No fault, since there are controllers that are newer than this release; but a typo would leave one with the base identity alone.
    for (const unknown of unknownGroups(options.groups)) log.warn(unknown, "no ACK controller is known to serve this --group; if it is a typo, nothing is granted for the one that was meant");
    return { address, healthAddress: health.address, close: () => closeAll(closers) };
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

type OpenToken = { readonly check: TokenCheck; close(): void };

async function openToken({ token, tokenFile }: SidecarSettings, ports: Omit<TokenFilePorts, "randomBytes">): Promise<OpenToken> {
  if (tokenFile !== null) return TokenFile.open(tokenFile, { ...ports, randomBytes });
  return { check: new TokenCheck(token ?? randomBytes(32).toString("base64url"), ports.clock), close: () => {} };
}

async function listenAt(app: FastifyInstance, address: ListenAddress): Promise<ListenAddress> {
  await listening("--listen", address, () => app.listen({ host: address.host, port: address.port }));
  return { host: address.host, port: boundAddress(app.server).port };
}

/** How long clients may dawdle over a request that they have begun, in ms, when the sidecar stops. */
const DAWDLE_MS = 4_000;

async function closeApp(app: FastifyInstance, clock: Clock): Promise<void> {
  const cancel = clock.schedule(DAWDLE_MS, () => app.server.closeAllConnections());
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
