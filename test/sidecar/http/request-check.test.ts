import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "tap";
import { faultOfRequest, TokenCheck } from "../../../sidecar/http/request-check.ts";
import { Attack, withHeaders } from "../../bypass/attack.ts";
import { HEADERS, SidecarUnderTest, TOKEN } from "../sidecar-under-test.ts";

const sidecar = new SidecarUnderTest();
const attack = new Attack();

async function status(headers: Readonly<Record<string, string>>, path = "/v1/credentials"): Promise<string> {
  const answer = await sidecar.get(path, { ...HEADERS, ...headers });
  return answer.statusCode === 200 ? "200" : `${answer.statusCode} ${answer.json<{ code: string }>().code}`;
}

test("accepts only a loopback address with the listener's port as the Host header", async (t) => {
  for (const host of ["127.0.0.1:9780", "localhost:9780", "LOCALHOST:9780", "[::1]:9780"]) {
    t.equal(await status({ host }), "200", host);
  }
  for (const host of [
    "evil.example", "evil.example:9780", "127.0.0.1", "127.0.0.1:9781", "127.0.0.1:97800", "localhost.:9780",
    "localhost", "127.0.0.1.nip.io:9780", "127.0.0.2:9780", "127.1:9780", "2130706433:9780", "0x7f.1:9780",
    "[::ffff:127.0.0.1]:9780", "::1:9780", "0.0.0.0:9780", "localhost:9780@evil.example",
    "127.0.0.1:9780,evil.example", "169.254.170.23:9780", "",
  ]) {
    t.equal(await status({ host }), "403 ERR_REQUEST_HOST", JSON.stringify(host));
    const answer = await attack.send(await attack.request({ headers: { host } }));
    t.match(answer, { status: 403, code: "AccessDenied" }, `signed for ${host}`);
  }
});

test("rejects a request that has a header of a proxy or browser, such as a form that a web page submits", async (t) => {
  for (const name of [
    "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via", "Origin", "Sec-Fetch-Mode",
    "Sec-Fetch-Site",
  ]) {
    t.equal(await status({ [name]: "null" }), "403 ERR_REQUEST_HOST", name);
    t.equal(await attack.codeAfter(withHeaders({ [name.toLowerCase()]: "127.0.0.1" })), "AccessDenied", name);
  }
  const sent = { "amz-sdk-request": "attempt=1", accept: "application/json", "x-forward": "x" };
  t.equal(await status(sent), "200", "headers that SDKs send are accepted");
});

test("accepts only the bare token, in the Authorization header", async (t) => {
  for (const authorization of [
    "", "x", `Bearer ${TOKEN}`, `${TOKEN},${TOKEN}`, `${TOKEN}x`, TOKEN.slice(1), TOKEN.toUpperCase(),
  ]) t.equal(await status({ authorization }), "401 ERR_TOKEN_INVALID", JSON.stringify(authorization));
  const { host } = HEADERS;
  for (const [path, headers] of [
    ["/v1/credentials", { host }], ["/no/such/path", { host }], [`/v1/credentials?token=${TOKEN}`, { host }],
    ["/v1/credentials", { host, cookie: TOKEN }], ["/v1/credentials", { host, "x-aws-ec2-metadata-token": TOKEN }],
  ] as const) t.equal((await sidecar.get(path, headers)).statusCode, 401, path);
});

test("rejects 10,000 wrong tokens, counts them and logs one line", async (t) => {
  const counted = new SidecarUnderTest();
  for (let i = 0; i < 10_000; i += 500) {
    const wrong = Array.from({ length: 500 }, (_, j) => TOKEN.slice(0, (i + j) % TOKEN.length) + String(i + j));
    const answers = await Promise.all(
      wrong.map((authorization) => counted.get("/v1/credentials", { ...HEADERS, authorization })),
    );
    t.ok(answers.every(({ statusCode }) => statusCode === 401));
  }
  const metrics = await counted.registry.metrics();
  t.match(metrics, 'ack_role_resolver_sidecar_auth_failures_total{kind="token"} 10000');
  t.match(metrics, 'requests_total{path="/v1/credentials",code="401"} 10000');
  t.equal(counted.logLines.length, 1);
});

test("does not keep the previous token valid if it becomes invalid during a check", (t) => {
  const start = 1_000_000;
  for (let beforeMs = -2; beforeMs < 6; beforeMs++) {
    let nowMs = start;
    // Each reading takes a millisecond.
    const clock = { now: () => 0, steady: () => nowMs++, schedule: () => () => {} };
    const token = new TokenCheck(TOKEN, clock);
    token.rotate("another-planted-token-0123456789");
    const socket = new Socket();
    const code = (): string | undefined => {
      const request = new IncomingMessage(socket);
      const headers = Object.entries(HEADERS);
      const rawHeaders = headers.flat();
      Object.assign(request, { method: "GET", url: "/v1/credentials", headers: { ...HEADERS }, rawHeaders });
      return faultOfRequest(request, { listen: { address: { host: "127.0.0.1", port: 9780 } }, token })?.code;
    };
    nowMs = start + 60_000 - beforeMs;
    const first = code();
    nowMs += 3_600_000;
    t.equal(code(), "ERR_TOKEN_INVALID", `${beforeMs} ms before its end: ${first ?? "accepted"}`);
  }
  t.end();
});

test("accepts only the GET method on credential paths", async (t) => {
  for (const method of ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] as const) {
    const answer = await sidecar.app.inject({ method, url: "/v1/credentials", headers: HEADERS });
    t.match([answer.statusCode, answer.headers["allow"]], [405, "GET"], method);
  }
});

test("the log and metrics of all requests in this file contain no secret", async (t) => {
  for (const { logLines, registry } of [sidecar, attack.sidecar]) {
    t.ok(logLines.length > 0);
    t.notMatch([...logLines, await registry.metrics()].join("\n"), /planted|AWS4-HMAC-SHA256 Credential/);
  }
});
