// Attacks on the signature verification of `POST /sts`. Each test expects a rejection.
import { createHash } from "node:crypto";
import { test } from "tap";
import { assumeBody, FORM, type SignedRequest, WHO } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack, withHeaders } from "./attack.ts";

const attack = new Attack();

test("rejects a random signature, and a valid signature with one changed digit", async (t) => {
  t.equal(
    await attack.codeAfter(({ headers }) => ({
      headers: { ...headers, authorization: (headers["authorization"] ?? "").replace(/[0-9a-f]{64}$/, "0".repeat(64)) },
    })),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.codeAfter(({ headers }) => ({
      headers: {
        ...headers,
        authorization: (headers["authorization"] ?? "").replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      },
    })),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.codeAfter(({ headers }) => ({
      headers: { ...headers, authorization: (headers["authorization"] ?? "").replace(/Signature=.*/, "Signature=") },
    })),
    "IncompleteSignature",
  );
});

test("rejects a wrong secret for a known access key ID", async (t) => {
  const keys = await attack.keys();
  for (const SecretAccessKey of ["", "guess", keys.SecretAccessKey.toUpperCase(), `${keys.SecretAccessKey} `]) {
    t.match(
      await attack.send(await attack.request({ keys: { ...keys, SecretAccessKey } })),
      { status: 403, code: "SignatureDoesNotMatch" },
      SecretAccessKey,
    );
  }
});

test("rejects a missing or changed session token, or the token of another session", async (t) => {
  const keys = await attack.keys();
  const role = await attack.keys("/v1/credentials/selectors/team-a");
  for (const Token of ["", "x", role.Token, `${keys.Token}x`, keys.Token.slice(0, -1)]) {
    t.match(await attack.send(await attack.request({ keys: { ...keys, Token } })), {
      status: 403,
      code: "InvalidClientTokenId",
    });
  }
});

test("rejects a request whose host, date or token header is not signed", async (t) => {
  const unsign =
    (name: string) =>
    ({ headers }: SignedRequest): Partial<SignedRequest> => ({
      headers: {
        ...headers,
        authorization: (headers["authorization"] ?? "").replace(new RegExp(`${name};|;${name}(?=,)`), ""),
      },
    });
  for (const name of ["host", "x-amz-date", "x-amz-security-token"]) {
    t.equal(await attack.codeAfter(unsign(name)), "IncompleteSignature", `${name} removed from SignedHeaders`);
    t.equal(
      await attack.codeAfter(() => ({}), { unsigned: [name] }),
      "IncompleteSignature",
      `${name} was never signed`,
    );
  }
});

test("rejects a request whose headers were changed after signing", async (t) => {
  t.equal(
    await attack.codeAfter(withHeaders({ host: "localhost:9780" })),
    "SignatureDoesNotMatch",
    "the host was changed to another valid host",
  );
  t.equal(
    await attack.codeAfter(withHeaders({ "x-extra": "2" }), { headers: { "x-extra": "1" } }),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.codeAfter(({ headers: { "x-extra": _gone, ...headers } }) => ({ headers }), {
      headers: { "x-extra": "1" },
    }),
    "IncompleteSignature",
    "a signed header is removed",
  );
  t.equal(
    await attack.codeAfter(withHeaders({ "content-type": `${FORM}; charset=utf-8` })),
    "SignatureDoesNotMatch",
    "the content type was changed after signing",
  );
});

test("rejects signed header names that are special in JavaScript, such as __proto__", async (t) => {
  for (const name of ["__proto__", "constructor", "toString", "hasownproperty"]) {
    t.equal(
      await attack.codeAfter(({ headers }) => ({
        headers: { ...headers, authorization: (headers["authorization"] ?? "").replace("host;", `${name};host;`) },
      })),
      "IncompleteSignature",
      name,
    );
  }
});

test("rejects a request that repeats a signed header", async (t) => {
  const request = await attack.request();
  for (const name of ["X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256", "Accept"]) {
    const headers = { ...request.headers, [name]: ["a", request.headers[name.toLowerCase()] ?? "b"] };
    const answer = await attack.sidecar.app.inject({ method: "POST", url: "/sts", headers, payload: ASSUME });
    t.ok([400, 403].includes(answer.statusCode), name);
    t.notMatch(answer.body, "<Credentials>");
  }
});

test("rejects a request whose body was changed after signing", async (t) => {
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
    t.not(await attack.codeAfter(() => ({ payload })), "ok", payload);
  }
});

test("rejects a signed digest of another body, and the digest UNSIGNED-PAYLOAD", async (t) => {
  const digest = createHash("sha256").update(WHO).digest("hex");
  t.equal(
    await attack.codeAfter(() => ({ payload: ASSUME }), { body: WHO, headers: { "x-amz-content-sha256": digest } }),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.codeAfter(() => ({}), { headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } }),
    "SignatureDoesNotMatch",
  );
  t.equal(
    await attack.codeAfter(() => ({}), {
      headers: { "x-amz-content-sha256": createHash("sha256").update(ASSUME).digest("hex") },
    }),
    "ok",
    "the correct digest is accepted",
  );
});

test("rejects a request whose path or method was changed after signing", async (t) => {
  t.equal(await attack.codeAfter(() => ({ url: "/sts/" })), "SignatureDoesNotMatch");
  t.equal(await attack.codeAfter(() => ({ url: "/sts" }), { path: "/sts/" }), "SignatureDoesNotMatch");
  t.equal(
    await attack.codeAfter(() => ({ url: "/sts" }), { path: "/" }),
    "SignatureDoesNotMatch",
    "a request that was signed for AWS is rejected",
  );
  const { statusCode } = await attack.sidecar.app.inject({ ...(await attack.request()), method: "PUT" });
  t.equal(statusCode, 405);
});

test("rejects a signature for another service, region or day", async (t) => {
  for (const service of ["s3", "iam", "STS", "sts2"])
    t.equal(await attack.codeAfter(() => ({}), { service }), "SignatureDoesNotMatch", service);
  const changeScope =
    (from: RegExp, to: string) =>
    ({ headers }: SignedRequest): Partial<SignedRequest> => ({
      headers: { ...headers, authorization: (headers["authorization"] ?? "").replace(from, to) },
    });
  t.equal(await attack.codeAfter(changeScope(/eu-west-1/, "us-east-1")), "SignatureDoesNotMatch");
  t.equal(await attack.codeAfter(changeScope(/\/20\d{6}\//, "/20250101/")), "SignatureDoesNotMatch");
  t.equal(await attack.codeAfter(changeScope(/^AWS4-HMAC-SHA256/, "AWS4-ECDSA-P256-SHA256")), "IncompleteSignature");
});

test("rejects a request whose date is more than 5 minutes in the past or future", async (t) => {
  for (const minutes of [-6, 6, -60, 60 * 24 * 365]) {
    t.equal(
      await attack.codeAfter(() => ({}), { now: attack.sidecar.clock.now() + minutes * 60_000 }),
      "SignatureDoesNotMatch",
      `the request is ${minutes} minutes off`,
    );
  }
  t.equal(
    await attack.codeAfter(withHeaders({ "x-amz-date": "20260801T120001Z" })),
    "SignatureDoesNotMatch",
    "the date is changed after signing",
  );
  for (const date of ["", "now", "20260801", "2026-08-01T12:00:00Z", "20260801T120000"])
    t.equal(await attack.codeAfter(withHeaders({ "x-amz-date": date })), "IncompleteSignature", date);
});

test("the log and metrics of all attacks in this file contain no secret", async (t) => {
  const output = [...attack.sidecar.logLines, await attack.sidecar.registry.metrics()].join("\n");
  t.ok(attack.sidecar.logLines.length > 4);
  t.notMatch(output, /planted|AWS4-HMAC-SHA256 Credential/);
});
