import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { Server as TLSServer } from "node:tls";
import type { Clock } from "../clock.ts";

export interface ConnectionLimits {
  /** The maximum number of served connections. Requests on connections above this number get a 503. */
  readonly served: number;
  /**
   * The maximum number of accepted connections. Connections above this number are reset, so that the process does not
   * run out of file descriptors.
   */
  readonly accepted: number;
  /** The maximum time from the headers of a request until the client has received the response, in ms. */
  readonly responseMs: number;
  /**
   * Whether a new connection can replace a connection that has not sent a complete request yet. Otherwise, a client
   * that never completes its requests could use up all connections. Default: false.
   */
  readonly replacesIncomplete?: boolean;
}

/**
 * Limits the connections and the requests in flight of `server`. Must be called before the server listens.
 *
 * - If `served` connections are open, a new connection replaces the connection that has been idle for longest. An ACK
 *   controller opens two connections for each kind, region and role, and uses each connection only every 15 minutes
 *   (aws-controllers-k8s/runtime, pkg/runtime/config.go).
 * - A connection has at most one request in flight. A connection that sends a second request before the first response
 *   (pipelining) is closed. The number of requests in flight is therefore at most `served`.
 * - A connection is closed if the client does not receive a response within `responseMs`.
 *
 * The returned function returns true if the server must not process the requests of a connection, because the
 * connection arrived while all served connections were busy, or because it is pipelined. The caller sends a 503 on such
 * a connection. SDKs retry after a 503, but would report a reset as a network failure.
 */
export function limitConnections(
  server: Server | SecureServer, limits: ConnectionLimits, clock: Pick<Clock, "schedule">,
): (socket: Socket) => boolean {
  const { served, accepted, responseMs, replacesIncomplete = false } = limits;
  const excess = new WeakSet<Socket>();
  const open = new Set<Socket>();
  /** The connections that a new connection can replace, longest idle first. */
  const idle = new Set<Socket>();
  const busy: ResponsesInFlight = new WeakMap();
  const remove = (socket: Socket): void => void (open.delete(socket), idle.delete(socket), busy.delete(socket));
  server.maxConnections = accepted;
  if (server instanceof TLSServer) limitHandshakes(server, accepted - served);
  // An HTTPS server can serve a connection only after the TLS handshake.
  server.on(server instanceof TLSServer ? "secureConnection" : "connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => remove(socket));
    parseInParts(socket);
    const [longestIdle] = idle;
    if (replacesIncomplete) idle.add(socket);
    if (open.size <= served) return;
    if (longestIdle === undefined) {
      idle.delete(socket);
      excess.add(socket);
      return;
    }
    longestIdle.destroy();
    remove(longestIdle);
  });
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const responses = busy.get(socket) ?? [];
    idle.delete(socket);
    if (isPipelined(responses)) {
      excess.add(socket);
      socket.destroy();
      return;
    }
    busy.set(socket, [...responses, response]);
    if (replacesIncomplete && hasBody(request) && !excess.has(socket)) addUntilComplete(request, { idle, busy });
    const cancel = clock.schedule(responseMs, () => socket.destroy());
    response.once("close", () => {
      cancel();
      const others = busy.get(socket)?.filter((other) => other !== response) ?? [];
      busy.set(socket, others);
      if (others.length === 0 && open.has(socket)) idle.add(socket);
    });
  });
  return (socket) => excess.has(socket);
}

/** Maps each connection to its responses in flight. A response is in flight until the socket has sent it. */
type ResponsesInFlight = WeakMap<Socket, readonly ServerResponse[]>;

/**
 * Returns whether a client sent a new request before the previous response was complete. One complete response can
 * still be in flight: when Node.js reports that it sent a response, the client may already have sent its next request.
 */
function isPipelined(responses: readonly ServerResponse[]): boolean {
  return responses.length > 1 || responses.some(({ writableEnded }) => !writableEnded);
}

/**
 * Makes the connection replaceable until the body of its request is complete, because a client may never send the whole
 * body.
 */
function addUntilComplete(
  request: IncomingMessage, { idle, busy }: { readonly idle: Set<Socket>; readonly busy: ResponsesInFlight },
): void {
  const { socket } = request;
  idle.add(socket);
  request.once("end", () => {
    // If the response was sent before the end of the body, the connection is already idle, and remains replaceable.
    if ((busy.get(socket) ?? []).length > 0) idle.delete(socket);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** The maximum number of bytes that are passed to the HTTP parser at once. */
const PART_BYTES = 1024;

/**
 * Passes the received data to the HTTP parser in small parts, and stops when the connection is closed. By default,
 * Node.js parses up to 64 KiB at once. These bytes can contain 2,400 pipelined requests, whose objects need 10 MB.
 */
function parseInParts(socket: Socket): void {
  const [parse, ...others] = socket.listeners("data");
  if (parse === undefined || others.length > 0) return;
  socket.removeAllListeners("data");
  socket.on("data", (data: Buffer) => {
    for (let start = 0; start < data.length && !socket.destroyed; start += PART_BYTES) {
      Reflect.apply(parse, socket, [data.subarray(start, start + PART_BYTES)]);
    }
  });
}

/**
 * Limits the connections whose TLS handshake is not complete. If there are more than `limit`, closes the oldest of
 * these connections.
 */
function limitHandshakes(server: SecureServer, limit: number): void {
  const handshakes = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const key = keyOf(socket);
    handshakes.set(key, socket);
    socket.once("close", () => {
      if (handshakes.get(key) === socket) handshakes.delete(key);
    });
    const [oldest] = handshakes;
    if (handshakes.size <= limit || oldest === undefined) return;
    handshakes.delete(oldest[0]);
    oldest[1].destroy();
  });
  server.on("secureConnection", (socket: Socket) => void handshakes.delete(keyOf(socket)));
}

/** Returns the same key for the TCP socket and the TLS socket of a connection, although these are different objects. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
