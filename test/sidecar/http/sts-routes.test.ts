import { test } from "tap";
import { createLogger } from "../../../shared/server/logger.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import { namespaceObject } from "../../shared/objects.ts";
import { FakeClock } from "../fake-clock.ts";
import { BASE_IDENTITY, HEADERS, ROLE_A, SidecarUnderTest, TEAM_A } from "../sidecar-under-test.ts";
import {
  assumeBody, elementOf, FORM, HOST, send, signed, type STSAnswer, type VendedKeys, WHO,
} from "../sts/signed-request.ts";

const MINUTE = 60_000;

async function keysOf(sidecar: SidecarUnderTest, path = "/v1/credentials"): Promise<VendedKeys> {
  return (await sidecar.get(path)).json<VendedKeys>();
}

function post(sidecar: SidecarUnderTest, keys: VendedKeys, body: string = WHO): Promise<STSAnswer> {
  return signed({ keys, body, now: sidecar.clock.now() }).then((request) => send(sidecar.app, request));
}

test("returns the caller identity without an STS call, on every STS path and for any region", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  sidecar.status = { loaded: false, lastSyncMs: null, fault: null };
  for (const path of ["/sts", "/sts/", "/"]) {
    for (const region of ["eu-west-1", "us-gov-west-1", "aws-global"]) {
      const answer = await send(sidecar.app, await signed({ keys, path, region, now: sidecar.clock.now() }));
      t.equal(answer.status, 200);
      t.equal(
        answer.body.replace(/[0-9a-f-]{36}/, "ID"),
        `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <GetCallerIdentityResult>
    <Arn>${BASE_IDENTITY.arn}</Arn>
    <UserId>${BASE_IDENTITY.userID}</UserId>
    <Account>${BASE_IDENTITY.accountID}</Account>
  </GetCallerIdentityResult>
  <ResponseMetadata>
    <RequestId>ID</RequestId>
  </ResponseMetadata>
</GetCallerIdentityResponse>
`,
      );
      t.match(answer.headers, {
        "content-type": "text/xml",
        "cache-control": "no-store",
        "x-amzn-requestid": /^[0-9a-f-]{36}$/,
      });
    }
  }
  t.same(sidecar.stsCalls, []);
});

test("returns the identity of a role session to GetCallerIdentity", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answer = await post(sidecar, await keysOf(sidecar, "/v1/credentials/selectors/team-a"));
  const elements = ["Arn", "UserId", "Account"].map((name) => elementOf(answer.body, name));
  t.same(elements, ["arn:aws:sts::111111111111:assumed-role/a/session", "AROAROLE:session", "111111111111"]);
});

test("accepts only the form content type, optionally followed by charset=utf-8", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  const withType = async (type: string): Promise<string> =>
    (await send(sidecar.app, await signed({ keys, now: sidecar.clock.now(), headers: { "content-type": type } }))).code;
  for (const type of [FORM, `${FORM}; charset=utf-8`, `${FORM};charset=UTF-8`, `${FORM}; charset="utf-8"`])
    t.equal(await withType(type), "ok", type);
  for (const type of [
    "application/json",
    "text/plain",
    `${FORM}; charset=latin1`,
    `x${FORM}`,
    `${FORM}, text/plain`,
    "multipart/form-data; boundary=x",
  ]) {
    t.equal(await withType(type), "UnsupportedMediaType", type);
  }
  const request = await signed({ keys, now: sidecar.clock.now(), unsigned: ["content-type"] });
  t.match(await send(sidecar.app, { ...request, headers: { ...request.headers, "content-type": "" } }), {
    status: 415,
    code: "UnsupportedMediaType",
  });
});

test("rejects a signature whose date is more than 5 min before or after the current time", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  const off = async (ms: number): Promise<STSAnswer> =>
    send(sidecar.app, await signed({ keys, now: sidecar.clock.now() + ms }));
  for (const ms of [-5 * MINUTE, 0, 5 * MINUTE])
    t.equal((await off(ms)).code, "ok", `the clock of the client is ${ms} ms off`);
  for (const ms of [-5 * MINUTE - 1_000, 5 * MINUTE + 1_000]) {
    t.match(await off(ms), {
      status: 403,
      code: "SignatureDoesNotMatch",
      message: new RegExp(
        /^Signature expired or not yet current: \d{8}T\d{6}Z differs from the server time by more than 5 min\./.source
          + / Correct the clock of the client\.$/.source,
      ),
    });
  }
});

test("accepts issued keys until their true expiration, and returns ExpiredToken afterward", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  await sidecar.clock.advance(60 * MINUTE - 1_000);
  t.equal((await post(sidecar, keys)).code, "ok");
  await sidecar.clock.advance(2_000);
  t.match(await post(sidecar, keys), {
    status: 403,
    code: "ExpiredToken",
    message: "The security token included in the request is expired",
  });
  await sidecar.clock.advance(15 * MINUTE);
  await keysOf(sidecar, "/v1/credentials/selectors/team-a");
  t.match(
    await post(sidecar, keys),
    { status: 403, code: "InvalidClientTokenId" },
    "the expired key is no longer known",
  );
});

test("rejects a missing action, an unknown action and AssumeRoleWithWebIdentity", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  t.match(await post(sidecar, keys, "Version=2011-06-15"), { status: 400, code: "MissingAction" });
  t.match(await post(sidecar, keys, "Action=GetSessionToken&Version=2011-06-15"), {
    status: 400,
    code: "InvalidAction",
    message:
      "Could not find operation GetSessionToken for version 2011-06-15. "
      + "Supported actions: AssumeRole, GetCallerIdentity.",
  });
  t.match(await post(sidecar, keys, `Action=${"x".repeat(500)}`), {
    code: "InvalidAction",
    message: /^Could not find operation x{100}\.\.\. for version NO_VERSION_SPECIFIED/,
  });
  for (const action of ["getcalleridentity", "__proto__", "constructor"]) {
    t.match(await post(sidecar, keys, `Action=${action}`), { code: "InvalidAction" }, action);
  }
  const unsigned = { url: "/sts", headers: { host: HOST, "content-type": FORM } };
  t.match(await send(sidecar.app, { ...unsigned, payload: "Action=AssumeRoleWithWebIdentity&Version=2011-06-15" }), {
    status: 403,
    code: "AccessDenied",
    message: / not support AssumeRoleWithWebIdentity\. Remove AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE from/,
  });
  t.match(await send(sidecar.app, { ...unsigned, payload: WHO }), { status: 403, code: "MissingAuthenticationToken" });
  t.match(await send(sidecar.app, { ...unsigned, payload: "Action=AssumeRoleWithSAML" }), {
    code: "MissingAuthenticationToken",
  });
  t.match(await send(sidecar.app, { ...unsigned, payload: "" }), { status: 400, code: "MissingAction" });
});

test("accepts a body of 64 KiB, and rejects a larger body", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  const body = `${WHO}&X=`.padEnd(64 * 1024, "x");
  t.equal((await post(sidecar, keys, body)).code, "ok");
  t.match(await post(sidecar, keys, `${body}x`), {
    status: 413,
    code: "RequestEntityTooLarge",
    message: "The body is larger than 65536 bytes. (ERR_REQUEST_TOO_LARGE)",
  });
});

test("issues generated keys with --base identity-only, and accepts these keys for AssumeRole", async (t) => {
  const sidecar = new SidecarUnderTest({
    mode: "identity-only",
    objects: [namespaceObject("team-a"), namespaceObject("none"), TEAM_A],
  });
  const answer = (await sidecar.get("/v1/credentials")).json<VendedKeys & { AccountId: string; Expiration: string }>();
  t.match(answer, {
    AccessKeyId: /^ASIA[A-Z2-7]{16}$/,
    AccountId: BASE_IDENTITY.accountID,
    Expiration: "2026-08-01T13:00:00Z",
  });
  t.not(answer.AccessKeyId, "ASIABASE");
  t.notMatch(JSON.stringify(answer), /planted/, "the base credentials are not disclosed");
  const unmatched = await keysOf(sidecar, "/v1/credentials/namespaces/none?kind=Bucket.s3.services.k8s.aws");
  t.equal(unmatched.AccessKeyId, answer.AccessKeyId, "the same key is returned if no selector matches");
  t.match((await post(sidecar, answer)).body, `<Arn>${BASE_IDENTITY.arn}</Arn>`);
  t.equal((await post(sidecar, answer, assumeBody({ RoleArn: ROLE_A }))).code, "ok");
});

test("responds only after the issued key is written to the journal", async (t) => {
  const [called, written] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  let isOpen = false;
  const append = async (): Promise<void> => {
    if (!isOpen) return;
    called.resolve(null);
    await written.promise;
  };
  const issued = await IssuedCredentials.open(t.testdir({}), {
    clock: new FakeClock(),
    log: createLogger({ name: "x", level: "silent" }),
    append,
  });
  t.teardown(() => issued.close());
  isOpen = true;
  const sidecar = new SidecarUnderTest({ issued });
  const answer = sidecar.get("/v1/credentials");
  await called.promise;
  let hasResponded = false;
  void answer.then(() => (hasResponded = true));
  for (let i = 0; i < 100; i++) await sidecar.clock.advance(1);
  t.notOk(hasResponded);
  written.resolve(null);
  t.equal((await answer).statusCode, 200);
});

test("logs and counts rejections, and logs request details only if the signature is valid", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  await post(sidecar, { ...keys, SecretAccessKey: "guessed" });
  await post(sidecar, keys, assumeBody({ RoleArn: "arn:aws:iam::222222222222:role/o" }));
  const rejections = sidecar.logLines.filter((line) => line.includes("request rejected"));
  t.match(rejections.map((line): unknown => JSON.parse(line)), [
    { level: "warn", path: "/sts", code: "SignatureDoesNotMatch", status: 403 },
    {
      level: "warn", path: "/sts", code: "ERR_SELECTOR_NOT_GRANTED", status: 403,
      requested: { action: "AssumeRole", role_arn: "arn:aws:iam::222222222222:role/o", caller: BASE_IDENTITY.arn },
    },
  ]);
  t.notMatch(rejections[0] ?? "", /"requested"/);
  const metrics = await sidecar.registry.metrics();
  for (const line of [
    'refusals_total{code="SignatureDoesNotMatch"} 1',
    'refusals_total{code="ERR_SELECTOR_NOT_GRANTED"} 1',
    'auth_failures_total{kind="signature"} 1',
    'requests_total{path="/sts",code="403"} 2',
  ]) {
    t.match(metrics, `ack_role_resolver_sidecar_${line}`);
  }
  t.notMatch([...sidecar.logLines, metrics].join("\n"), /planted|guessed/);
});

test("returns an STS error for methods other than POST, and for a token in place of a signature", async (t) => {
  const { app } = new SidecarUnderTest();
  for (const method of ["GET", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"] as const) {
    const answer = await app.inject({ method, url: "/sts", headers: HEADERS });
    t.match(
      [answer.statusCode, answer.headers["allow"], answer.headers["content-type"]],
      [405, "POST", "text/xml"],
      method,
    );
  }
  t.match(await send(app, { url: "/sts", headers: { ...HEADERS, "content-type": FORM }, payload: WHO }), {
    status: 400,
    code: "IncompleteSignature",
  });
});
