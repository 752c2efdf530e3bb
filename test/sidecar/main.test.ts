import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { test, type Test } from "tap";
import { createLogger } from "../../shared/server/logger.ts";
import { runSidecar } from "../../sidecar/main.ts";
import { FakeClock } from "./fake-clock.ts";
import { get, loadedSource, SETTINGS, start, TOKEN } from "./running-sidecar.ts";

test("starts, serves credentials, reports readiness and stops", async (t) => {
  const { sidecar, source, sts, logLines } = await start(t);
  const answer = await get(sidecar.address, "/v1/credentials/selectors/team-a");
  t.match(answer, { status: 200, headers: { "content-type": "application/json" }, body: /"AccountId":"111111111111"/ });
  t.equal((await get(sidecar.healthAddress, "/readyz")).status, 200);
  t.match(
    (await get(sidecar.healthAddress, "/metrics")).body,
    'ack_role_resolver_sidecar_sts_calls_total{action="AssumeRole",code="ok"} 1',
  );
  t.match(await get(sidecar.address, "/v1/credentials", { authorization: TOKEN, host: "evil.example" }), {
    status: 403,
  });

  source.status = { loaded: true, lastSyncMs: performance.now() - 300_001, fault: "the cluster does not answer" };
  t.match(await get(sidecar.healthAddress, "/readyz"), {
    status: 503, body: /^the inventory is 30\d s old \(maximum: 300 s\): the cluster does not answer\n$/,
  });
  t.equal(
    (await get(sidecar.address, "/v1/credentials/selectors/team-a")).status,
    200,
    "the sidecar still issues credentials if its inventory is stale",
  );
  source.status = { loaded: false, lastSyncMs: null, fault: null };
  t.match(await get(sidecar.healthAddress, "/readyz"), { status: 503, body: "the inventory is not loaded yet\n" });
  t.match(await get(sidecar.address, "/v1/credentials"), { status: 503, body: /ERR_NOT_READY/ });
  t.equal((await get(sidecar.healthAddress, "/healthz")).status, 200);

  const metrics = (await get(sidecar.healthAddress, "/metrics")).body;
  t.notMatch([...logLines, metrics].join("\n"), /planted/);
  t.equal(sts.calls.filter(({ action }) => action === "AssumeRole").length, 1);
  await sidecar.close();
  await t.rejects(get(sidecar.address, "/v1/credentials"), { code: "ECONNREFUSED" });
});

test("logs an unknown --group at startup and suggests a known group", async (t) => {
  const { logLines } = await start(t, {
    group: ["s3.services.k8s.aws", "dynamobd.services.k8s.aws", "s3.service.k8s.aws", "new.example.com"],
  });
  const warnings = logLines
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter(({ level }) => level === "warn");
  t.match(warnings, [
    { group: "dynamobd.services.k8s.aws", suggestion: "dynamodb.services.k8s.aws" },
    { group: "s3.service.k8s.aws", suggestion: "s3.services.k8s.aws" },
    { group: "new.example.com" },
  ]);
  t.equal(warnings.length, 3);
});

test("is not ready and returns the reason if the base identity is unavailable", async (t) => {
  const { sidecar } = await start(t, {}, { baseProvider: () => Promise.reject(new Error("none")) });
  t.match(await get(sidecar.healthAddress, "/readyz"), {
    status: 503,
    body: /^The sidecar has no credentials for its base identity \(Error\)\. /,
  });
  t.match(await get(sidecar.address, "/v1/credentials"), { status: 503, body: /ERR_BASE_UNAVAILABLE/ });
});

test("listens on 127.0.0.1 if --listen is localhost", async (t) => {
  const { sidecar } = await start(t, { listen: "LocalHost:0" });
  t.match(sidecar.address, /^127\.0\.0\.1:\d+$/);
  t.equal(
    (
      await get(sidecar.address, "/v1/credentials", {
        authorization: TOKEN,
        host: sidecar.address.replace("127.0.0.1", "localhost"),
      })
    ).status,
    200,
  );
});

test("rejects an invalid setting and names its flag", async (t) => {
  for (const listen of ["0.0.0.0:0", "192.0.2.1:9780", "[::]:0", "example.com:1"]) {
    await t.rejects(
      start(t, { listen }),
      { code: "ERR_CONFIG_ADDRESS", message: new RegExp(`^--listen .*only on loopback; use 127\\.0\\.0\\.1:PORT`) },
      listen,
    );
  }
  await t.rejects(start(t, { listen: "9780" }), { code: "ERR_CONFIG_ADDRESS", message: /^--listen: / });
  await t.rejects(start(t, { base: "identity-only", kind: ["bucket", "DBInstance.rds.services.k8s.aws"] }), {
    code: "ERR_CONFIG_INVALID",
    message: [
      '--kind: "bucket" is not KIND, KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws',
      "--kind: DBInstance.rds.services.k8s.aws is not in any --group (s3.services.k8s.aws)",
    ].join("\n"),
  });
  await t.rejects(start(t, { stsEndpoint: "http://sts.example" }), {
    code: "ERR_CONFIG_INVALID",
    message: /^--sts-endpoint must be/,
  });
  await t.rejects(start(t, { stsEndpoint: null }), { code: "ERR_CONFIG_INVALID", message: /^--region is required/ });
  const { sidecar } = await start(t, { kind: ["Bucket", "Bucket.s3.services.k8s.aws"] });
  await t.rejects(start(t, { listen: sidecar.address }), {
    code: "ERR_CONFIG_PORT_IN_USE",
    message: new RegExp(`^--listen ${sidecar.address}: the port is in use`),
  });
  await t.rejects(start(t, { healthListen: sidecar.healthAddress }), {
    code: "ERR_CONFIG_PORT_IN_USE",
    message: /^--health-listen /,
  });
  const own = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:9780/v1/credentials" };
  const { baseProvider: _chain, ...runtime } = {
    source: loadedSource(),
    log: createLogger({ name: "sidecar", level: "silent" }),
    environment: own,
    baseProvider: null,
  };
  await t.rejects(runSidecar({ ...SETTINGS, listen: "127.0.0.1:9780", region: "eu-west-1" }, runtime), {
    code: "ERR_CONFIG_INVALID",
    message: /names this sidecar's own address/,
  });
});

/** Sends raw bytes, and returns all bytes that the sidecar sends until it closes the connection. */
async function raw(t: Test, address: string, bytes: string): Promise<string> {
  const socket = await open(t, address);
  socket.write(bytes);
  return (await socket.setEncoding("utf8").toArray()).join("");
}

async function open(t: Test, address: string): Promise<Socket> {
  const socket = connect(Number(address.split(":")[1]), "127.0.0.1");
  t.teardown(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

test("rejects requests that are too large, too slow, not HTTP, or have two hosts or an absolute URL", async (t) => {
  const { sidecar } = await start(t);
  const send = (...lines: string[]): Promise<string> =>
    raw(t, sidecar.address, `${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`);
  const host = `Host: ${sidecar.address}`;
  const authorization = `Authorization: ${TOKEN}`;
  t.match(await send("GET /v1/credentials HTTP/1.1", host, authorization), /^HTTP\/1\.1 200 /);
  t.match(
    await send("GET /v1/credentials HTTP/1.1", host, `x: ${"x".repeat(8 * 1024)}`),
    /^HTTP\/1\.1 431 [^]*Content-Type: application\/json\r\n[^]*"code":"ERR_REQUEST_MALFORMED"/,
  );
  t.match(await send("hello"), /^HTTP\/1\.1 400 [^]*"Message":"The request is not HTTP\/1\.1\."/);
  t.match(
    await send("GET /v1/credentials HTTP/1.1", authorization),
    /^HTTP\/1\.1 40[03] /,
    "a request that has no Host header",
  );
  t.match(
    await send("GET /v1/credentials HTTP/1.1", host, "Host: evil.example", authorization),
    /^HTTP\/1\.1 40[03] /,
    "a request that has two Host headers",
  );
  t.match(
    await send(`GET http://${sidecar.address}/v1/credentials HTTP/1.1`, host, authorization),
    /^HTTP\/1\.1 403 /,
    "the absolute form that clients send to proxies",
  );
  t.match(
    await raw(t, sidecar.address, `GET /v1/credentials HTTP/1.1\r\n${host}\r\n`),
    /^HTTP\/1\.1 408 [^]*"Message":"The headers took longer than 2 s, or the whole request took longer than 5 s\."/,
    "incomplete headers",
  );
  t.match(
    await send("GET /v1/credentials HTTP/1.1", host, "Expect: a-miracle"),
    /^HTTP\/1\.1 401 /,
    "an Expect header does not bypass the token",
  );
  const metrics = (await get(sidecar.healthAddress, "/metrics")).body;
  for (const code of [400, 408, 431])
    t.match(
      metrics,
      new RegExp(`ack_role_resolver_sidecar_requests_total\\{path="unparsed",code="${code}"\\} [1-9]`),
      `${code} is counted`,
    );
});

test("responds with 408 if the body of a request is incomplete after 5 s", async (t) => {
  const { sidecar } = await start(t);
  const type = "Content-Type: application/x-www-form-urlencoded";
  const head = `POST /sts HTTP/1.1\r\nHost: ${sidecar.address}\r\n${type}\r\nContent-Length: 100\r\n\r\n`;
  t.match(
    await raw(t, sidecar.address, `${head}Action=`),
    /^HTTP\/1\.1 408 [^]*the whole request took longer than 5 s\./,
  );
});

test("returns 503 beyond 512 connections that wait for a response, and serves these connections", async (t) => {
  const release = Promise.withResolvers<null>();
  // Requests that wait never time out, because the fake clock stands still.
  const { sidecar } = await start(t, {}, { clock: new FakeClock(Date.now()) }, ({ action }) => (
    action === "AssumeRole" ? release.promise : null
  ));
  const headers = `HTTP/1.1\r\nHost: ${sidecar.address}\r\nAuthorization: ${TOKEN}\r\nConnection: close\r\n\r\n`;
  const sockets = await Promise.all(Array.from({ length: 512 }, () => open(t, sidecar.address)));
  const received = Promise.withResolvers<void>();
  let requests = 0;
  // Counts only GET requests, because the STS emulator in this process also receives requests (POST).
  const count = (event: unknown): void => {
    const request = typeof event === "object" && event !== null && "request" in event ? event.request : null;
    if (!(request instanceof IncomingMessage) || request.method !== "GET") return;
    if (++requests === sockets.length) received.resolve();
  };
  subscribe("http.server.request.start", count);
  t.teardown(() => unsubscribe("http.server.request.start", count));
  for (const socket of sockets) socket.write(`GET /v1/credentials/selectors/team-a ${headers}`);
  await received.promise;
  t.match(
    await raw(t, sidecar.address, `GET /v1/credentials ${headers}`),
    new RegExp(
      [
        /^HTTP\/1\.1 503 Service Unavailable\r\n[^]*connection: close\r\n/,
        /[^]*retry-after: 1\r\n[^]*content-type: application\/json\r\n[^]*"code":"ERR_REQUEST_CONNECTIONS"/,
      ].map(({ source }) => source).join(""),
    ),
  );
  const sts = `POST /sts HTTP/1.1\r\nHost: ${sidecar.address}\r\nContent-Length: 0\r\n\r\n`;
  t.match(
    await raw(t, sidecar.address, sts),
    /^HTTP\/1\.1 503 [^]*<Code>ServiceUnavailable<\/Code>/,
    "the response on the STS path is an STS error",
  );
  release.resolve(null);
  const responses = await Promise.all(sockets.map((socket) => socket.setEncoding("utf8").toArray()));
  t.ok(responses.every((parts) => parts.join("").startsWith("HTTP/1.1 200 ")));
});
