import { createServer } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { ResolverError } from "../shared/formats/errors.ts";
import type { Grant } from "../shared/core/grant.ts";
import type { Inventory } from "../shared/core/inventory.ts";
import { LIMITS as ALL_LIMITS } from "../shared/core/limits.ts";
import type { Clock, SteadyClock } from "../shared/core/clock.ts";
import { limitConnections } from "../shared/server/connection-limit.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { Extension } from "./extension.ts";
import type { LiveClosures } from "./installed-profile.ts";
import { AnswerMemo, type AnswerMemoPorts } from "./http/answer-memo.ts";
import { addSTSRoutes, sendSTSError, type STSRoutePorts, toSTSError } from "./http/sts-routes.ts";
import { addCredentialRoutes, type IssueCredentials, issueCredentials, requestedOf } from "./http/credential-routes.ts";
import { decorateRequests, RejectionLog } from "./http/rejection-log.ts";
import { faultOfRequest, isSTSPath, readBody, type RequestCheckPorts } from "./http/request-check.ts";
import { errorBody, sendError } from "./http/respond.ts";
import type { SidecarMetrics } from "./metrics.ts";
import type { SidecarOptions } from "./options.ts";
import { STSErrorResponse } from "./sts/query-protocol.ts";

interface SidecarPorts extends Omit<STSRoutePorts, "answers">, RequestCheckPorts,
  Pick<AnswerMemoPorts, "base" | "sessions" | "audit"> {
  readonly clock: SteadyClock;
  readonly profile: LiveClosures;
  readonly log: Logger;
  readonly metrics: SidecarMetrics;
  readonly extensions: readonly Pick<Extension, "addRoutes">[];
  /** Returns when a client should retry after a 503, in seconds. */
  readonly retryAfterSeconds: () => number;
}

const LIMITS = { headerBytes: 8 * 1024, headersMs: 2_000, requestMs: 5_000 } as const;
/** An unsigned request can have any sender, so that all connections together may hold 4 MiB of such bodies. */
const BODY_BYTES = { signed: 64 * 1024, unsigned: 8 * 1024 } as const;
const CONNECTIONS = {
  served: ALL_LIMITS.sidecarConnections.value,
  accepted: ALL_LIMITS.sidecarAccepted.value,
  responseMs: ALL_LIMITS.sidecarResponse.value,
  replacesIncomplete: true,
} as const;
const HTTP_OPTIONS = {
  maxHeaderSize: LIMITS.headerBytes,
  headersTimeout: LIMITS.headersMs,
  requestTimeout: LIMITS.requestMs,
  // The interval, in ms, at which Node checks the headers timeout and the request timeout. Node's default is 30 s.
  connectionsCheckingInterval: 500,
  keepAliveTimeout: 72_000,
} as const;
const SERVER_OPTIONS = {
  exposeHeadRoutes: false,
  return503OnClosing: false,
  forceCloseConnections: "idle",
  routerOptions: { maxParamLength: LIMITS.headerBytes },
} as const;

/** Returns the server of the credentials endpoint and the STS endpoint. The server does not listen yet. */
export function buildSidecar(options: SidecarOptions, ports: SidecarPorts): FastifyInstance {
  const rejections = new RejectionLog(ports);
  const reject = (cause: unknown, reply: FastifyReply): FastifyReply =>
    sendRejection(reply, cause, { rejections, retryAfterSeconds: ports.retryAfterSeconds });
  const server = createServer(HTTP_OPTIONS);
  const isExcess = limitConnections(server, CONNECTIONS, ports.clock);
  const faultOf = ({ raw }: FastifyRequest, reply: FastifyReply): ResolverError | null =>
    (isExcess(raw.socket) ? tooManyConnections(reply) : faultOfRequest(raw, ports));
  const answers = new AnswerMemo(ports);
  const routePorts = { ...ports, answers };
  const app = fastify({
    ...SERVER_OPTIONS,
    serverFactory: (handler) => server.on("request", (request, response) => {
      const isAnswered = server.listening && !isExcess(request.socket) && answers.answer(request, response);
      if (!isAnswered) handler(request, response);
    }),
    clientErrorHandler: (error, socket) => rejectUnparsed(error, socket, { ...ports, rejections }),
    // fastify does not run hooks for a path that it cannot decode.
    frameworkErrors(error, request, reply) {
      reject(faultOf(request, reply) ?? error, reply);
      observe(ports.metrics, reply);
    },
  });
  decorateRequests(app);
  app.addHook("onRequest", (request, reply, done) => {
    const fault = faultOf(request, reply);
    if (fault !== null) throw fault;
    if (!isSTSPath(request.raw.url ?? "")) request.requested = () => requestedOf(request);
    done();
  });
  app.addHook("onResponse", (_request, reply, done) => {
    observe(ports.metrics, reply);
    done();
  });
  app.setErrorHandler((error, _request, reply) => reject(error, reply));
  app.setNotFoundHandler(() => {
    const paths = listPaths(ports.source.inventory);
    throw new ResolverError("ERR_REQUEST_NOT_FOUND", `The path does not exist. Use ${paths}.`);
  });
  // Passes the body to the routes as raw bytes, because the signature of a request to /sts covers these bytes. Other
  // requests have no body. faultOfRequest has already checked the content type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", ({ raw }: FastifyRequest, payload: Readable, done) => (
    readBody(raw, payload, raw.headers.authorization === undefined ? BODY_BYTES.unsigned : BODY_BYTES.signed, done)));
  addCredentialRoutes(app, options, routePorts);
  addSTSRoutes(app, options, routePorts);
  const issue: IssueCredentials = (reply, read) => issueCredentials(routePorts, reply, read);
  for (const { addRoutes } of ports.extensions) addRoutes(app, issue);
  return app;
}

const PATHS = ["/v1/credentials", "/v1/credentials/namespaces/NS", "/v1/credentials/selectors/NAME", "POST /sts"];

function listPaths({ endpoints }: Pick<Inventory, "endpoints">): string {
  const paths = [...PATHS, ...endpoints.map(({ group, path }) => `(with --group ${group}) ${path}`)];
  return `${paths.slice(0, -1).join(", ")}, or ${paths.at(-1)}`;
}

function tooManyConnections(reply: FastifyReply): ResolverError {
  reply.header("connection", "close");
  const message = `The sidecar serves ${CONNECTIONS.served} connections, which is the limit. Retry in a moment.`;
  return new ResolverError("ERR_REQUEST_CONNECTIONS", message);
}

function observe(metrics: SidecarMetrics, { request, statusCode, elapsedTime }: FastifyReply): void {
  metrics.responses.observe({ path: routeOf(request), code: statusCode }, elapsedTime / 1000);
}

interface RejectionPorts extends Pick<SidecarPorts, "retryAfterSeconds"> {
  readonly rejections: RejectionLog;
}

/** Logs the rejection and sends the error. The format is XML on the STS paths and JSON on all other paths. */
function sendRejection(
  reply: FastifyReply, cause: unknown, { rejections, retryAfterSeconds }: RejectionPorts,
): FastifyReply {
  const { request } = reply;
  // Discards the rest of a body, which would stay in memory until the client has received the response.
  request.raw.resume();
  const error = toKnownError(cause);
  const stsError = toSTSError(error);
  const isSTS = isSTSPath(request.raw.url ?? "");
  const { code, message } = error;
  const { status } = isSTS ? stsError : error;
  rejections.record({
    error: { code, status, message },
    cause,
    path: routeOf(request),
    requested: request.requested?.() ?? null,
    selectors: selectorsOf(request.grant),
  });
  if (status === 503) reply.header("retry-after", retryAfterSeconds());
  if (code === "ERR_REQUEST_METHOD") reply.header("allow", isSTS ? "POST" : "GET");
  return isSTS || !(error instanceof ResolverError) ? sendSTSError(reply, stsError) : sendError(reply, error);
}

function toKnownError(error: unknown): ResolverError | STSErrorResponse {
  if (error instanceof ResolverError || error instanceof STSErrorResponse) return error;
  // Errors of fastify have a `statusCode`, for example the error for a path that cannot be decoded.
  const status =
    error instanceof Error && "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 500;
  return status < 500 && error instanceof Error
    ? new ResolverError("ERR_REQUEST_MALFORMED", `The request is malformed: ${error.message}.`)
    : new ResolverError("ERR_INTERNAL", "The sidecar failed unexpectedly. See its log for details.");
}

function selectorsOf(grant: Grant | undefined): readonly string[] {
  return grant === undefined || grant.verdict === "base" ? [] : grant.selectors;
}

function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? "unknown";
}

/** The time that a client has to read the response before the connection is destroyed, in ms. */
const LINGER_MS = 500;

const PARSE_ERRORS: Readonly<Record<string, readonly [status: string, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    `The headers are larger than ${LIMITS.headerBytes} bytes.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    "408 Request Timeout",
    `The headers took longer than ${LIMITS.headersMs / 1000} s, `
      + `or the whole request took longer than ${LIMITS.requestMs / 1000} s.`,
  ],
};

interface UnparsedPorts {
  readonly clock: Clock;
  readonly metrics: SidecarMetrics;
  readonly rejections: RejectionLog;
}

/**
 * Rejects a request that Node.js cannot parse, because the request is not HTTP, or its headers are too large or arrive
 * too late.
 */
function rejectUnparsed(
  error: Error & { readonly code?: string },
  socket: Socket,
  { clock, metrics, rejections }: UnparsedPorts,
): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [statusLine, message] = PARSE_ERRORS[error.code ?? ""] ?? ["400 Bad Request", "The request is not HTTP/1.1."];
  const status = Number.parseInt(statusLine, 10);
  const code = "ERR_REQUEST_MALFORMED";
  metrics.responses.observe({ path: "unparsed", code: status }, null);
  rejections.record({ error: { code, status, message }, path: "unparsed", requested: null, selectors: [] });
  const body = JSON.stringify(errorBody(code, message));
  const headers = [
    `HTTP/1.1 ${statusLine}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${headers.join("\r\n")}\r\n\r\n${body}`);
  // Does not destroy the socket immediately, because a reset would discard the response. Destroys the socket after a
  // delay, because an open socket counts toward the connection limit.
  socket.once("close", clock.schedule(LINGER_MS, () => socket.destroy()));
}
