// Attacks on the signature verification of `POST /sts`. Each test expects a rejection.
import { createHash } from "node:crypto";
import { test } from "tap";
import { assumeBody, FORM, type SignedRequest, type Signing, WHO } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack, withHeaders } from "./attack.ts";

const attack = new Attack();

type Change = (request: SignedRequest) => Partial<SignedRequest>;

const unchanged: Change = () => ({});

/** Changes the Authorization header. */
function authorization(from: RegExp | string, to: string | ((match: string) => string)): Change {
  return ({ headers }) => {
    const text = headers["authorization"] ?? "";
    const changed = text.replace(from, typeof to === "string" ? () => to : to);
    return { headers: { ...headers, authorization: changed } };
  };
}

const BODY_DIGEST = createHash("sha256").update(WHO).digest("hex");
const without: Change = ({ headers: { "x-extra": _gone, ...headers } }) => ({ headers });

/** What is changed, the request, the error code of each row, and how the request is signed. */
const ATTACKS: readonly (readonly [what: string, change: Change, code: string, signing?: Partial<Signing>])[] = [
  ["a random signature", authorization(/[0-9a-f]{64}$/, "0".repeat(64)), "SignatureDoesNotMatch"],
  ["one digit", authorization(/.$/, (last) => (last === "0" ? "1" : "0")), "SignatureDoesNotMatch"],
  ["no signature", authorization(/Signature=.*/, "Signature="), "IncompleteSignature"],
  ...["host", "x-amz-date", "x-amz-security-token"].flatMap((name) => [
    [`${name} removed from SignedHeaders`, authorization(new RegExp(`${name};|;${name}(?=,)`), ""),
      "IncompleteSignature"],
    [`${name} never signed`, unchanged, "IncompleteSignature", { unsigned: [name] }],
  ] as const),
  ...["__proto__", "constructor", "toString", "hasownproperty"].map((name) => (
    [`the signed header ${name}`, authorization("host;", `${name};host;`), "IncompleteSignature"] as const
  )),
  ["another valid host", withHeaders({ host: "localhost:9780" }), "SignatureDoesNotMatch"],
  ["a header", withHeaders({ "x-extra": "2" }), "SignatureDoesNotMatch", { headers: { "x-extra": "1" } }],
  ["a header is removed", without, "IncompleteSignature", { headers: { "x-extra": "1" } }],
  ["the content type", withHeaders({ "content-type": `${FORM}; charset=utf-8` }), "SignatureDoesNotMatch"],
  ["the signed digest of another body", () => ({ payload: ASSUME }), "SignatureDoesNotMatch",
    { body: WHO, headers: { "x-amz-content-sha256": BODY_DIGEST } }],
  ["UNSIGNED-PAYLOAD", unchanged, "SignatureDoesNotMatch", { headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } }],
  ["the correct digest", unchanged, "ok", { body: WHO, headers: { "x-amz-content-sha256": BODY_DIGEST } }],
  ["the path /sts/", () => ({ url: "/sts/" }), "SignatureDoesNotMatch"],
  ["the path /sts", () => ({ url: "/sts" }), "SignatureDoesNotMatch", { path: "/sts/" }],
  ["a request for AWS", () => ({ url: "/sts" }), "SignatureDoesNotMatch", { path: "/" }],
  ...["s3", "iam", "STS", "sts2"].map((service) => (
    [`the service ${service}`, unchanged, "SignatureDoesNotMatch", { service }] as const
  )),
  ["the region", authorization("eu-west-1", "us-east-1"), "SignatureDoesNotMatch"],
  ["the day", authorization(/\/20\d{6}\//, "/20250101/"), "SignatureDoesNotMatch"],
  ["the algorithm", authorization(/^AWS4-HMAC-SHA256/, "AWS4-ECDSA-P256-SHA256"), "IncompleteSignature"],
  ["the date", withHeaders({ "x-amz-date": "20260801T120001Z" }), "SignatureDoesNotMatch"],
  ...["", "now", "20260801", "2026-08-01T12:00:00Z", "20260801T120000"].map((date) => (
    [`the date ${date}`, withHeaders({ "x-amz-date": date }), "IncompleteSignature"] as const
  )),
];

test("rejects a request that was changed after signing, or that is not signed as a whole", async (t) => {
  for (const [what, change, code, signing] of ATTACKS) t.equal(await attack.codeAfter(change, signing), code, what);
  const { statusCode } = await attack.sidecar.app.inject({ ...(await attack.request()), method: "PUT" });
  t.equal(statusCode, 405, "the method");
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

test("the log and metrics of all attacks in this file contain no secret", async (t) => {
  const output = [...attack.sidecar.logLines, await attack.sidecar.registry.metrics()].join("\n");
  t.ok(attack.sidecar.logLines.length > 4);
  t.notMatch(output, /planted|AWS4-HMAC-SHA256 Credential/);
});
