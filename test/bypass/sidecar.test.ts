// Attacks on the authentication of the sidecar. Each title describes what the attacker does. The attacker is a process
// in the Pod or a browser on the machine: it has the address, and in some tests the token or credentials of the
// controller.
import { createHash } from "node:crypto";
import { test } from "tap";
import { HEADERS, TOKEN } from "../sidecar/sidecar-under-test.ts";
import { assumeBody, elementOf, FORM, HOST, type SignedRequest, WHO } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack, OTHER_ROLE, withHeaders } from "./attack.ts";

const attack = new Attack();

test("sends a valid request, which succeeds, so that the attacks below fail for their own reason", async (t) => {
  t.equal(await new Attack().after(() => ({})), "ok");
  t.equal(await new Attack().after(() => ({}), { path: "/sts/", body: WHO }), "ok");
});

test("rebinds the name of a page to 127.0.0.1", async (t) => {
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

test("sends a simple cross-origin form from a page", async (t) => {
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

test("sends the request through a proxy", async (t) => {
  for (const name of ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "via"]) {
    t.equal((await attack.get("/v1/credentials", { ...HEADERS, [name]: "127.0.0.1" })).statusCode, 403, name);
    t.equal(await attack.after(withHeaders({ [name]: "127.0.0.1" })), "AccessDenied", name);
  }
});

test("sends a path that only decodes to a valid one", async (t) => {
  const wire = new Attack();
  t.equal(await wire.onTheWire(t, "/sts", await wire.request()), 200, "the path itself");
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
    t.equal(await wire.onTheWire(t, path, await wire.request()), 405, `${path}, signed as /sts`);
    const { headers } = await wire.request({ path });
    t.equal(
      await wire.onTheWire(t, path, { method: "POST", headers, payload: ASSUME }),
      405,
      `${path}, signed as it is`,
    );
    const status = await wire.onTheWire(t, path, { method: "GET", headers: HEADERS, payload: "" });
    t.ok([403, 404].includes(status), `${path}, with the token: ${status}`);
  }
  t.same(wire.sidecar.stsCalls.length, 1);
});

test("sends an undecodable path to skip the checks", async (t) => {
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

test("sends a path traversal in a name or namespace", async (t) => {
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
    const status = await wire.onTheWire(t, `/v1/credentials/${name}`, { method: "GET", headers: HEADERS, payload: "" });
    t.ok([400, 404].includes(status), `${name}: ${status}`);
  }
});

test("tries 10,000 wrong tokens", async (t) => {
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

test("sends the token anywhere but in the Authorization header", async (t) => {
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

test("invents a signature, or changes one digit", async (t) => {
  t.equal(
    await attack.after(({ headers }) => ({
      headers: { ...headers, authorization: (headers["authorization"] ?? "").replace(/[0-9a-f]{64}$/, "0".repeat(64)) },
    })),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.after(({ headers }) => ({
      headers: {
        ...headers,
        authorization: (headers["authorization"] ?? "").replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      },
    })),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.after(({ headers }) => ({
      headers: { ...headers, authorization: (headers["authorization"] ?? "").replace(/Signature=.*/, "Signature=") },
    })),
    "IncompleteSignature",
  );
});

test("guesses the secret of a known access key ID", async (t) => {
  const keys = await attack.keys();
  for (const SecretAccessKey of ["", "guess", keys.SecretAccessKey.toUpperCase(), `${keys.SecretAccessKey} `]) {
    t.match(
      await attack.send(await attack.request({ keys: { ...keys, SecretAccessKey } })),
      { status: 403, code: "SignatureDoesNotMatch" },
      SecretAccessKey,
    );
  }
});

test("omits, changes or swaps the session token", async (t) => {
  const keys = await attack.keys();
  const role = await attack.keys("/v1/credentials/selectors/team-a");
  for (const Token of ["", "x", role.Token, `${keys.Token}x`, keys.Token.slice(0, -1)]) {
    t.match(await attack.send(await attack.request({ keys: { ...keys, Token } })), {
      status: 403,
      code: "InvalidClientTokenId",
    });
  }
});

test("leaves the host, date or token header unsigned", async (t) => {
  const unsign =
    (name: string) =>
    ({ headers }: SignedRequest): Partial<SignedRequest> => ({
      headers: {
        ...headers,
        authorization: (headers["authorization"] ?? "").replace(new RegExp(`${name};|;${name}(?=,)`), ""),
      },
    });
  for (const name of ["host", "x-amz-date", "x-amz-security-token"]) {
    t.equal(await attack.after(unsign(name)), "IncompleteSignature", `${name} removed from SignedHeaders`);
    t.equal(await attack.after(() => ({}), { unsigned: [name] }), "IncompleteSignature", `${name} never signed`);
  }
});

test("changes headers after signing", async (t) => {
  t.equal(await attack.after(withHeaders({ host: "localhost:9780" })), "SignatureDoesNotMatch", "another valid host");
  t.equal(
    await attack.after(withHeaders({ "x-extra": "2" }), { headers: { "x-extra": "1" } }),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.after(({ headers: { "x-extra": _gone, ...headers } }) => ({ headers }), {
      headers: { "x-extra": "1" },
    }),
    "IncompleteSignature",
    "a signed header is removed",
  );
  t.equal(
    await attack.after(withHeaders({ "content-type": `${FORM}; charset=utf-8` })),
    "SignatureDoesNotMatch",
    "another content type",
  );
});

test("signs header names that are special in JavaScript", async (t) => {
  for (const name of ["__proto__", "constructor", "toString", "hasownproperty"]) {
    t.equal(
      await attack.after(({ headers }) => ({
        headers: { ...headers, authorization: (headers["authorization"] ?? "").replace("host;", `${name};host;`) },
      })),
      "IncompleteSignature",
      name,
    );
  }
});

test("repeats a header, of which the signature covers one", async (t) => {
  const request = await attack.request();
  for (const name of ["X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256", "Accept"]) {
    const headers = { ...request.headers, [name]: ["a", request.headers[name.toLowerCase()] ?? "b"] };
    const answer = await attack.sidecar.app.inject({ method: "POST", url: "/sts", headers, payload: ASSUME });
    t.ok([400, 403].includes(answer.statusCode), name);
    t.notMatch(answer.body, "<Credentials>");
  }
});

test("changes the body after signing", async (t) => {
  const other = assumeBody({ RoleArn: "arn:aws:iam::111111111111:role/b" });
  for (const payload of [
    other,
    `${ASSUME}&DurationSeconds=43200`,
    `${ASSUME}&`,
    `${ASSUME}\n`,
    ASSUME.replaceAll("%3A", ":"),
    ASSUME.replaceAll("%3A", "%3a"),
    "",
  ]) {
    t.not(await attack.after(() => ({ payload })), "ok", payload);
  }
});

test("signs the digest of another body, or UNSIGNED-PAYLOAD", async (t) => {
  const digest = createHash("sha256").update(WHO).digest("hex");
  t.equal(
    await attack.after(() => ({ payload: ASSUME }), { body: WHO, headers: { "x-amz-content-sha256": digest } }),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.after(() => ({}), { headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } }),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.after(() => ({}), {
      headers: { "x-amz-content-sha256": createHash("sha256").update(ASSUME).digest("hex") },
    }),
    "ok",
    "the correct digest",
  );
});

test("changes the path or the method after signing", async (t) => {
  t.equal(await attack.after(() => ({ url: "/sts/" })), "SignatureDoesNotMatch");
  t.equal(await attack.after(() => ({ url: "/sts" }), { path: "/sts/" }), "SignatureDoesNotMatch");
  t.equal(
    await attack.after(() => ({ url: "/sts" }), { path: "/" }),
    "SignatureDoesNotMatch",
    "a request for AWS itself",
  );
  const { statusCode } = await attack.sidecar.app.inject({ ...(await attack.request()), method: "PUT" });
  t.equal(statusCode, 405);
});

test("signs for another service, region or day", async (t) => {
  for (const service of ["s3", "iam", "STS", "sts2"])
    t.equal(await attack.after(() => ({}), { service }), "SignatureDoesNotMatch", service);
  const changeScope =
    (from: RegExp, to: string) =>
    ({ headers }: SignedRequest): Partial<SignedRequest> => ({
      headers: { ...headers, authorization: (headers["authorization"] ?? "").replace(from, to) },
    });
  t.equal(await attack.after(changeScope(/eu-west-1/, "us-east-1")), "SignatureDoesNotMatch");
  t.equal(await attack.after(changeScope(/\/20\d{6}\//, "/20250101/")), "SignatureDoesNotMatch");
  t.equal(await attack.after(changeScope(/^AWS4-HMAC-SHA256/, "AWS4-ECDSA-P256-SHA256")), "IncompleteSignature");
});

test("sends an old or a postdated request", async (t) => {
  for (const minutes of [-6, 6, -60, 60 * 24 * 365]) {
    t.equal(
      await attack.after(() => ({}), { now: attack.sidecar.clock.now() + minutes * 60_000 }),
      "SignatureDoesNotMatch",
      `${minutes} minutes off`,
    );
  }
  t.equal(
    await attack.after(withHeaders({ "x-amz-date": "20260801T120001Z" })),
    "SignatureDoesNotMatch",
    "the date is changed after signing",
  );
  for (const date of ["", "now", "20260801", "2026-08-01T12:00:00Z", "20260801T120000"])
    t.equal(await attack.after(withHeaders({ "x-amz-date": date })), "IncompleteSignature", date);
});

test("sends a presigned URL", async (t) => {
  const query = `Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=x&X-Amz-SignedHeaders=host&X-Amz-Signature=${"0".repeat(64)}`;
  for (const method of ["GET", "POST"] as const) {
    const answer = await attack.send({ method, url: `/sts?${query}`, headers: { host: HOST }, payload: "" });
    t.match(
      answer,
      {
        status: 400,
        code: "MalformedQueryString",
        message: /^The request is presigned\. Sign with the Authorization header /,
      },
      method,
    );
  }
});

test("sends the action or the role in the query, which the signature does not cover", async (t) => {
  const wire = new Attack();
  t.equal(await wire.onTheWire(t, "/sts?", await wire.request()), 400, "an empty query");
  for (const query of ["Action=GetCallerIdentity", `RoleArn=${OTHER_ROLE}`, "x"]) {
    t.match(
      await attack.send({ ...(await attack.request()), url: `/sts?${query}` }),
      { status: 400, code: "MalformedQueryString" },
      query,
    );
  }
});

test("repeats a parameter", async (t) => {
  for (const extra of [
    "Action=GetCallerIdentity",
    `RoleArn=${encodeURIComponent(OTHER_ROLE)}`,
    "RoleSessionName=b",
    "%41ction=AssumeRole",
    "Role%41rn=x",
  ]) {
    t.match(
      await attack.send(await attack.request({ body: `${ASSUME}&${extra}` })),
      { status: 400, code: "ValidationError", message: /^Repeated parameters: / },
      extra,
    );
  }
});

test("misspells a parameter, so that a restriction of the session would be lost", async (t) => {
  for (const extra of [
    "policy=%7B%7D",
    "Policyarns.member.1.arn=x",
    "PolicyArns.member.1.Arn=x",
    "PolicyArns.1.arn=x",
    "Tags.Member.1.Key=x",
    "Policy%00=x",
    "DurationSeconds%20=900",
  ]) {
    t.match(
      await attack.send(await attack.request({ body: `${ASSUME}&${extra}` })),
      { status: 400, code: "ValidationError", message: /is unknown/ },
      extra,
    );
  }
});

test("sends a body that is not UTF-8, has 8,000 parameters, is too large or has another type", async (t) => {
  const many = Array.from({ length: 8_000 }, (_, i) => `x${i}=`).join("&");
  t.equal((await attack.send(await attack.request({ body: `Action=AssumeRole&${many}` }))).code, "ValidationError");
  const { headers } = await attack.request();
  const answer = await attack.sidecar.app.inject({
    method: "POST",
    url: "/sts",
    headers,
    payload: Buffer.from("Action=Assume\xff", "latin1"),
  });
  t.equal(elementOf(answer.body, "Code"), "ValidationError");
  t.equal(await attack.after(withHeaders({ "content-type": "application/json" })), "UnsupportedMediaType");
  t.equal((await attack.send(await attack.request({ body: "x".repeat(64 * 1024 + 1) }))).status, 413);
});

test("sends an unsigned or an unknown action", async (t) => {
  const unsigned = { url: "/sts", headers: { host: HOST, "content-type": FORM } };
  t.match(await attack.send({ ...unsigned, payload: "Action=AssumeRoleWithWebIdentity&WebIdentityToken=x" }), {
    status: 403,
    code: "AccessDenied",
  });
  for (const action of [
    "AssumeRole",
    "GetCallerIdentity",
    "AssumeRoleWithSAML",
    "GetSessionToken",
    "__proto__",
    "constructor",
  ]) {
    t.match(
      await attack.send({ ...unsigned, payload: `Action=${action}` }),
      { status: 403, code: "MissingAuthenticationToken" },
      action,
    );
    if (!/^(AssumeRole|GetCallerIdentity)$/.test(action))
      t.equal(await attack.after(() => ({}), { body: `Action=${action}` }), "InvalidAction", action);
  }
});

test("sends markup and control characters that the response quotes", async (t) => {
  const answer = await attack.send(
    await attack.request({ body: `Action=${encodeURIComponent("<script>&\u0000\u001b[2K\u202e")}` }),
  );
  t.match(answer, { status: 400, code: "InvalidAction" });
  t.notMatch(answer.body, /<script>|(?!\n)\p{Cc}|\p{Cf}/u);
});

test("finds no secret in the log and metrics of the attacks above", async (t) => {
  const output = [...attack.sidecar.logLines, await attack.sidecar.registry.metrics()].join("\n");
  t.ok(attack.sidecar.logLines.length > 10);
  t.notMatch(output, /planted|AWS4-HMAC-SHA256 Credential/);
});
