// Attacks on the authentication of the sidecar. Each test expects a rejection. The attacker is a process in the Pod or
// a browser on the machine. The attacker knows the address, and in some tests the token or credentials of the
// controller.
import { test } from "tap";
import { HEADERS, TOKEN } from "../sidecar/sidecar-under-test.ts";
import { WHO } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack, withHeaders } from "./attack.ts";

const attack = new Attack();

test("accepts the valid request on which the attacks in this file are based", async (t) => {
  t.equal(await new Attack().codeAfter(() => ({})), "ok");
  t.equal(await new Attack().codeAfter(() => ({}), { path: "/sts/", body: WHO }), "ok");
});

test("rejects a Host header that is not the sidecar's address, to prevent DNS rebinding", async (t) => {
  for (const host of [
    "evil.example:9780",
    "evil.example",
    "127.0.0.1.nip.io:9780",
    "localhost.:9780",
    "127.0.0.1:9781",
    "localhost",
    "",
    "[::ffff:127.0.0.1]:9780",
  ]) {
    t.equal((await attack.get("/v1/credentials", { ...HEADERS, host })).statusCode, 403, host);
    t.match(
      await attack.send(await attack.request({ headers: { host } })),
      { status: 403, code: "AccessDenied" },
      `signed for ${host}`,
    );
  }
});

test("rejects a cross-origin form that a web page submits", async (t) => {
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-mode": "no-cors" },
    { "sec-fetch-site": "cross-site" },
  ]) {
    t.match(
      await attack.send(await attack.request({ headers })),
      { status: 403, code: "AccessDenied", message: /which only proxies and browsers send/ },
      JSON.stringify(headers),
    );
  }
});

test("rejects a request that has headers of a proxy", async (t) => {
  for (const name of ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "via"]) {
    t.equal((await attack.get("/v1/credentials", { ...HEADERS, [name]: "127.0.0.1" })).statusCode, 403, name);
    t.equal(await attack.codeAfter(withHeaders({ [name]: "127.0.0.1" })), "AccessDenied", name);
  }
});

test("rejects a path that matches a route only after decoding or normalization", async (t) => {
  const wire = new Attack();
  t.equal(await wire.statusOverTCP(t, "/sts", await wire.request()), 200, "the unchanged path is accepted");
  const paths = [
    "/%73ts",
    "/st%73",
    "//sts",
    "/sts/..",
    "/./sts",
    "/sts/.",
    "/x/../sts",
    "/STS",
    "/sts%2f",
    "/sts//",
    "/sts;x",
    "/%EF%BD%93ts",
    "/sts%00",
    "/sts#",
    "http://127.0.0.1:9780/sts",
    "*",
  ];
  for (const path of paths) {
    t.equal(await wire.statusOverTCP(t, path, await wire.request()), 405, `${path}, signed as /sts`);
    const { headers } = await wire.request({ path });
    t.equal(
      await wire.statusOverTCP(t, path, { method: "POST", headers, payload: ASSUME }),
      405,
      `${path}, signed unchanged`,
    );
    const status = await wire.statusOverTCP(t, path, { method: "GET", headers: HEADERS, payload: "" });
    t.ok([403, 404].includes(status), `${path}, with the token: ${status}`);
  }
  t.same(wire.sidecar.stsCalls.length, 1);
});

test("checks the Host header and the token even if the path cannot be decoded", async (t) => {
  const { sidecar } = new Attack();
  for (const [headers, status] of [
    [{ ...HEADERS, host: "evil.example" }, 403],
    [{ ...HEADERS, authorization: "guess" }, 401],
    [HEADERS, 400],
  ] as const) {
    t.equal((await sidecar.get("/v1/credentials/%zz", headers)).statusCode, status);
    t.match(
      await sidecar.registry.metrics(),
      `ack_role_resolver_sidecar_requests_total{path="unknown",code="${status}"} 1`,
      "the rejection is counted",
    );
  }
});

test("rejects a path traversal in the name of a selector or namespace", async (t) => {
  const wire = new Attack();
  const names = [
    "selectors/..%2f..%2fcredentials",
    "namespaces/team-a%2f..",
    "selectors/%00",
    "selectors/team-a%0d%0ax",
    "namespaces/../../credentials",
    "selectors/../selectors/team-a",
    "./selectors/team-a",
    "selectors//team-a",
  ];
  for (const name of names) {
    const status = await wire.statusOverTCP(t, `/v1/credentials/${name}`, {
      method: "GET",
      headers: HEADERS,
      payload: "",
    });
    t.ok([400, 404].includes(status), `${name}: ${status}`);
  }
});

test("rejects 10,000 wrong tokens and logs one line", async (t) => {
  const { sidecar } = new Attack();
  for (let i = 0; i < 10_000; i += 500) {
    const wrong = Array.from({ length: 500 }, (_, j) => TOKEN.slice(0, (i + j) % TOKEN.length) + String(i + j));
    const answers = await Promise.all(
      wrong.map((authorization) => sidecar.get("/v1/credentials", { ...HEADERS, authorization })),
    );
    t.ok(answers.every(({ statusCode }) => statusCode === 401));
  }
  t.match(await sidecar.registry.metrics(), 'ack_role_resolver_sidecar_auth_failures_total{kind="token"} 10000');
  t.equal(sidecar.logLines.length, 1, "the log has one line");
});

test("accepts the token only in the Authorization header", async (t) => {
  const { host } = HEADERS;
  for (const [url, headers] of [
    [`/v1/credentials?token=${TOKEN}`, { host }],
    [`/v1/credentials?Authorization=${TOKEN}`, { host }],
    ["/v1/credentials", { host, cookie: TOKEN }],
    ["/v1/credentials", { host, "x-aws-ec2-metadata-token": TOKEN }],
    ["/v1/credentials", { host, authorization: `Bearer ${TOKEN}` }],
    ["/v1/credentials", { host, authorization: `${TOKEN},${TOKEN}` }],
  ] as const)
    t.equal((await attack.get(url, headers)).statusCode, 401, url);
});

test("the log and metrics of all attacks in this file contain no secret", async (t) => {
  const output = [...attack.sidecar.logLines, await attack.sidecar.registry.metrics()].join("\n");
  t.ok(attack.sidecar.logLines.length > 2);
  t.notMatch(output, /planted|AWS4-HMAC-SHA256 Credential/);
});
