import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { ResolverError } from "../shared/decisions/errors.ts";
import { type Grant, grantInNamespace, grantSelector } from "../shared/decisions/grants.ts";
import { isJsonObject } from "../shared/decisions/json.ts";
import type { KindArgument } from "../shared/decisions/kind-argument.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { ListenAddress } from "../shared/server/listen-address.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import { within } from "./within.ts";
import { checkNamespaceName, readResourceDescription, refuseQuery } from "./credential-query.ts";
import type { SidecarMetrics } from "./metrics.ts";
import { RefusalLog } from "./refusal-log.ts";
import { checkRequest } from "./request-check.ts";
import { errorBody, sendCredentials, sendError } from "./respond.ts";
import type { TokenCheck } from "./token-check.ts";
import type { Vending } from "./vending.ts";

/** What the sidecar answers for. */
export interface SidecarOptions {
  readonly groups: readonly string[];
  /** Narrows `/v1/credentials` and requests that name no kind; [] is every kind. */
  readonly kinds: readonly KindArgument[];
  readonly scopeNamespace: string | null;
  readonly unmatched: "base" | "deny";
  readonly decisions: DecisionSettings;
}

export interface SidecarPorts {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly vending: Vending;
  readonly token: TokenCheck;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: SidecarMetrics;
  /** Where it listens, which with port 0 is known late. */
  readonly listen: () => ListenAddress;
}

/** Java gives up on an answer after 1 s, so every one is on its way before 900 ms; the call of STS goes on and the next request finds it. */
const ANSWER_LIMIT_MS = 850;
const LIMITS = { headerBytes: 8 * 1024, headersMs: 2_000, requestMs: 5_000, connections: 256 } as const;

/** The credentials server, not yet listening. */
export function buildSidecar(options: SidecarOptions, ports: SidecarPorts): FastifyInstance {
  const refusals = new RefusalLog(ports);
  const app = fastify({
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: "idle",
    requestTimeout: LIMITS.requestMs,
    // Timeouts are looked after at this interval; node's own is 30 s.
    http: { maxHeaderSize: LIMITS.headerBytes, headersTimeout: LIMITS.headersMs, connectionsCheckingInterval: 500 },
    routerOptions: { maxParamLength: LIMITS.headerBytes },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => void refuse(refusals, error, request, reply),
  });
  app.server.maxConnections = LIMITS.connections;
  app.addHook("onRequest", async (request) => {
    checkRequest(request.raw, { listen: ports.listen(), token: ports.token });
    believed.add(request);
  });
  app.addHook("onResponse", async (request, reply) => ports.metrics.request(pathOf(request), reply.statusCode, reply.elapsedTime / 1000));
  app.setErrorHandler((error, request, reply) => refuse(refusals, error, request, reply));
  app.setNotFoundHandler(() => {
    throw new ResolverError(
      "ERR_REQUEST_NOT_FOUND",
      "There is no such path. There are /v1/credentials, /v1/credentials/namespaces/NS and /v1/credentials/selectors/NAME.",
    );
  });
  addCredentialRoutes(app, options, ports);
  return app;
}

/** `/v1/credentials/identities/KIND/NAME` and `/sts` join here. */
function addCredentialRoutes(app: FastifyInstance, options: SidecarOptions, ports: SidecarPorts): void {
  const { groups, kinds, scopeNamespace, decisions: settings } = options;
  app.get("/v1/credentials", (request, reply) => {
    refuseQuery(request.url);
    return vend(ports, reply, () => (scopeNamespace === null ? { verdict: "base" } : decideNamespace(options, ports, scopeNamespace, NOTHING_SAID)));
  });
  app.get<{ Params: { namespace: string } }>("/v1/credentials/namespaces/:namespace", (request, reply) => {
    const namespace = checkNamespaceName(request.params.namespace);
    const description = readResourceDescription(request.url);
    return vend(ports, reply, () => decideNamespace(options, ports, namespace, description));
  });
  app.get<{ Params: { name: string } }>("/v1/credentials/selectors/:name", (request, reply) => {
    refuseQuery(request.url);
    return vend(ports, reply, () => grantSelector(ports.source.inventory, request.params.name, { groups, kinds, settings, scope: scopeNamespace }));
  });
}

const NOTHING_SAID = { kinds: [], labels: null };

function decideNamespace(
  { groups, kinds, scopeNamespace, unmatched, decisions: settings }: SidecarOptions,
  { source }: SidecarPorts,
  namespace: string,
  said: ReturnType<typeof readResourceDescription>,
): Grant {
  if (scopeNamespace !== null && namespace !== scopeNamespace) {
    const message = `This sidecar answers for namespace ${scopeNamespace} alone (--scope-namespace), not for ${namespace}.`;
    return { verdict: "refused", code: "ERR_SELECTOR_NOT_GRANTED", message, selectors: [] };
  }
  return grantInNamespace(source.inventory, { namespace, groups, kinds: said.kinds.length > 0 ? said.kinds : kinds, labels: said.labels, unmatched, settings });
}

/** Decides anew for each request, so that a selector which is gone stops being vended while its session is still kept. */
async function vend({ source, vending, clock }: SidecarPorts, reply: FastifyReply, decide: () => Grant): Promise<FastifyReply> {
  if (!source.status.loaded) throw new ResolverError("ERR_NOT_READY", "The inventory is not loaded yet; ask again.");
  const grant = decide();
  decided.set(reply.request, grant);
  const credentials = await within(clock, ANSWER_LIMIT_MS, vending.credentialsFor(grant), stillWaiting);
  return sendCredentials(reply, credentials, clock.now());
}

function stillWaiting(): ResolverError {
  return new ResolverError("ERR_STS_UNAVAILABLE", `STS has not answered within ${ANSWER_LIMIT_MS} ms; its answer is waited for, ask again.`);
}

/** What was decided for a request, and whether it was believed, for the log. */
const decided = new WeakMap<FastifyRequest, Grant>();
const believed = new WeakSet<FastifyRequest>();

function refuse(refusals: RefusalLog, cause: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = asRefusal(cause);
  const grant = decided.get(request);
  const selectors = grant === undefined || grant.verdict === "base" ? [] : grant.selectors;
  refusals.tell({ error, cause, path: pathOf(request), asked: believed.has(request) ? askedOf(request) : null, selectors });
  if (error.code === "ERR_REQUEST_METHOD") reply.header("allow", "GET");
  return sendError(reply, error);
}

/** Nothing of the query but what is known: what else was sent may be anything. */
function askedOf({ params, query }: FastifyRequest): Readonly<Record<string, unknown>> {
  const { kind, label } = isJsonObject(query) ? query : {};
  return { ...(isJsonObject(params) && params), ...(kind !== undefined && { kind }), ...(label !== undefined && { label }) };
}

function asRefusal(error: unknown): ResolverError {
  if (error instanceof ResolverError) return error;
  // fastify's own refusals of a request: a path that does not decode, a body of another length than it says.
  const isRequestFault = error instanceof Error && "statusCode" in error && typeof error.statusCode === "number" && error.statusCode < 500;
  return isRequestFault
    ? new ResolverError("ERR_REQUEST_MALFORMED", `The request is malformed: ${error.message}.`)
    : new ResolverError("ERR_INTERNAL", "A fault of the sidecar; its log has the details.");
}

function pathOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? "unknown";
}

/** What node refuses before there is a request: bytes that are no HTTP, headers that are too large or too slow. */
function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [status, reason] = BROKEN[error.code ?? ""] ?? ["400 Bad Request", "The request is not HTTP/1.1."];
  const body = JSON.stringify(errorBody("ERR_REQUEST_MALFORMED", reason));
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
}

const BROKEN: Readonly<Record<string, readonly [status: string, reason: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", `The headers are larger than ${LIMITS.headerBytes} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", `The headers took longer than ${LIMITS.headersMs / 1000} s.`],
};
