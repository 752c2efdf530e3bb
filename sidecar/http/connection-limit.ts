import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Beyond `answered`, a connection is told to come back; beyond `accepted` it is reset, so that nobody takes all file descriptors. */
export interface ConnectionLimits {
  readonly answered: number;
  readonly accepted: number;
}

/**
 * Counts the connections of `server`. Where another comes than may be answered, the one that has waited longest for its next request is
 * closed for it: a controller keeps two for each kind, region and role, and uses them once in 15 minutes (aws-controllers-k8s/runtime,
 * pkg/runtime/config.go). The function returned tells whether one came when all were busy: SDKs ask again after a 503, and take a reset
 * for a network fault.
 */
export function limitConnections(server: Server, { answered, accepted }: ConnectionLimits): (socket: Socket) => boolean {
  const excess = new WeakSet<Socket>();
  const open = new Set<Socket>();
  /** Those that were answered, in the order of that. */
  const idle = new Set<Socket>();
  const forget = (socket: Socket): void => void (open.delete(socket), idle.delete(socket));
  server.maxConnections = accepted;
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => forget(socket));
    if (open.size <= answered) return;
    const [longest] = idle;
    if (longest === undefined) {
      excess.add(socket);
      return;
    }
    longest.destroy();
    forget(longest);
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => {
      if (open.has(socket)) idle.add(socket);
    });
  });
  return (socket) => excess.has(socket);
}
