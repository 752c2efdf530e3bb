import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { type Test, test } from "tap";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { limitConnections } from "../../../sidecar/http/connection-limit.ts";

interface Subject {
  readonly open: () => Promise<Socket>;
  readonly ask: (socket: Socket) => Promise<string>;
  /** Reads an answer and leaves the connection open. */
  readonly askAndStay: (socket: Socket) => Promise<string>;
}

async function subject(t: Test): Promise<Subject> {
  const server = createServer((request, response) => void response.end(isExcess(request.socket) ? "come back" : "served"));
  const isExcess = limitConnections(server, { answered: 1, accepted: 2 });
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
    async ask(socket) {
      socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      return (await socket.toArray()).join("").split("\r\n\r\n")[1] ?? "";
    },
    async askAndStay(socket) {
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      return String(await once(socket, "data"));
    },
  };
}

test("the one over what is answered is told so, the one over what is accepted is reset, and one that leaves makes room", async (t) => {
  const { open, ask } = await subject(t);
  const [first, second, third] = [await open(), await open(), await open()];
  t.equal(await ask(third).catch(() => ""), "", "reset");
  t.match(await ask(second), "come back");
  t.match(await ask(first), "served");
  t.match(await ask(await open()), "served");
});

test("one that only waits for its next request makes room for another", async (t) => {
  const { open, ask, askAndStay } = await subject(t);
  const idle = await open();
  t.match(await askAndStay(idle), "served");
  const closed = once(idle, "close");
  t.match(await ask(await open()), "served");
  await closed;
});
