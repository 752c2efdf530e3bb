import type { Server } from "node:http";
import type { Socket } from "node:net";

interface ConnectionLimits {
  /** The most connections served. Requests on further connections get a 503. */
  readonly served: number;
  /** The most connections accepted. Further ones are reset, which protects the file descriptors of the process. */
  readonly accepted: number;
}

/**
 * Limits the connections of `server`. At the limit, a new connection replaces the one that has been idle for longest: a
 * controller keeps two for each kind, region and role, and uses them once in 15 minutes (aws-controllers-k8s/runtime,
 * pkg/runtime/config.go). Returns a function that reports if a connection arrived while all others were busy. Its
 * requests get a 503, which SDKs retry; they treat a reset as a network failure.
 */
export function limitConnections(server: Server, { served, accepted }: ConnectionLimits): (socket: Socket) => boolean {
  const excess = new WeakSet<Socket>();
  const open = new Set<Socket>();
  /** Connections without a request in flight, longest idle first. */
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
