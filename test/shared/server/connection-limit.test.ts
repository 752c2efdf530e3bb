import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createSecureServer, get } from "node:https";
import { connect, type Socket } from "node:net";
import { type Test, test } from "tap";
import { type ConnectionLimits, limitConnections } from "../../../shared/server/connection-limit.ts";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { collectGarbage } from "../../collect-garbage.ts";
import { makePairs } from "../../certs/pairs.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";

interface Subject {
  readonly server: Server;
  readonly open: () => Promise<Socket>;
  readonly request: (socket: Socket) => Promise<string>;
  /** Returns the response and leaves the connection open. */
  readonly requestKeepAlive: (socket: Socket) => Promise<string>;
}

async function subject(t: Test, limits: Partial<ConnectionLimits> = {}, clock = new FakeClock()): Promise<Subject> {
  const server = createServer(({ socket }, response) => void response.end(isExcess(socket) ? "excess" : "served"));
  const isExcess = limitConnections(server, { served: 1, accepted: 2, responseMs: 1_000, ...limits }, clock);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = boundAddress(server);
  return {
    server,
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

test("with replacesIncomplete, a new connection replaces a connection that has not sent a request", async (t) => {
  const { open, request } = await subject(t, { replacesIncomplete: true });
  const unused = await open();
  const closed = once(unused, "close");
  t.match(await request(await open()), "served");
  await closed;
});

test("a new connection replaces the oldest request whose body is incomplete, but no complete request", async (t) => {
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (isExcess(request.socket)) response.end("excess");
    else held.push(() => void response.end("served"));
  });
  const limits = { served: 2, accepted: 4, responseMs: 1_000, replacesIncomplete: true };
  const isExcess = limitConnections(server, limits, new FakeClock());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const send = async (text: string): Promise<Socket> => {
    const socket = connect(boundAddress(server).port, "127.0.0.1").setEncoding("utf8").on("error", () => {});
    t.teardown(() => socket.destroy());
    const requested = once(server, "request");
    socket.write(text);
    await requested;
    return socket;
  };
  const whole = await send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody");
  const partial = await send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbod");
  const closed = once(partial, "close");
  const last = await send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await closed;
  const excess = await send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  t.match((await excess.toArray()).join(""), /excess$/, "two complete requests are not replaced");
  for (const respond of held) respond();
  t.match((await whole.toArray()).join(""), /served$/);
  t.match((await last.toArray()).join(""), /served$/);
});

test("closes a connection that sends a second request before the first response", async (t) => {
  const { server, handled, open } = await silentServer(t);
  const socket = await open();
  socket.write("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_000));
  await once(socket, "close");
  t.equal(handled.filter(({ excess }) => !excess).length, 1, "only the first request is processed");
  t.equal(handled.length, 2, "the second request is the last one that is parsed");
  t.equal(server.listening, true);
});

test("serves a request that arrives while the socket still sends the complete previous response", async (t) => {
  const { open } = await subject(t);
  const socket = await open();
  socket.write("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  t.equal((await socket.toArray()).join("").match(/served/g)?.length, 2);
});

test("closes a connection with two complete responses that its client does not read", async (t) => {
  const { open } = await subject(t);
  const socket = (await open()).on("error", () => {});
  const closed = once(socket, "close");
  socket.resume().write("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(3));
  await closed;
  t.pass("the third request closes the connection");
});

test("closes a connection whose client has no response within the time limit", async (t) => {
  const clock = new FakeClock();
  const { server, open } = await silentServer(t, clock);
  const socket = await open();
  const requested = once(server, "request");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await requested;
  await clock.advance(999);
  t.equal(socket.closed, false);
  const closed = once(socket, "close");
  await clock.advance(1);
  await closed;
  t.equal(clock.scheduled, 0);
});

interface SilentServer {
  readonly server: Server;
  readonly handled: { readonly excess: boolean }[];
  readonly open: () => Promise<Socket>;
}

/** Returns a server that never responds. */
async function silentServer(t: Test, clock = new FakeClock()): Promise<SilentServer> {
  const handled: { readonly excess: boolean }[] = [];
  const server = createServer(({ socket }) => void handled.push({ excess: isExcess(socket) }));
  const isExcess = limitConnections(server, { served: 2, accepted: 2, responseMs: 1_000 }, clock);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const open = async (): Promise<Socket> => {
    const socket = connect(boundAddress(server).port, "127.0.0.1").on("error", () => {});
    t.teardown(() => socket.destroy());
    await once(server, "connection");
    return socket;
  };
  return { server, handled, open };
}

test("a TLS connection without a complete handshake can be replaced, and is not a served connection", async (t) => {
  const [{ cert, key }] = await makePairs();
  const server = createSecureServer({ cert, key }, ({ socket }, response) => (
    void response.end(isExcess(socket) ? "excess" : "served")
  ));
  const isExcess = limitConnections(server, { served: 1, accepted: 3, responseMs: 1_000 }, new FakeClock());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close().closeAllConnections());
  const { port } = boundAddress(server);
  const open = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    t.teardown(() => socket.destroy());
    await once(server, "connection");
    return socket;
  };
  const oldest = await open();
  const other = await open();
  const closed = once(oldest, "close");
  const answer = await fetchSecure(port);
  t.equal(answer, "served", "two connections without a handshake take no place");
  await closed;
  t.equal(other.closed, false);
});

async function fetchSecure(port: number): Promise<string> {
  const sent = get({ host: "127.0.0.1", port, rejectUnauthorized: false, agent: false });
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
  const response = await (sent.once("response", resolve), promise);
  return (await response.setEncoding("utf8").toArray()).join("");
}

test("keeps nothing of a request in memory whose connection is idle", async (t) => {
  const { server, open, requestKeepAlive } = await subject(t);
  const requests: WeakRef<IncomingMessage>[] = [];
  server.on("request", (request: IncomingMessage) => void requests.push(new WeakRef(request)));
  const socket = await open();
  t.match(await requestKeepAlive(socket), "served");
  await collectGarbage();
  t.same(requests.map((one) => one.deref() === undefined), [true]);
  t.match(await requestKeepAlive(socket), "served", "the connection is still open");
});

test("counts a request with an unknown Expect header, which Node.js would answer by itself", async (t) => {
  const { handled, open } = await silentServer(t);
  const socket = await open();
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once("close", resolve).resume();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nExpect: anything\r\n\r\n".repeat(2_000));
  await promise;
  t.equal(handled.length, 2, "the second request closes the connection");
});
