import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Beyond `answered`, a connection is told to come back; beyond `accepted` it is reset, so that nobody takes all file descriptors. */
export interface ConnectionLimits {
  readonly answered: number;
  readonly accepted: number;
}

/**
 * Counts the connections of `server`. The function returned tells whether one came when there were enough: SDKs ask again after a 503,
 * and take a reset for a network fault.
 */
export function limitConnections(server: Server, { answered, accepted }: ConnectionLimits): (socket: Socket) => boolean {
  const excess = new WeakSet<Socket>();
  let open = 0;
  server.maxConnections = accepted;
  server.on("connection", (socket) => {
    open += 1;
    socket.once("close", () => (open -= 1));
    if (open > answered) excess.add(socket);
  });
  return (socket) => excess.has(socket);
}
