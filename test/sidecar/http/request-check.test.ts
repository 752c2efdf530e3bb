import { test } from "tap";
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
