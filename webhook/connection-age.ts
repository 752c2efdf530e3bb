import type { Server } from "node:https";
import type { Socket } from "node:net";

const MAX_AGE_MS = 30_000;

/**
 * Returns whether a connection is so old that the server should close it after the response. Otherwise the API server
 * uses the same connections for as long as it has requests: all of them to the one replica that remained when the other
 * one restarted, so that the loss of that replica breaks every request in flight. The API server does not use a
 * connection again after `Connection: close`, so no request is lost by it.
 */
export function trackAge(server: Server, monotonicMs: () => number): (socket: Socket) => boolean {
  const acceptedMs = new WeakMap<Socket, number>();
  server.on("secureConnection", (socket: Socket) => void acceptedMs.set(socket, monotonicMs()));
  return (socket) => {
    const startMs = acceptedMs.get(socket);
    return startMs !== undefined && monotonicMs() - startMs >= MAX_AGE_MS;
  };
}
