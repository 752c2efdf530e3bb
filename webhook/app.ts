import type { Server } from "node:https";
import fastify, { type FastifyInstance } from "fastify";
import type { DecisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { Drain } from "../shared/server/stopping.ts";
import type { AskAccess } from "./access-review.ts";
import { validateConfigMaps } from "./configmaps.ts";
import { BODY_LIMIT_BYTES } from "./decode.ts";
import { mutateIAMRoleSelectors, validateIAMRoleSelectors } from "./iamroleselectors.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { validateNamespaces } from "./namespaces.ts";
import { PendingDeletions } from "./pending-deletions.ts";
import { mutateResources, validateResources } from "./resources.ts";
import { addReviewRoute, asResolverError, type Decide, sendError } from "./route.ts";

export interface WebhookOptions {
  readonly decisions: DecisionSettings;
  /** The serving pair as PEM; replaced later by `app.server.setSecureContext`. */
  readonly tls: { readonly cert: string; readonly key: string };
}

export interface WebhookPorts {
  readonly source: InventorySource;
  readonly clock: Clock;
  /** Milliseconds of a clock that never goes back, for durations and deadlines. */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  readonly drain: Drain;
  /** Absent where nobody can be asked who may `use` a selector. */
  readonly access?: AskAccess;
}

export type WebhookApp = FastifyInstance<Server>;

/** The API server keeps an idle webhook connection for 90 s (measured); closing first would cut a request that is on its way. */
const KEEP_ALIVE_MS = 120_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** How often those two are looked after; Node's own interval is 30 s. */
const TIMEOUT_CHECK_MS = 1_000;

/** Builds the server of the admission paths, which listens to nobody yet. HTTP/1.1 alone: the API server speaks no other to a Service. */
export function buildWebhook(options: WebhookOptions, ports: WebhookPorts): WebhookApp {
  const app = fastify({
    https: { ...options.tls, headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: TIMEOUT_CHECK_MS },
    bodyLimit: BODY_LIMIT_BYTES,
    // Whatever keys an object has are data to be judged: a 400 would let the failurePolicy decide instead.
    onProtoPoisoning: "ignore",
    onConstructorPoisoning: "ignore",
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: 0,
    // While it closes, a request that still arrives is answered: a 503 would be a failed call.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, reply) => void sendError(reply, asResolverError(error)),
  });
  // Of requests that are for no path; each path has its own.
  app.setErrorHandler((error, _request, reply) => sendError(reply, asResolverError(error)));
  app.removeContentTypeParser("text/plain");
  app.addHook("onSend", (_request, reply, _payload, done) => {
    if (ports.drain.active) reply.header("connection", "close");
    done();
  });
  app.server.on("tlsClientError", (err) => {
    ports.metrics.handshakeErrors.inc();
    ports.log.debug({ err }, "TLS handshake failed");
  });
  addRoutes(app, options.decisions, ports);
  return app;
}

function addRoutes(app: WebhookApp, decisions: DecisionSettings, ports: WebhookPorts): void {
  const { source, clock, log, metrics, monotonicMs, access = null } = ports;
  const pendingDeletions = new PendingDeletions(monotonicMs);
  const routes: Readonly<Record<string, Decide>> = {
    "/mutate/iamroleselectors": mutateIAMRoleSelectors,
    "/validate/iamroleselectors": (request, remainingMs) => validateIAMRoleSelectors(request, { source, settings: decisions, pendingDeletions, monotonicMs, remainingMs }),
    "/mutate/resources": (request, remainingMs) => mutateResources(request, { source, clock, settings: decisions, remainingMs }),
    "/validate/resources": (request, remainingMs) => validateResources(request, { source, clock, settings: decisions, monotonicMs, remainingMs, access }),
    "/validate/namespaces": (request, remainingMs) => validateNamespaces(request, { source, settings: decisions, monotonicMs, remainingMs, access }),
    "/validate/configmaps": (request, remainingMs) => validateConfigMaps(request, { source, settings: decisions, monotonicMs, remainingMs }),
  };
  for (const [path, decide] of Object.entries(routes)) {
    app.register((scope, _options, done) => {
      addReviewRoute(scope, path, decide, { log, metrics, monotonicMs });
      done();
    });
  }
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0] ?? "";
    if (!Object.hasOwn(routes, path)) {
      return sendError(reply, new ResolverError("ERR_REQUEST_NOT_FOUND", `there is no such path; the paths are ${Object.keys(routes).join(", ")}`));
    }
    reply.header("allow", "POST");
    return sendError(reply, new ResolverError("ERR_REQUEST_METHOD", `${path} takes POST and nothing else`));
  });
}
