import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import type { ListenAddress } from "../shared/server/listen-address.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { STSRoutePorts } from "./http/assume-role.ts";
import { limitConnections } from "./http/connection-limit.ts";
import { addCredentialRoutes, askedOf } from "./http/credential-routes.ts";
import { RejectionLog } from "./http/rejection-log.ts";
import { checkRequest, isSTSPath } from "./http/request-check.ts";
import { notesOf } from "./http/request-context.ts";
import { errorBody, sendError } from "./http/respond.ts";
import { addSTSRoutes, inWordsOfSTS, sendSTSRefusal } from "./http/sts-routes.ts";
import type { SidecarMetrics } from "./metrics.ts";
import type { SidecarOptions } from "./options.ts";
import { STSErrorResponse } from "./sts/response.ts";
import type { TokenCheck } from "./token.ts";

export interface SidecarPorts extends STSRoutePorts {
  readonly token: TokenCheck;
  readonly log: Logger;
  readonly metrics: SidecarMetrics;
  /** Where it listens, which with port 0 is known late. */
  readonly listen: () => ListenAddress;
}

const LIMITS = { headerBytes: 8 * 1024, bodyBytes: 64 * 1024, headersMs: 2_000, requestMs: 5_000 } as const;
const CONNECTIONS = { answered: 256, accepted: 1_024 } as const;

/** The credentials and STS server, not yet listening. */
export function buildSidecar(options: SidecarOptions, ports: SidecarPorts): FastifyInstance {
  const refusals = new RejectionLog(ports);
  const tellUnparsed = (status: number, message: string): void => {
    ports.metrics.unparsed(status);
    refusals.tell({ error: { code: "ERR_REQUEST_MALFORMED", status, message }, path: "unparsed", asked: null, selectors: [] });
  };
  const app = fastify({
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: "idle",
    bodyLimit: LIMITS.bodyBytes,
    requestTimeout: LIMITS.requestMs,
    // Timeouts are looked after at this interval; node's own is 30 s.
    http: { maxHeaderSize: LIMITS.headerBytes, headersTimeout: LIMITS.headersMs, connectionsCheckingInterval: 500 },
    routerOptions: { maxParamLength: LIMITS.headerBytes },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, { clock: ports.clock, tell: tellUnparsed }),
    // No hook is run for a path that does not decode.
    frameworkErrors(error, request, reply) {
      refuse(refusals, faultOf(() => check(request, reply)) ?? error, request, reply);
      count(request, reply);
    },
  });
  const isExcess = limitConnections(app.server, CONNECTIONS);
  const check = (request: FastifyRequest, reply: FastifyReply): void => {
    if (isExcess(request.raw.socket)) throw tooMany(reply);
    checkRequest(request.raw, { listen: ports.listen(), token: ports.token });
  };
  const count = (request: FastifyRequest, reply: FastifyReply): void => ports.metrics.request(pathOf(request), reply.statusCode, reply.elapsedTime / 1000);
  app.addHook("onRequest", async (request, reply) => {
    check(request, reply);
    if (!isSTSPath(request.raw.url ?? "")) notesOf(request).asked = askedOf(request);
  });
  app.addHook("onResponse", async (request, reply) => count(request, reply));
  // What else a client expects is nothing to us; node would answer it itself, before any check.
  app.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => app.server.emit("request", request, response));
  app.setErrorHandler((error, request, reply) => refuse(refusals, error, request, reply));
  app.setNotFoundHandler(() => {
    throw new ResolverError(
      "ERR_REQUEST_NOT_FOUND",
      "There is no such path. There are /v1/credentials, /v1/credentials/namespaces/NS, /v1/credentials/selectors/NAME, and POST /sts.",
    );
  });
  // Only /sts takes a body, whose signature is over its bytes; checkRequest has looked at the type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  addCredentialRoutes(app, options, ports);
  addSTSRoutes(app, options, ports);
  return app;
}

function faultOf(check: () => void): unknown {
  try {
    check();
    return null;
  } catch (fault) {
    return fault;
  }
}

function tooMany(reply: FastifyReply): ResolverError {
  reply.header("connection", "close");
  return new ResolverError("ERR_REQUEST_CONNECTIONS", `There are ${CONNECTIONS.answered} connections already, which is as many as are served; ask again.`);
}

function refuse(refusals: RejectionLog, cause: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = asRefusal(cause);
  const isSTS = isSTSPath(request.raw.url ?? "");
  const worded = inWordsOfSTS(error);
  const { asked, grant } = notesOf(request);
  const selectors = grant === null || grant.verdict === "base" ? [] : grant.selectors;
  const { code, status, message } = error;
  refusals.tell({ error: { code, status: isSTS ? worded.status : status, message }, cause, path: pathOf(request), asked, selectors });
  if (code === "ERR_REQUEST_METHOD") reply.header("allow", isSTS ? "POST" : "GET");
  return isSTS || !(error instanceof ResolverError) ? sendSTSRefusal(reply, worded) : sendError(reply, error);
}

function asRefusal(error: unknown): ResolverError | STSErrorResponse {
  if (error instanceof ResolverError || error instanceof STSErrorResponse) return error;
  // fastify's own refusals of a request: a path that does not decode, a body of another length than it says.
  const status = error instanceof Error && "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 500;
  if (status === 413) return new ResolverError("ERR_REQUEST_TOO_LARGE", `The body is larger than ${LIMITS.bodyBytes} bytes.`);
  return status < 500 && error instanceof Error
    ? new ResolverError("ERR_REQUEST_MALFORMED", `The request is malformed: ${error.message}.`)
    : new ResolverError("ERR_INTERNAL", "A fault of the sidecar; its log has the details.");
}

function pathOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? "unknown";
}

/** What node refuses before there is a request: bytes that are no HTTP, headers that are too large or too slow. */
function answerBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Socket,
  { clock, tell }: { readonly clock: Clock; readonly tell: (status: number, reason: string) => void },
): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [status, reason] = BROKEN[error.code ?? ""] ?? ["400 Bad Request", "The request is not HTTP/1.1."];
  tell(Number.parseInt(status, 10), reason);
  const body = JSON.stringify(errorBody("ERR_REQUEST_MALFORMED", reason));
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
  // Closed at once it would be reset, and the answer lost with it; left open, it stays among those that are served until its client closes it.
  socket.once("close", clock.schedule(LINGER_MS, () => socket.destroy()));
}

/** For a client to read why it is closed. */
const LINGER_MS = 500;

const BROKEN: Readonly<Record<string, readonly [status: string, reason: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", `The headers are larger than ${LIMITS.headerBytes} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", `The headers took longer than ${LIMITS.headersMs / 1000} s, or the whole request longer than ${LIMITS.requestMs / 1000} s.`],
};
