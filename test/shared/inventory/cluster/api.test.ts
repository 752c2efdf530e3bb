import { type Test, test } from "tap";
import { bodyText, httpKubernetesAPI, retryAfterMs } from "../../../../shared/inventory/cluster/api.ts";
import { FakeAPIServer } from "./fake-api-server.ts";

async function fakeServer(t: Test): Promise<FakeAPIServer> {
  const server = new FakeAPIServer();
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

const signal = AbortSignal.timeout(20_000);

test("a request carries the connection's path and headers, and its own body", async (t) => {
  const server = await fakeServer(t);
  const api = httpKubernetesAPI(() => Promise.resolve({ server: `${server.url}/clusters/c1/`, options: { headers: { authorization: "Bearer x" } } }));
  const answer = api.request({ path: "/api/v1/namespaces/a?x=1", method: "PATCH", body: '{"é":1}', contentType: "application/merge-patch+json", signal });
  const held = await server.next();
  t.match(held, {
    method: "PATCH",
    path: "/clusters/c1/api/v1/namespaces/a",
    query: { x: "1" },
    body: '{"é":1}',
    headers: { authorization: "Bearer x", accept: "application/json", "content-type": "application/merge-patch+json", "content-length": "8" },
  });
  held.answer(409, { message: "é" }, { "x-one": "1" });
  const response = await answer;
  t.match(response, { status: 409, headers: { "x-one": "1" } });
  t.equal(await bodyText(response), '{"message":"é"}');
});

test("credentials are asked for before each request, and anew after a 401", async (t) => {
  const server = await fakeServer(t);
  const asked: boolean[] = [];
  const api = httpKubernetesAPI((refused) => {
    asked.push(refused);
    return Promise.resolve({ server: server.url, options: { headers: { authorization: `Bearer ${asked.length}` } } });
  });
  const authorizations: unknown[] = [];
  for (const status of [200, 401, 200, 200]) {
    const answer = api.request({ path: "/", signal });
    const held = await server.next();
    authorizations.push(held.headers.authorization);
    held.answer(status, "");
    await bodyText(await answer);
  }
  t.same(asked, [false, false, true, false]);
  t.same(authorizations, ["Bearer 1", "Bearer 2", "Bearer 3", "Bearer 4"]);
});

test("a server that is not there rejects, and so does an aborted request", async (t) => {
  const server = await fakeServer(t);
  const gone = new FakeAPIServer();
  await gone.start();
  const { api } = gone;
  await api.request({ path: "/", signal: AbortSignal.abort() }).then(() => t.fail("was sent"), (error: unknown) => t.match(error, { name: "AbortError" }));
  const url = gone.url;
  await gone.stop();
  await t.rejects(httpKubernetesAPI(() => Promise.resolve({ server: url, options: {} })).request({ path: "/", signal }), { code: /^ECONN(?:REFUSED|RESET)$/ });
  const abort = new AbortController();
  const held = server.api.request({ path: "/", signal: abort.signal });
  await server.next();
  abort.abort();
  await t.rejects(held, { name: "AbortError" });
});

test("Retry-After in seconds, as a date, and as neither", async (t) => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  t.equal(retryAfterMs({ "retry-after": "3" }, nowMs), 3000);
  t.equal(retryAfterMs({ "retry-after": "Thu, 01 Jan 2026 00:00:05 GMT" }, nowMs), 5000);
  t.equal(retryAfterMs({ "retry-after": "Thu, 01 Jan 2025 00:00:05 GMT" }, nowMs), 0);
  t.equal(retryAfterMs({ "retry-after": "soon" }, nowMs), null);
  t.equal(retryAfterMs({}, nowMs), null);
});
