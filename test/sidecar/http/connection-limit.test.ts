import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { type Test, test } from "tap";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { limitConnections } from "../../../sidecar/http/connection-limit.ts";

interface Subject {
  readonly open: () => Promise<Socket>;
  readonly request: (socket: Socket) => Promise<string>;
  /** Returns the response and leaves the connection open. */
  readonly requestKeepAlive: (socket: Socket) => Promise<string>;
}

async function subject(t: Test): Promise<Subject> {
  const server = createServer(({ socket }, response) => void response.end(isExcess(socket) ? "excess" : "served"));
  const isExcess = limitConnections(server, { served: 1, accepted: 2 });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = boundAddress(server);
  return {
    async open() {
      const accepted = once(server, "connection");
      const socket = connect(port, "127.0.0.1").setEncoding("utf8");
      t.teardown(() => socket.destroy());
      await Promise.race([accepted, once(server, "drop")]);
      return socket;
    },
    async request(socket) {
      socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      return (await socket.toArray()).join("").split("\r\n\r\n")[1] ?? "";
    },
    async requestKeepAlive(socket) {
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      return String(await once(socket, "data"));
    },
  };
}

test("marks connections over the served limit as excess, and resets connections over the accepted limit", async (t) => {
  const { open, request } = await subject(t);
  const [first, second, third] = [await open(), await open(), await open()];
  t.equal(await request(third).catch(() => ""), "", "the third connection is reset");
  t.match(await request(second), "excess");
  t.match(await request(first), "served");
  t.match(await request(await open()), "served");
});

test("closes the connection that was idle longest if a new connection exceeds the limit", async (t) => {
  const { open, request, requestKeepAlive } = await subject(t);
  const idle = await open();
  t.match(await requestKeepAlive(idle), "served");
  const closed = once(idle, "close");
  t.match(await request(await open()), "served");
  await closed;
});
