import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { Server as TLSServer } from "node:tls";
import type { SteadyClock } from "../clock.ts";

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
  server: Server | SecureServer, limits: ConnectionLimits, clock: Pick<SteadyClock, "schedule" | "steady">,
): (socket: Socket) => boolean {
  const { served, accepted, responseMs, replacesIncomplete = false } = limits;
  const excess = new WeakSet<Socket>();
  const open: OpenConnections = new Map();
  /** The connections that a new connection can replace, longest idle first. */
  const idle = new Set<Socket>();
  const deadline = new ResponseDeadline(open, responseMs, clock);
  const remove = (socket: Socket): void => void (open.delete(socket), idle.delete(socket));
  server.maxConnections = accepted;
  server.once("close", () => deadline.stop());
  if (server instanceof TLSServer) limitHandshakes(server, accepted - served);
  // An HTTPS server can serve a connection only after the TLS handshake.
  server.on(server instanceof TLSServer ? "secureConnection" : "connection", (socket: Socket) => {
    open.set(socket, newConnection());
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
    const connection = open.get(socket) ?? newConnection();
    const { responses } = connection;
    idle.delete(socket);
    if (isPipelined(responses)) {
      excess.add(socket);
      socket.destroy();
      return;
    }
    deadline.start(connection, response);
    if (replacesIncomplete && hasBody(request) && !excess.has(socket)) addUntilComplete(request, idle, responses);
    response.once("close", () => {
      responses.splice(responses.indexOf(response), 1);
      connection.startMs = clock.steady();
      if (responses.length === 0 && open.has(socket)) idle.add(socket);
    });
  });
  return (socket) => excess.has(socket);
}

interface Connection {
  /** The responses in flight. A response is in flight until the socket has sent it. */
  readonly responses: ServerResponse[];
  /** The time at which the first response in flight started, in ms of the steady clock. */
  startMs: number;
}

type OpenConnections = Map<Socket, Connection>;

function newConnection(): Connection {
  return { responses: [], startMs: 0 };
}

/** Destroys each connection whose response takes longer than the limit. One timer serves all connections. */
class ResponseDeadline {
  readonly #open: OpenConnections;
  readonly #limitMs: number;
  readonly #clock: Pick<SteadyClock, "schedule" | "steady">;
  #cancel: (() => void) | null = null;

  constructor(open: OpenConnections, limitMs: number, clock: Pick<SteadyClock, "schedule" | "steady">) {
    this.#open = open;
    this.#limitMs = limitMs;
    this.#clock = clock;
  }

  start(connection: Connection, response: ServerResponse): void {
    if (connection.responses.length === 0) connection.startMs = this.#clock.steady();
    connection.responses.push(response);
    this.#cancel ??= this.#clock.schedule(this.#limitMs, () => this.#check());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #check(): void {
    this.#cancel = null;
    const nowMs = this.#clock.steady();
    let nextMs = Infinity;
    for (const [socket, { responses, startMs }] of this.#open) {
      const leftMs = startMs + this.#limitMs - nowMs;
      if (responses.length === 0) continue;
      if (leftMs <= 0) socket.destroy();
      else nextMs = Math.min(nextMs, leftMs);
    }
    if (nextMs < Infinity) this.#cancel = this.#clock.schedule(nextMs, () => this.#check());
  }
}

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
  request: IncomingMessage, idle: Set<Socket>, responses: readonly ServerResponse[],
): void {
  const { socket } = request;
  idle.add(socket);
  request.once("end", () => {
    // If the response was sent before the end of the body, the connection is already idle, and remains replaceable.
    if (responses.length > 0) idle.delete(socket);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** The maximum number of bytes that are passed to the HTTP parser at once. */
const PART_BYTES = 4096;

/**
 * Passes the received data to the HTTP parser in small parts, and stops when the connection is closed. By default,
 * Node.js parses up to 64 KiB at once. These bytes can contain 2,400 pipelined requests, whose objects need 10 MB; a
 * part contains at most 150.
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
