import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { type Test, test } from "tap";
import { type PageServer, startPageServer } from "../../../shared/server/page-server.ts";
import { send } from "../../loopback-request.ts";
import { FakeClock } from "../fake-clock.ts";

async function start(t: Test, clock = new FakeClock(), data = async (): Promise<string> => "{}"): Promise<PageServer> {
  const page = async (): Promise<string> => "<!doctype html>";
  const server = await startPageServer({ flag: "--ui", listen: "127.0.0.1:0", page, data, clock });
  t.teardown(() => server.close());
  return server;
}

test("serves the document and its data, which no other site may frame or read", async (t) => {
  const { address } = await start(t);
  for (const [path, type, body] of [
    ["/", "text/html", "<!doctype html>"], ["/?q=1", "text/html", "<!doctype html>"],
    ["/data.json", "application/json", "{}"],
  ] as const) {
    t.match(await send(`http://${address}${path}`, {}), {
      status: 200, body,
      headers: {
        "content-type": `${type}; charset=utf-8`, "cache-control": "no-store", "x-content-type-options": "nosniff",
        "content-security-policy": "frame-ancestors 'none'", "cross-origin-resource-policy": "same-origin",
      },
    }, path);
  }
});

test("rejects other paths, other methods, and requests of a site whose name resolves to loopback", async (t) => {
  const { address } = await start(t);
  const statusOf = async (path: string, options: Parameters<typeof send>[1]): Promise<number> => (
    (await send(`http://${address}${path}`, options)).status
  );
  t.equal(await statusOf("/etc/passwd", {}), 404);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) t.equal(await statusOf("/", { method }), 405, method);
  for (const host of ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1"]) {
    for (const path of ["/", "/data.json", "/events"]) t.equal(await statusOf(path, { headers: { host } }), 403, host);
  }
  for (const host of ["localhost:8080", "[::1]:8080", "127.0.0.1"]) {
    t.equal(await statusOf("/", { headers: { host } }), 200, host);
  }
});

test("a fault of the data is status 503, and does not end the server", async (t) => {
  let isFaulty = true;
  const { address } = await start(t, new FakeClock(), async () => {
    if (isFaulty) throw new Error("planted secret");
    return "{}";
  });
  const answer = await send(`http://${address}/data.json`, {});
  t.equal(answer.status, 503);
  t.notMatch(answer.body, "planted");
  isFaulty = false;
  t.equal((await send(`http://${address}/data.json`, {})).status, 200);
});

async function responseOf(sent: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
  sent.once("response", resolve);
  return await promise;
}

/** Opens the events. Returns a function that resolves to the next chunk. */
async function openEvents(t: Test, address: string): Promise<() => Promise<string>> {
  const response = await responseOf(request(`http://${address}/events`).end());
  t.equal(response.headers["content-type"], "text/event-stream");
  response.setEncoding("utf8").on("error", () => {});
  return async () => String((await once(response, "data"))[0]);
}

test("tells open pages of changes, at most once in a second, and that the server is alive", async (t) => {
  const clock = new FakeClock();
  const server = await start(t, clock);
  const next = await openEvents(t, server.address);
  t.equal(await next(), ": open\n\n");
  for (let i = 0; i < 3; i++) server.notify();
  t.same(clock.delays, [1_000, 15_000], "one notification for three changes");
  const changed = next();
  clock.advance(1_000);
  t.equal(await changed, "data: changed\n\n");
  const alive = next();
  clock.advance(14_000);
  t.equal(await alive, ": alive\n\n");
  t.same(clock.delays, [15_000]);
});

test("stops its timers, and ends the events, when it closes", async (t) => {
  const clock = new FakeClock();
  const server = await startPageServer({
    flag: "--ui", listen: "127.0.0.1:0", page: async () => "", data: async () => "", clock,
  });
  const next = await openEvents(t, server.address);
  await next();
  server.notify();
  await server.close();
  t.same(clock.delays, []);
  const idle = await start(t, clock);
  await idle.close();
});

test("the heartbeat stops when no page is open", async (t) => {
  const clock = new FakeClock();
  const server = await start(t, clock);
  const events = request(`http://${server.address}/events`).end();
  events.on("error", () => {});
  const response = await responseOf(events);
  response.on("error", () => {});
  await once(response, "data");
  events.destroy();
  // A request after the end of the other connection: the server has then seen the end.
  while (clock.delays.length > 0) {
    await send(`http://${server.address}/`, {});
    clock.advance(15_000);
  }
  t.same(clock.delays, []);
});

test("listens only on loopback", async (t) => {
  const options = { flag: "--ui", page: async () => "", data: async () => "" };
  await t.rejects(startPageServer({ ...options, listen: "0.0.0.0:0" }), {
    code: "ERR_CONFIG_ADDRESS",
    message: "--ui: 0.0.0.0:0 is not a loopback address; the page has no login, so use 127.0.0.1:PORT and kubectl "
      + "port-forward",
  });
});
