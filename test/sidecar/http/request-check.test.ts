import { test } from "tap";
import { HEADERS, SidecarUnderTest, TOKEN } from "../sidecar-under-test.ts";

const sidecar = new SidecarUnderTest();

async function status(headers: Readonly<Record<string, string>>): Promise<string> {
  const answer = await sidecar.get("/v1/credentials", { ...HEADERS, ...headers });
  return answer.statusCode === 200 ? "200" : `${answer.statusCode} ${answer.json<{ code: string }>().code}`;
}

test("accepts only a loopback address with the listener's port as the Host header", async (t) => {
  for (const host of ["127.0.0.1:9780", "localhost:9780", "LOCALHOST:9780", "[::1]:9780"]) {
    t.equal(await status({ host }), "200", host);
  }
  const otherHosts = [
    "evil.example",
    "evil.example:9780",
    "127.0.0.1",
    "127.0.0.1:9781",
    "127.0.0.1:97800",
    "localhost.:9780",
    "localhost",
    "127.0.0.1.nip.io:9780",
    "127.0.0.2:9780",
    "127.1:9780",
    "2130706433:9780",
    "0x7f.1:9780",
    "[::ffff:127.0.0.1]:9780",
    "::1:9780",
    "0.0.0.0:9780",
    "localhost:9780@evil.example",
    "127.0.0.1:9780,evil.example",
    "169.254.170.23:9780",
    "",
  ];
  for (const host of otherHosts) {
    t.equal(await status({ host }), "403 ERR_REQUEST_HOST", JSON.stringify(host));
  }
});

test("rejects a request that has a header of a proxy or browser", async (t) => {
  const foreign = [
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "Forwarded",
    "Via",
    "Origin",
    "Sec-Fetch-Mode",
    "Sec-Fetch-Site",
  ];
  for (const name of foreign) {
    t.equal(await status({ [name]: "x" }), "403 ERR_REQUEST_HOST", name);
  }
  t.equal(
    await status({ "amz-sdk-request": "attempt=1", accept: "application/json", "x-forward": "x" }),
    "200",
    "headers that SDKs send are accepted",
  );
});

test("accepts only the bare token as the Authorization header", async (t) => {
  for (const authorization of ["", "x", `Bearer ${TOKEN}`, `${TOKEN}x`, TOKEN.slice(1), TOKEN.toUpperCase()]) {
    t.equal(await status({ authorization }), "401 ERR_TOKEN_INVALID", JSON.stringify(authorization));
  }
  t.equal(await status({ authorization: TOKEN }), "200");
  const { host } = HEADERS;
  t.equal(
    (await sidecar.get("/v1/credentials", { host })).statusCode,
    401,
    "a request that has no Authorization header is rejected",
  );
  t.equal(
    (await sidecar.get("/no/such/path", { host })).statusCode,
    401,
    "unknown paths are not disclosed without the token",
  );
});

test("rejects 10,000 requests that have wrong tokens, and counts the rejections", async (t) => {
  const wrong = Array.from({ length: 10_000 }, (_, i) => TOKEN.slice(0, i % TOKEN.length) + String(i));
  t.notOk(wrong.some((token) => sidecar.token.accepts(token)));
  const counted = new SidecarUnderTest();
  const answers = await Promise.all(
    wrong.slice(0, 200).map((authorization) => counted.get("/v1/credentials", { ...HEADERS, authorization })),
  );
  t.ok(answers.every(({ statusCode }) => statusCode === 401));
  t.match(await counted.registry.metrics(), 'requests_total{path="/v1/credentials",code="401"} 200');
});

test("accepts only the GET method on credential paths", async (t) => {
  for (const method of ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] as const) {
    const answer = await sidecar.app.inject({ method, url: "/v1/credentials", headers: HEADERS });
    t.match([answer.statusCode, answer.headers["allow"]], [405, "GET"], method);
  }
});
