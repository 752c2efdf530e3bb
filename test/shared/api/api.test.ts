import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { createServer } from "node:net";
import { type Test, test } from "tap";
import { bodyText, httpKubernetesAPI, retryAfterMs } from "../../../shared/api/api.ts";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { FakeAPIServer } from "./fake-api-server.ts";

async function fakeServer(t: Test): Promise<FakeAPIServer> {
  const server = new FakeAPIServer();
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

/** Never aborted: a time limit would start when the file is loaded, long before its tests run beside other files. */
const { signal } = new AbortController();

test("sends the path and headers of the connection and the body of the request", async (t) => {
  const server = await fakeServer(t);
  const api = httpKubernetesAPI(() => Promise.resolve({
    server: `${server.url}/clusters/c1/`, options: { headers: { authorization: "Bearer x" } },
  }));
  const answer = api.request({
    path: "/api/v1/namespaces/a?x=1", method: "PATCH", body: '{"é":1}', contentType: "application/merge-patch+json",
    signal,
  });
  const pending = await server.next();
  t.match(pending, {
    method: "PATCH",
    path: "/clusters/c1/api/v1/namespaces/a",
    query: { x: "1" },
    body: '{"é":1}',
    headers: {
      authorization: "Bearer x", accept: "application/json", "content-type": "application/merge-patch+json",
      "content-length": "8",
    },
  });
  pending.answer(409, { message: "é" }, { "x-one": "1" });
  const response = await answer;
  t.match(response, { status: 409, headers: { "x-one": "1" } });
  t.equal(await bodyText(response), '{"message":"é"}');
});

test("reads the connection before each request, and reports a 401 response to the connector", async (t) => {
  const server = await fakeServer(t);
  const connects: boolean[] = [];
  const api = httpKubernetesAPI((unauthorized) => {
    connects.push(unauthorized);
    const headers = { authorization: `Bearer ${connects.length}` };
    return Promise.resolve({ server: server.url, options: { headers } });
  });
  const authorizations: unknown[] = [];
  for (const status of [200, 401, 200, 200]) {
    const answer = api.request({ path: "/", signal });
    const pending = await server.next();
    authorizations.push(pending.headers.authorization);
    pending.answer(status, "");
    await bodyText(await answer);
  }
  t.same(connects, [false, false, true, false]);
  t.same(authorizations, ["Bearer 1", "Bearer 2", "Bearer 3", "Bearer 4"]);
});

test("rejects if the server is unreachable or the request is aborted", async (t) => {
  const server = await fakeServer(t);
  const stopped = new FakeAPIServer();
  await stopped.start();
  const { api, url } = stopped;
  await t.rejects(api.request({ path: "/", signal: AbortSignal.abort() }), { name: "AbortError" });
  await stopped.stop();
  const unreachable = httpKubernetesAPI(() => Promise.resolve({ server: url, options: {} }));
  await t.rejects(unreachable.request({ path: "/", signal }), { code: /^ECONN(?:REFUSED|RESET)$/ });
  const abort = new AbortController();
  const answer = server.api.request({ path: "/", signal: abort.signal });
  await server.next();
  abort.abort();
  await t.rejects(answer, { name: "AbortError" });
});

test("parses Retry-After as a number of seconds or a date, and ignores other values", async (t) => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  t.equal(retryAfterMs({ "retry-after": "3" }, nowMs), 3000);
  t.equal(retryAfterMs({ "retry-after": "Thu, 01 Jan 2026 00:00:05 GMT" }, nowMs), 5000);
  t.equal(retryAfterMs({ "retry-after": "Thu, 01 Jan 2025 00:00:05 GMT" }, nowMs), 0);
  t.equal(retryAfterMs({ "retry-after": "86400" }, nowMs), 60_000);
  t.equal(retryAfterMs({ "retry-after": "soon" }, nowMs), null);
  t.equal(retryAfterMs({}, nowMs), null);
});

test("rejects if the server accepts the TCP connection but does not complete the TLS handshake", async (t) => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  const connection = { server: `https://127.0.0.1:${boundAddress(server).port}`, options: { agent: false } };
  const api = httpKubernetesAPI(() => Promise.resolve(connection), 50);
  await t.rejects(api.request({ path: "/", signal }), { message: "no connection to 127.0.0.1 within 0.05 s" });
});

test("does not limit the time of a response after the connection is open", async (t) => {
  const server = await fakeServer(t);
  const api = httpKubernetesAPI(() => Promise.resolve({ server: server.url, options: { agent: false } }), 50);
  const answer = api.request({ path: "/", signal });
  (await server.next()).answer(200, "");
  const response = await answer;
  t.ok(response.body instanceof IncomingMessage && response.body.socket.timeout === 0, "the socket has no timeout");
  await bodyText(response);
});
