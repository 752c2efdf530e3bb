import type { AdmissionRequest } from "../shared/core/admission.ts";
import type { Server } from "node:https";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { DecisionSettings } from "../shared/core/context.ts";
import { KINDS } from "../shared/kinds.ts";
import { REACHED } from "../shared/core/installation.ts";
import { LIMITS } from "../shared/core/limits.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import type { Inventory } from "../shared/core/inventory.ts";
import type { Logger } from "../shared/server/logger.ts";
import { EndOfTurn } from "../shared/server/end-of-turn.ts";
import { isCurrent } from "../shared/server/readiness.ts";
import type { Drain } from "../shared/server/stopping.ts";
import { TurnQueue } from "../shared/sources/slices.ts";
import type { InventorySource, Proof, SourceStatus } from "../shared/sources/source.ts";
import type { AccessReviewer } from "./access-review.ts";
import { LargeBodies } from "./body/large-bodies.ts";
import { acceptReviewBodies } from "./body/parse.ts";
import { type AllowedClient, clientOptions, limitCallers } from "./callers.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { mutate } from "./mutate.ts";
import { NAMESPACES_ON_SERVER } from "./object-fetch.ts";
import type { ObservedStore } from "./observed-store.ts";
import { openPending, type PendingByKind, type PendingPorts } from "./pending/open.ts";
import { skipped } from "./review.ts";
import { addReviewRoute, asResolverError, sendError } from "./route.ts";
import { deniesInEveryProfile, validate } from "./validate.ts";

const MAX_AGE_MS = 30_000;

/**
 * Returns whether a connection is so old that the server should close it after the response. Otherwise the API server
 * uses the same connections for as long as it has requests: all of them to the one replica that remained when the other
 * one restarted, so that the loss of that replica breaks every request in flight. The API server does not use a
 * connection again after `Connection: close`, so no request is lost by it.
 */
function trackAge(server: Server, clock: SteadyClock): (socket: Socket) => boolean {
  const acceptedMs = new WeakMap<Socket, number>();
  server.on("secureConnection", (socket: Socket) => void acceptedMs.set(socket, clock.steady()));
  return (socket) => {
    const startMs = acceptedMs.get(socket);
    return startMs !== undefined && clock.steady() - startMs >= MAX_AGE_MS;
  };
}

/**
 * An inventory source that counts as not loaded while its inventory is older than 5 minutes. The webhook then
 * answers reviews like before the first load: a replica that lost the API server must not decide based on objects that
 * have changed long ago.
 */
export class CurrentSource implements InventorySource {
  readonly #source: InventorySource;
  readonly #clock: Pick<SteadyClock, "steady">;

  constructor(source: InventorySource, clock: Pick<SteadyClock, "steady">) {
    this.#source = source;
    this.#clock = clock;
  }

  get inventory(): Inventory {
    return this.#source.inventory;
  }

  get status(): SourceStatus {
    const { status } = this.#source;
    return isCurrent(status, this.#clock.steady()) ? status : { ...status, loaded: false };
  }

  positionOf(kind: string): string | null {
    return this.#source.positionOf(kind);
  }

  prove(...args: Parameters<InventorySource["prove"]>): Promise<Proof> {
    return this.#source.prove(...args);
  }

  accept(object: JsonObject): boolean {
    return this.#source.accept(object);
  }

  start(): Promise<void> {
    return this.#source.start();
  }

  stop(): Promise<void> {
    return this.#source.stop();
  }

  onChange(listener: () => void): () => void {
    return this.#source.onChange(listener);
  }
}

/**
 * The API server closes an idle webhook connection after 90 s (measured). If the webhook closed the connection first, a
 * request of the API server could be reset.
 */
const KEEP_ALIVE_MS = 120_000;
const HANDSHAKE_TIMEOUT_MS = 5_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** How often Node.js checks the header and request timeouts, in ms. The default of Node.js is 30 s. */
const TIMEOUT_CHECK_MS = 1_000;

interface WebhookOptions {
  readonly decisions: DecisionSettings;
  /** The initial serving certificate and key as PEM. `app.server.setSecureContext` replaces them later. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** The only client that may send reviews. If null, any client may send reviews. */
  readonly client?: AllowedClient | null;
}

export interface WebhookPorts extends PendingPorts {
  readonly source: InventorySource;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  readonly drain: Drain;
  /** The paused reviews and scans of the process. Default: only those of this server. */
  readonly turns?: TurnQueue;
  /** Sends access reviews; undefined if no check needs access reviews. */
  readonly reviewAccess?: AccessReviewer;
  /** Counts what `enforce` would deny. Absent in other profiles. */
  readonly observed?: Pick<ObservedStore, "add">;
  /** The pending writes of all replicas; undefined if each replica compares only the changes that it admits itself. */
  readonly pending?: PendingByKind;
}

export type WebhookApp = FastifyInstance<Server>;

/**
 * Returns the admission server, which does not listen yet. The server supports only HTTP/1.1, because the API server
 * uses no other HTTP version for a webhook behind a Service.
 */
export function buildWebhook(options: WebhookOptions, ports: WebhookPorts): WebhookApp {
  const app = fastify({
    https: {
      cert: options.tls.cert,
      key: options.tls.key,
      ...clientOptions(options.client ?? null),
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: 0,
    // The webhook reviews requests that arrive while the server closes. The API server would treat a response with
    // status 503 as a failed call.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, reply) => void sendError(reply, asResolverError(error)),
  });
  // Handles errors of requests that match no route. Each route has its own error handler.
  app.setErrorHandler((error, _request, reply) => sendError(reply, asResolverError(error)));
  app.server.on("request", () => ports.drain.requestArrived());
  const isOld = trackAge(app.server, ports.clock);
  app.addHook("onSend", (request, reply, _payload, done) => {
    const mustClose = ports.drain.active || !ports.source.status.loaded || isOld(request.raw.socket);
    // If the connection closes before the client has sent the whole body, the client may not read the response.
    if (mustClose && (request.raw.complete || request.raw.readableEnded)) reply.header("connection", "close");
    done();
  });
  const { rejectedCalls } = ports.metrics;
  limitCallers(app, { client: options.client ?? null, clock: ports.clock, metrics: ports.metrics });
  const bodies = new LargeBodies(LIMITS.largeReviewsBytes.value, () => rejectedCalls.inc({ reason: "bytes" }));
  acceptReviewBodies(app, bodies, ports.clock);
  app.server.on("tlsClientError", (err) => {
    ports.metrics.handshakeErrors.inc();
    ports.log.debug({ err }, "TLS handshake failed");
  });
  addRoutes(app, options, ports);
  return app;
}

/** The paths of the webhook, by the verb that they start with. */
const PATHS = {
  mutate: KINDS.flatMap(({ path, reviews = [] }) => (reviews.some(({ mutates }) => mutates) ? path ?? [] : [])),
  validate: [...new Set(KINDS.flatMap(({ path }) => path ?? []))],
} as const;

function addRoutes(app: WebhookApp, options: WebhookOptions, ports: WebhookPorts): void {
  const { decisions: settings } = options;
  const { reviewAccess = null, fetcherOf = () => null, turns = new TurnQueue() } = ports;
  const pending = ports.pending ?? openPending(settings.runtime, ports);
  const context = { ...ports, settings, reviewAccess, fetchNamespace: fetcherOf(NAMESPACES_ON_SERVER), turns, pending };
  const newStep = (): EndOfTurn => (
    new EndOfTurn((err) => ports.log.error({ err }, "a review could not be recorded or answered"))
  );
  const turn = { reviews: newStep(), records: newStep(), responses: newStep() };
  const paths: string[] = [];
  const verbs = [["mutate", mutate, () => false], ["validate", validate, deniesInEveryProfile]] as const;
  for (const [verb, review, denies] of verbs) {
    for (const path of PATHS[verb]) {
      const url = `/${verb}/${path}`;
      paths.push(url);
      const admitsFailed = (request: AdmissionRequest): boolean => (
        settings.onInternalError === "admit" && !denies(request, path, context)
      );
      app.register((scope, _options, done) => {
        addReviewRoute(scope, url, (request, remainingMs) => review(request, path, { ...context, remainingMs }), {
          ...ports, admitsFailed, turn,
        });
        done();
      });
    }
  }
  paths.push(REACHED.path);
  app.register((scope, _options, done) => {
    addReviewRoute(scope, REACHED.path, () => skipped("reached"), { ...ports, admitsFailed: () => true, turn });
    done();
  });
  answerOtherPaths(app, paths);
}

function answerOtherPaths(app: WebhookApp, paths: readonly string[]): void {
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0] ?? "";
    if (!paths.includes(path)) {
      const message = `The path does not exist. The valid paths are ${paths.join(", ")}.`;
      return sendError(reply, new ResolverError("ERR_REQUEST_NOT_FOUND", message));
    }
    reply.header("allow", "POST");
    return sendError(reply, new ResolverError("ERR_REQUEST_METHOD", `${path} accepts only POST.`));
  });
}
