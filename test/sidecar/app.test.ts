import { once } from "node:events";
import { connect } from "node:net";
import { promisify } from "node:util";
import { test } from "tap";
import { ResolverError } from "../../shared/formats/errors.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";
import type { Credentials } from "../../sidecar/credentials/session.ts";
import { BASE_SECRET, HEADERS, ROLE_A, ROLE_SECRET, SidecarUnderTest } from "./sidecar-under-test.ts";

test("responds within 850 ms if STS is slow, and returns the late session to the next request", async (t) => {
  const late = Promise.withResolvers<Credentials>();
  const called = Promise.withResolvers<null>();
  const sidecar = new SidecarUnderTest({
    assumeRole: () => {
      called.resolve(null);
      return late.promise;
    },
  });
  const first = sidecar.get("/v1/credentials/selectors/team-a");
  await called.promise;
  let responded = false;
  void first.then(() => (responded = true));
  await sidecar.clock.advance(849);
  t.notOk(responded, "the request waits for STS until the time limit");
  await sidecar.clock.advance(1);
  t.match(await first.then((answer) => [answer.statusCode, answer.headers["retry-after"], answer.json()]), [
    503,
    "1",
    { code: "ERR_STS_UNAVAILABLE", message: /did not respond within 850 ms/ },
  ]);
  late.resolve(sidecar.session({ roleARN: ROLE_A }));
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.equal(sidecar.stsCalls.length, 1);
});

test("returns 503 if STS fails, and reloads the base credentials if STS rejects them", async (t) => {
  let bases = 0;
  const faults: ResolverError[] = [
    new ResolverError("ERR_BASE_UNAVAILABLE", "expired"),
    new ResolverError("ERR_STS_REFUSED", "AccessDenied"),
  ];
  const sidecar = new SidecarUnderTest({
    assumeRole: () => Promise.reject(faults.shift() ?? new Error("none left")),
    base: async () => {
      bases += 1;
      return { accessKeyID: "ASIA", secretAccessKey: BASE_SECRET, sessionToken: "t", expirationMs: null };
    },
  });
  t.match(await sidecar.get("/v1/credentials/selectors/team-a").then((answer) => [answer.statusCode, answer.json()]), [
    503,
    { code: "ERR_BASE_UNAVAILABLE" },
  ]);
  await sidecar.clock.advance(1_000);
  t.match(await sidecar.get("/v1/credentials/selectors/team-a").then((answer) => [answer.statusCode, answer.json()]), [
    503,
    { code: "ERR_STS_REFUSED" },
  ]);
  t.equal(bases, 2);
});

test("the response and the log do not contain the message of an unexpected error", async (t) => {
  const sidecar = new SidecarUnderTest({ assumeRole: () => Promise.reject(new TypeError(`quoted ${ROLE_SECRET}`)) });
  const answer = await sidecar.get("/v1/credentials/selectors/team-a");
  t.match(
    [answer.statusCode, answer.json()],
    [500, { code: "ERR_INTERNAL", message: "The sidecar failed unexpectedly. See its log for details." }],
  );
  t.match(JSON.parse(sidecar.logLines.at(-1) ?? ""), {
    level: "error",
    msg: "request failed",
    fault: "TypeError",
    stack: [/app\.test\.ts/],
  });
  t.notMatch(sidecar.logLines.join(""), ROLE_SECRET);
});

test("logs each rejected request as one line that has a constant message and fields", async (t) => {
  const sidecar = new SidecarUnderTest();
  await sidecar.get("/v1/credentials/namespaces/missing?label=a=b");
  t.equal(sidecar.logLines.length, 1);
  t.match(JSON.parse(sidecar.logLines[0] ?? ""), {
    level: "warn",
    msg: "request rejected",
    code: "ERR_NAMESPACE_UNKNOWN",
    status: 404,
    path: "/v1/credentials/namespaces/:namespace",
    requested: { namespace: "missing", label: "a=b" },
    selectors: [],
    reason: 'Namespace "missing" is not in the inventory. Create the Namespace, or correct the name.',
  });
  await sidecar.get("/v1/credentials/selectors/team-a");
  const count = sidecar.logLines.length;
  t.equal(count, 1 + sidecar.auditLines.length, "a successful request is only in the audit log");
  await sidecar.get("/v1/credentials/namespaces/missing?label=a=b");
  t.equal(sidecar.logLines.length, count, "a repeated rejection is not logged");
  await sidecar.get("/v1/credential?planted=x");
  t.match(JSON.parse(sidecar.logLines.at(-1) ?? ""), {
    code: "ERR_REQUEST_NOT_FOUND",
    path: "unknown",
    requested: { path: "/v1/credential" },
  });
  await sidecar.get("/v1/credentials/selectors/team-a?planted=x", { ...HEADERS, authorization: "planted" });
  const unauthenticated: unknown = JSON.parse(sidecar.logLines.at(-1) ?? "");
  t.match(unauthenticated, { code: "ERR_TOKEN_INVALID", path: "/v1/credentials/selectors/:name" });
  t.notMatch(JSON.stringify(unauthenticated), /requested|team-a|planted/, "the log line has no details of the request");
});

test("exports metrics of responses, cache lookups and session expirations", async (t) => {
  const sidecar = new SidecarUnderTest();
  await sidecar.get("/v1/credentials/selectors/team-a");
  await sidecar.get("/v1/credentials/selectors/team-a");
  await sidecar.get("/v1/credentials/selectors/missing");
  await sidecar.get("/somewhere/else");
  await sidecar.clock.advance(60_000);
  const metrics = await sidecar.registry.metrics();
  for (const line of [
    'requests_total{path="/v1/credentials/selectors/:name",code="200"} 2',
    'requests_total{path="/v1/credentials/selectors/:name",code="404"} 1',
    'requests_total{path="unknown",code="404"} 1',
    'cache_lookups_total{result="miss"} 1',
    'cache_lookups_total{result="hit"} 1',
    `credentials_expiry_seconds{role="${ROLE_A}"} 3540`,
  ])
    t.match(metrics, `ack_role_resolver_sidecar_${line}`);
});

test("destroys the connection of a rejected request if the client does not close the connection", async (t) => {
  const { app, clock } = new SidecarUnderTest();
  await app.listen({ host: "127.0.0.1", port: 0 });
  t.teardown(() => app.close());
  const open = promisify(app.server.getConnections.bind(app.server));
  const socket = connect({ host: "127.0.0.1", port: boundAddress(app.server).port, allowHalfOpen: true }).resume();
  t.teardown(() => socket.destroy());
  socket.write("hello\r\n\r\n");
  await once(socket, "end");
  t.equal(await open(), 1, "the client can still read the response");
  await clock.advance(500);
  while ((await open()) > 0) await clock.advance(0);
});
