import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Test } from "tap";
import { boundAddress } from "../../../../shared/server/listen-address.ts";

/** A TCP load balancer on loopback, like a Service: each new connection goes to the next backend. */
export interface Balancer {
  readonly address: string;
  /** The addresses of the backends, `HOST:PORT`. */
  backends: readonly string[];
}

export async function startBalancer(t: Test): Promise<Balancer> {
  let turn = 0;
  const open = new Set<Socket>();
  const balancer = { address: "", backends: [] as readonly string[] };
  const server = createServer((client) => {
    const next = balancer.backends[turn++ % balancer.backends.length];
    if (next === undefined) {
      client.destroy();
      return;
    }
    const [host = "", port] = next.split(":");
    const backend = connect(Number(port), host);
    for (const socket of [client, backend]) {
      open.add(socket);
      socket.on("error", () => undefined).once("close", () => {
        open.delete(socket);
        client.destroy();
        backend.destroy();
      });
    }
    client.pipe(backend).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return Object.assign(balancer, { address: `127.0.0.1:${boundAddress(server).port}` });
}
