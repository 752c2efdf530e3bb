import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { Server as TLSServer } from "node:tls";
import type { SteadyClock } from "../core/clock.ts";

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
 * - If `served` connections are open, a new connection replaces the one that has been unused for longest. An ACK
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
  const open: OpenConnections = new Map();
  const deadline = new ResponseDeadline(open, responseMs, clock);
  server.maxConnections = accepted;
  server.once("close", () => deadline.stop());
  if (server instanceof TLSServer) limitHandshakes(server, accepted - served);
  // An HTTPS server can serve a connection only after the TLS handshake.
  server.on(server instanceof TLSServer ? "secureConnection" : "connection", (socket: Socket) => {
    const unused = open.size < served ? null : longestUnused(open, replacesIncomplete);
    const isExcess = open.size >= served && unused === null;
    open.set(socket, { isExcess, hasServed: false, usedMs: clock.steady(), exchanges: [] });
    socket.once("close", () => void open.delete(socket));
    if (unused === null) return;
    open.delete(unused);
    unused.destroy();
  });
  // Ignores the Expect header. Otherwise, Node.js would respond to such a request before anything checks or counts it.
  server.on("checkExpectation", (request, response) => void server.emit("request", request, response));
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = open.get(socket);
    if (connection === undefined) return;
    const { exchanges } = connection;
    if (isPipelined(exchanges)) {
      connection.isExcess = true;
      socket.destroy();
      stopParsing(socket);
      return;
    }
    connection.usedMs = clock.steady();
    connection.hasServed = true;
    const exchange = { response, startMs: connection.usedMs };
    exchanges.push(exchange);
    // An idle connection must not keep its last request in memory.
    response.on("close", () => void exchanges.splice(exchanges.indexOf(exchange), 1));
    deadline.start();
  });
  return (socket) => socket.destroyed || open.get(socket)?.isExcess === true;
}

/** A request whose response the client has not received. */
interface Exchange {
  readonly response: ServerResponse;
  /** The time at which the request arrived, in ms of the steady clock. */
  readonly startMs: number;
}

interface Connection {
  isExcess: boolean;
  hasServed: boolean;
  /** The time of the last request, or of the connection itself, in ms of the steady clock. */
  usedMs: number;
  /** Oldest first. */
  readonly exchanges: Exchange[];
}

type OpenConnections = Map<Socket, Connection>;

/** Returns the replaceable connection that was not used for longest, or null if all are busy. */
function longestUnused(open: OpenConnections, replacesIncomplete: boolean): Socket | null {
  let [found, usedMs]: [Socket | null, number] = [null, Infinity];
  for (const [socket, connection] of open) {
    if (connection.usedMs >= usedMs || !isReplaceable(connection, replacesIncomplete)) continue;
    [found, usedMs] = [socket, connection.usedMs];
  }
  return found;
}

/** A client may never send the whole body of its request, or may send no request at all. */
function isReplaceable({ isExcess, hasServed, exchanges }: Connection, replacesIncomplete: boolean): boolean {
  const last = exchanges.at(-1)?.response;
  if (last !== undefined) return replacesIncomplete && !isExcess && !last.req.complete;
  return replacesIncomplete || hasServed;
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

  start(): void {
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
    for (const [socket, { exchanges }] of this.#open) {
      const [oldest] = exchanges;
      if (oldest === undefined) continue;
      const leftMs = oldest.startMs + this.#limitMs - nowMs;
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
function isPipelined(inFlight: readonly Exchange[]): boolean {
  return inFlight.length > 1 || inFlight.some(({ response }) => !response.writableEnded);
}

/** What the parser's handler of a request returns to stop, as for an upgrade (Node.js, lib/_http_server.js). */
const STOP = 2;

/**
 * Makes the HTTP parser stop at the next request. Otherwise, Node.js would parse all that it has received, up to
 * 64 KiB, although the socket is destroyed: these bytes can contain 2,400 requests, whose objects need 10 MB. Node.js
 * has no public interface for it. Passing the bytes to the parser in small parts would cost each request 10 us, because
 * the parser otherwise reads the socket without JavaScript.
 */
function stopParsing(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, "parser");
  if (typeof parser === "object" && parser !== null) Reflect.set(parser, "onIncoming", () => STOP);
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
