import type { Server } from "node:http";
import type { Socket } from "node:net";

interface ConnectionLimits {
  /** The maximum number of served connections. Requests on additional connections get a 503. */
  readonly served: number;
  /**
   * The maximum number of accepted connections. Additional connections are reset, so that the process does not run out
   * of file descriptors.
   */
  readonly accepted: number;
}

/**
 * Limits the connections of `server`. At the limit, a new connection replaces the connection that has been idle for
 * longest. A controller has two connections for each kind, region and role, and uses them every 15 minutes
 * (aws-controllers-k8s/runtime, pkg/runtime/config.go). Returns a function that returns true for a connection that
 * arrived while all served connections were busy. Requests on such a connection get a 503, which SDKs retry; a reset
 * would be a network failure for SDKs.
 */
export function limitConnections(server: Server, { served, accepted }: ConnectionLimits): (socket: Socket) => boolean {
  const excess = new WeakSet<Socket>();
  const open = new Set<Socket>();
  /** The connections that have no request in flight, longest idle first. */
  const idle = new Set<Socket>();
  const remove = (socket: Socket): void => void (open.delete(socket), idle.delete(socket));
  server.maxConnections = accepted;
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => remove(socket));
    if (open.size <= served) return;
    const [longestIdle] = idle;
    if (longestIdle === undefined) {
      excess.add(socket);
      return;
    }
    longestIdle.destroy();
    remove(longestIdle);
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => {
      if (open.has(socket)) idle.add(socket);
    });
  });
  return (socket) => excess.has(socket);
}
