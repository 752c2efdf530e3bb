// A repeated request is answered past the routes. It must get the same answer, after the same checks.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { type Test, test } from "tap";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { send } from "../../loopback-request.ts";
import { namespaceObject, put, removal, selectorObject } from "../../shared/objects.ts";
import { HOUR, MINUTE } from "../fake-sts.ts";
import { HEADERS, ROLE_A, SCOPED, type Setup, SidecarUnderTest, TEAM_A } from "../sidecar-under-test.ts";

const SELECTOR = "/v1/credentials/selectors/team-a";
const LINES = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`);

/** Sends one request after the other on the same connection. */
class Connection {
  readonly #socket: Socket;

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1").setEncoding("utf8");
  }

  async status(lines: readonly string[], path = SELECTOR, method = "GET"): Promise<number> {
    this.#socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    let text = "";
    while (!isWhole(text)) text += String((await once(this.#socket, "data"))[0]);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
  }

  end(): void {
    this.#socket.end();
  }
}

function isWhole(response: string): boolean {
  const [headers = "", body] = response.split("\r\n\r\n");
  return body?.length === Number(/content-length: (\d+)/i.exec(headers)?.[1]);
}

/** A sidecar that listens, and the paths that its framework has served. */
class Listening {
  readonly sidecar: SidecarUnderTest;
  readonly served: string[] = [];

  constructor(setup: Setup) {
    this.sidecar = new SidecarUnderTest(setup);
    this.sidecar.app.addHook("onSend", (request, _reply, payload, done) => {
      this.served.push(request.url);
      done(null, payload);
    });
  }

  static async start(t: Test, setup: Setup = {}): Promise<Listening> {
    const listening = new Listening(setup);
    await listening.sidecar.app.listen({ host: "127.0.0.1", port: 0 });
    t.teardown(() => listening.sidecar.app.close());
    return listening;
  }

  get port(): number {
    return boundAddress(this.sidecar.app.server).port;
  }

  /** Sends a request on a new connection. Returns the status, and whether the framework has served it. */
  async get(path = SELECTOR, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<string> {
    const before = this.served.length;
    const url = `http://127.0.0.1:${this.port}${path}`;
    const { status } = await send(url, { method, headers: { ...HEADERS, ...headers } });
    return this.served.length === before ? `${status} at once` : `${status}`;
  }

  /** Returns the whole response to a request with these header lines, but for its date. */
  async exchange(lines: readonly string[], path = SELECTOR): Promise<string> {
    const socket = connect(this.port, "127.0.0.1").setEncoding("utf8");
    socket.write(`GET ${path} HTTP/1.1\r\n${[...lines, "connection: close"].join("\r\n")}\r\n\r\n`);
    return (await socket.toArray()).join("").replace(/\r\nDate: [^\r]*/i, "");
  }
}

test("gives a repeated request the same response, log lines and metrics at once", async (t) => {
  const listening = await Listening.start(t);
  const { sidecar, served } = listening;
  const first = await listening.exchange(LINES);
  t.match(first, /^HTTP\/1\.1 200 OK\r\ncontent-type: application\/json\r\ncache-control: no-store\r\n/);
  t.equal(served.length, 1);
  for (let i = 0; i < 3; i++) t.equal(await listening.exchange(LINES), first);
  t.equal(served.length, 1);
  t.equal(sidecar.auditLines.length, 2, "repeats have no lines");
  const metrics = await sidecar.registry.metrics();
  for (const line of [
    'requests_total{path="/v1/credentials/selectors/:name",code="200"} 4',
    'request_duration_seconds_count{path="/v1/credentials/selectors/:name"} 4',
    'cache_lookups_total{result="miss"} 1', 'cache_lookups_total{result="hit"} 3',
  ]) t.match(metrics, `ack_role_resolver_sidecar_${line}`);
});

test("logs the first request of each path, with its own parameters", async (t) => {
  const listening = await started(t);
  const { sidecar } = listening;
  const namespace = "/v1/credentials/namespaces/team-a";
  const kind = `${namespace}?kind=Bucket.s3.services.k8s.aws`;
  for (const path of [namespace, kind, namespace, kind]) await listening.get(path);
  t.equal(await listening.get(kind), "200 at once");
  t.match(sidecar.auditLines.slice(-2).map(({ path, requested }) => [path, requested]), [
    ["/v1/credentials/namespaces/:namespace", { namespace: "team-a" }],
    ["/v1/credentials/namespaces/:namespace", { namespace: "team-a", kind: "Bucket.s3.services.k8s.aws" }],
  ]);
  sidecar.token.rotate("another-planted-token-0123456789");
  await sidecar.clock.advance(31 * MINUTE);
  t.equal(await listening.get(kind), "401");
  const authorization = "another-planted-token-0123456789";
  for (const path of [kind, kind]) await listening.get(path, { authorization });
  t.match(sidecar.auditLines.at(-1), { requested: { kind: "Bucket.s3.services.k8s.aws" }, repeats: 2 });
});

interface Started extends Pick<Listening, "sidecar"> {
  readonly get: Listening["get"];
}

/** Starts a sidecar whose answer to a request for the selector is known. */
async function started(t: Test, setup?: Setup): Promise<Started> {
  const listening = await Listening.start(t, setup);
  t.equal(await listening.get(), "200");
  t.equal(await listening.get(), "200 at once");
  return { sidecar: listening.sidecar, get: (...request) => listening.get(...request) };
}

test("checks the token and the headers of a repeated request", async (t) => {
  const { get, sidecar } = await started(t);
  for (const [headers, status] of [
    [{ authorization: "x" }, "401"], [{ host: "evil.example" }, "403"], [{ origin: "null" }, "403"],
    [{ "x-forwarded-for": "127.0.0.1" }, "403"], [{ via: "1.1 proxy" }, "403"],
  ] as const) t.equal(await get(SELECTOR, headers), status, JSON.stringify(headers));
  for (const method of ["HEAD", "POST", "DELETE", "OPTIONS"]) t.equal(await get(SELECTOR, {}, method), "405", method);
  for (const path of [`${SELECTOR}?x=1`, `${SELECTOR}/`]) t.match(await get(path), /^40[04]$/, path);
  const metrics = await sidecar.registry.metrics();
  t.match(metrics, 'auth_failures_total{kind="token"} 1', "is counted once");
  t.match(metrics, 'auth_failures_total{kind="host"} 4');
});

test("checks each request of a connection that differs from the last accepted one", async (t) => {
  const listening = await Listening.start(t);
  const { sidecar } = listening;
  const connection = new Connection(listening.port);
  t.teardown(() => connection.end());
  for (let i = 0; i < 3; i++) t.equal(await connection.status(LINES), 200);
  const [host = "", token = ""] = LINES;
  for (const [lines, status] of [
    [[host, "authorization: x"], 401], [[host], 401], [["host: evil.example", token], 403],
    [[...LINES, "origin: null"], 403], [[...LINES, "via: 1.1 proxy"], 403], [[...LINES, "host: evil.example"], 403],
    [[host, "origin: null"], 403],
  ] as const) {
    t.equal(await connection.status(lines), status, lines.join());
    t.equal(await connection.status(LINES), 200, "the client may go on");
  }
  t.equal(await connection.status(LINES, `http://evil.example${SELECTOR}`), 403);
  t.equal(await connection.status(LINES, SELECTOR, "POST"), 405);
  sidecar.token.rotate("another-planted-token-0123456789");
  t.equal(await connection.status(LINES), 200, "the previous token is valid for a minute");
  await sidecar.clock.advance(MINUTE);
  t.equal(await connection.status(LINES), 401);
  const renewed = [host, "authorization: another-planted-token-0123456789"];
  for (let i = 0; i < 2; i++) t.equal(await connection.status(renewed), 200);
  t.equal(await connection.status(LINES), 401);
});

test("rejects a repeated request with two Host headers, or without any", async (t) => {
  const listening = await Listening.start(t);
  for (let i = 0; i < 2; i++) t.match(await listening.exchange(LINES), /^HTTP\/1\.1 200/);
  t.match(await listening.exchange([...LINES, "host: evil.example"]), /^HTTP\/1\.1 403/);
  t.match(await listening.exchange(LINES.slice(1)), /^HTTP\/1\.1 400/);
});

test("decides again after each change of the inventory", async (t) => {
  const { get, sidecar } = await started(t);
  sidecar.inventory.apply([put(namespaceObject("other"))]);
  t.equal(await get(), "200");
  t.equal(await get(), "200 at once");
  sidecar.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.equal(await get(), "404");
  t.equal(await get(), "404", "a denial is never answered at once");
});

test("does not answer with credentials that expire, and then answers with the new ones", async (t) => {
  const { get, sidecar } = await started(t);
  sidecar.clock.jump(HOUR);
  t.equal(await get(), "200");
  t.equal(sidecar.stsCalls.length, 2);
  t.equal(await get(), "200", "the base identity has been renewed too");
  t.equal(await get(), "200 at once");
});

test("answers at once for the namespace of a sidecar, but not for the base identity", async (t) => {
  const scoped = await Listening.start(t, SCOPED);
  t.same([await scoped.get("/v1/credentials"), await scoped.get("/v1/credentials")], ["200", "200 at once"]);
  t.equal(scoped.sidecar.stsCalls[0]?.roleARN, ROLE_A);
  const base = await Listening.start(t);
  t.same([await base.get("/v1/credentials"), await base.get("/v1/credentials")], ["200", "200"]);
});

interface Slow {
  readonly sidecar: SidecarUnderTest;
  /** Sends a request without waiting for the response to an earlier one. */
  readonly request: (path: string) => void;
  readonly socket: Socket;
  /** Lets STS return the session for which the first request of the socket waits. */
  readonly release: () => void;
}

/** Starts a sidecar whose answer to a request for the selector is known, and a connection that waits for STS. */
async function waiting(t: Test): Promise<Slow> {
  const [called, pending] = [Promise.withResolvers<null>(), Promise.withResolvers<Credentials>()];
  const sessions = new SidecarUnderTest();
  const slow = { arn: "arn:aws:iam::111111111111:role/slow", namespaceSelector: { names: ["team-b"] } };
  const { sidecar } = await started(t, {
    objects: [...["team-a", "team-b"].map((name) => namespaceObject(name)), TEAM_A, selectorObject("slow", slow)],
    assumeRole: async (request) => {
      if (request.roleARN === ROLE_A) return sessions.session(request);
      called.resolve(null);
      return pending.promise;
    },
  });
  const socket = connect(boundAddress(sidecar.app.server).port, "127.0.0.1").setEncoding("utf8");
  const request = (path: string): void => {
    socket.write(`GET ${path} HTTP/1.1\r\n${LINES.join("\r\n")}\r\n\r\n`);
  };
  request("/v1/credentials/selectors/slow");
  await called.promise;
  return { sidecar, socket, request, release: () => pending.resolve(sessions.session({ roleARN: slow.arn })) };
}

test("closes the connection of a repeated request while the server closes", async (t) => {
  const { sidecar, socket, request, release } = await waiting(t);
  const closed = sidecar.app.close();
  while (sidecar.app.server.listening) await turn();
  release();
  t.match(await once(socket, "data"), [/^HTTP\/1\.1 200 /]);
  request(SELECTOR);
  t.match((await socket.toArray()).join(""), /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*connection: close\r\n/i);
  await closed;
});

test("answers no repeated request on a connection that is over the limit, such as a pipelined one", async (t) => {
  const { sidecar, socket, request, release } = await waiting(t);
  const count = /requests_total\{path="\/v1\/credentials\/selectors\/:name",code="200"\} \d/;
  const issued = async (): Promise<unknown> => count.exec(await sidecar.registry.metrics())?.[0];
  const before = await issued();
  request(SELECTOR);
  await once(socket, "close");
  t.match(before, / 2$/);
  t.equal(await issued(), before);
  release();
});
