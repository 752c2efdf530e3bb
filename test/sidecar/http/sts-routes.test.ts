import { test, type Test } from "tap";
import { createLogger } from "../../../shared/server/logger.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import { namespaceObject, selectorObject } from "../../shared/decisions/objects.ts";
import { FakeClock } from "../fake-clock.ts";
import { BASE_IDENTITY, HEADERS, ROLE_A, SCOPED, SidecarUnderTest, TEAM_A } from "../sidecar-under-test.ts";
import { assumeBody, FORM, HOST, send, signed, type STSAnswer, type VendedKeys, WHO } from "../sts/signed-request.ts";

const MINUTE = 60_000;

async function keysOf(sidecar: SidecarUnderTest, path = "/v1/credentials"): Promise<VendedKeys> {
  return (await sidecar.get(path)).json<VendedKeys>();
}

function ask(sidecar: SidecarUnderTest, keys: VendedKeys, body: string = WHO): Promise<STSAnswer> {
  return signed({ keys, body, now: sidecar.clock.now() }).then((request) => send(sidecar.app, request));
}

test("who the controller is, is answered from memory, at each path that SDKs make of /sts and in any region", async (t) => {
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
      t.match(answer.headers, { "content-type": "text/xml", "cache-control": "no-store", "x-amzn-requestid": /^[0-9a-f-]{36}$/ });
    }
  }
  t.same(sidecar.stsCalls, []);
});

test("a role is who its session is", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answer = await ask(sidecar, await keysOf(sidecar, "/v1/credentials/selectors/team-a"));
  t.match(answer.body, /<Arn>arn:aws:sts::111111111111:assumed-role\/a\/session<\/Arn>\n {4}<UserId>AROAROLE:session<\/UserId>\n {4}<Account>111111111111</);
});

test("content types: a form in UTF-8, said or not, and nothing else", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  const withType = async (type: string): Promise<string> =>
    (await send(sidecar.app, await signed({ keys, now: sidecar.clock.now(), headers: { "content-type": type } }))).code;
  for (const type of [FORM, `${FORM}; charset=utf-8`, `${FORM};charset=UTF-8`, `${FORM}; charset="utf-8"`]) t.equal(await withType(type), "ok", type);
  for (const type of ["application/json", "text/plain", `${FORM}; charset=latin1`, `x${FORM}`, `${FORM}, text/plain`, "multipart/form-data; boundary=x"]) {
    t.equal(await withType(type), "UnsupportedMediaType", type);
  }
  const request = await signed({ keys, now: sidecar.clock.now(), unsigned: ["content-type"] });
  t.match(await send(sidecar.app, { ...request, headers: { ...request.headers, "content-type": "" } }), { status: 415, code: "UnsupportedMediaType" });
});

test("the signature is 5 minutes old at most, on either side", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  const off = async (ms: number): Promise<STSAnswer> => send(sidecar.app, await signed({ keys, now: sidecar.clock.now() + ms }));
  for (const ms of [-5 * MINUTE, 0, 5 * MINUTE]) t.equal((await off(ms)).code, "ok", `${ms} ms off`);
  for (const ms of [-5 * MINUTE - 1_000, 5 * MINUTE + 1_000]) {
    t.match(await off(ms), { status: 403, code: "SignatureDoesNotMatch", message: /^Signature expired or not yet current: \d{8}T\d{6}Z is more than 5 min\. from the time here\.$/ });
  }
});

test("what was vended works to its true end, and is told from what never was", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  await sidecar.clock.advance(60 * MINUTE - 1_000);
  t.equal((await ask(sidecar, keys)).code, "ok");
  await sidecar.clock.advance(2_000);
  t.match(await ask(sidecar, keys), { status: 403, code: "ExpiredToken", message: "The security token included in the request is expired" });
  await sidecar.clock.advance(15 * MINUTE);
  await keysOf(sidecar, "/v1/credentials/selectors/team-a");
  t.match(await ask(sidecar, keys), { status: 403, code: "InvalidClientTokenId" }, "long ago");
});

test("actions: none, another, and the one that needs no signature", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  t.match(await ask(sidecar, keys, "Version=2011-06-15"), { status: 400, code: "MissingAction" });
  t.match(await ask(sidecar, keys, "Action=GetSessionToken&Version=2011-06-15"), {
    status: 400, code: "InvalidAction", message: "Could not find operation GetSessionToken for version 2011-06-15. There are AssumeRole and GetCallerIdentity.",
  });
  t.match(await ask(sidecar, keys, `Action=${"x".repeat(500)}`), { code: "InvalidAction", message: /^Could not find operation x{100}\.\.\. for version NO_VERSION_SPECIFIED/ });
  t.match(await ask(sidecar, keys, "Action=getcalleridentity"), { code: "InvalidAction" });
  const unsigned = { url: "/sts", headers: { host: HOST, "content-type": FORM } };
  t.match(await send(sidecar.app, { ...unsigned, payload: "Action=AssumeRoleWithWebIdentity&Version=2011-06-15" }), {
    status: 403, code: "AccessDenied", message: /^AssumeRoleWithWebIdentity is not granted here\. Take AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE from/,
  });
  t.match(await send(sidecar.app, { ...unsigned, payload: WHO }), { status: 403, code: "MissingAuthenticationToken" });
  t.match(await send(sidecar.app, { ...unsigned, payload: "Action=AssumeRoleWithSAML" }), { code: "MissingAuthenticationToken" });
  t.match(await send(sidecar.app, { ...unsigned, payload: "" }), { status: 400, code: "MissingAction" });
});

test("a body of 64 KiB is read, and one more byte is not", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  const body = `${WHO}&X=`.padEnd(64 * 1024, "x");
  t.equal((await ask(sidecar, keys, body)).code, "ok");
  t.match(await ask(sidecar, keys, `${body}x`), { status: 413, code: "RequestEntityTooLarge", message: "The body is larger than 65536 bytes. (ERR_REQUEST_TOO_LARGE)" });
});

test("identity-only: keys of the sidecar's own, in the base identity's name, that can assume roles here", async (t) => {
  const sidecar = new SidecarUnderTest({ identityOnly: true, objects: [namespaceObject("team-a"), namespaceObject("none"), TEAM_A] });
  const answer = (await sidecar.get("/v1/credentials")).json<VendedKeys & { AccountId: string; Expiration: string }>();
  t.match(answer, { AccessKeyId: /^ASIA[A-Z2-7]{16}$/, AccountId: BASE_IDENTITY.accountID, Expiration: "2026-08-01T13:00:00Z" });
  t.not(answer.AccessKeyId, "ASIABASE");
  t.notMatch(JSON.stringify(answer), /planted/, "nothing of the base identity's");
  const unmatched = await keysOf(sidecar, "/v1/credentials/namespaces/none?kind=Bucket.s3.services.k8s.aws");
  t.equal(unmatched.AccessKeyId, answer.AccessKeyId, "the same where no selector selects");
  t.match((await ask(sidecar, answer)).body, `<Arn>${BASE_IDENTITY.arn}</Arn>`);
  t.equal((await ask(sidecar, answer, assumeBody({ RoleArn: ROLE_A }))).code, "ok");
});

test("an answer waits until what it vends is written down", async (t) => {
  const [asked, written] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  let isOpen = false;
  const append = async (): Promise<void> => {
    if (!isOpen) return;
    asked.resolve(null);
    await written.promise;
  };
  const issued = await IssuedCredentials.open(t.testdir({}), { clock: new FakeClock(), log: createLogger({ name: "x", level: "silent" }), append });
  t.teardown(() => issued.close());
  isOpen = true;
  const sidecar = new SidecarUnderTest({ issued });
  const answer = sidecar.get("/v1/credentials");
  await asked.promise;
  let isAnswered = false;
  void answer.then(() => (isAnswered = true));
  for (let i = 0; i < 100; i++) await sidecar.clock.advance(1);
  t.notOk(isAnswered);
  written.resolve(null);
  t.equal((await answer).statusCode, 200);
});

async function scoped(t: Test): Promise<SidecarUnderTest> {
  const other = selectorObject("other", { arn: "arn:aws:iam::222222222222:role/o", namespaceSelector: { names: ["other"] } });
  const sidecar = new SidecarUnderTest({ objects: [namespaceObject("team-a"), namespaceObject("other"), TEAM_A, other], ...SCOPED });
  t.teardown(() => sidecar.app.close());
  return sidecar;
}

test("within a scope the controller is the role there, may assume that, and nothing of another namespace", async (t) => {
  const sidecar = await scoped(t);
  const keys = await keysOf(sidecar);
  t.match((await ask(sidecar, keys)).body, "<Account>111111111111</Account>");
  t.equal((await ask(sidecar, keys, assumeBody({ RoleArn: ROLE_A }))).code, "ok");
  t.match(await ask(sidecar, keys, assumeBody({ RoleArn: "arn:aws:iam::222222222222:role/o" })), { status: 403, code: "AccessDenied", message: /\(ERR_SELECTOR_NOT_GRANTED\)$/ });
});

test("a refusal is logged with what was asked, once it is believed, and is counted", async (t) => {
  const sidecar = new SidecarUnderTest();
  const keys = await keysOf(sidecar);
  await ask(sidecar, { ...keys, SecretAccessKey: "guessed" });
  await ask(sidecar, keys, assumeBody({ RoleArn: "arn:aws:iam::222222222222:role/o" }));
  t.match(sidecar.logLines.map((line): unknown => JSON.parse(line)), [
    { level: "warn", path: "/sts", code: "SignatureDoesNotMatch", status: 403 },
    {
      level: "warn", path: "/sts", code: "ERR_SELECTOR_NOT_GRANTED", status: 403,
      asked: { action: "AssumeRole", role_arn: "arn:aws:iam::222222222222:role/o", caller: BASE_IDENTITY.arn },
    },
  ]);
  t.notMatch(sidecar.logLines[0] ?? "", /"asked"/);
  const metrics = await sidecar.registry.metrics();
  for (const line of ['refusals_total{code="SignatureDoesNotMatch"} 1', 'refusals_total{code="ERR_SELECTOR_NOT_GRANTED"} 1', 'auth_failures_total{kind="signature"} 1', 'requests_total{path="/sts",code="403"} 2']) {
    t.match(metrics, `ack_role_resolver_sidecar_${line}`);
  }
  t.notMatch([...sidecar.logLines, metrics].join("\n"), /planted|guessed/);
});

test("other methods are refused in STS's words, and the token opens nothing here", async (t) => {
  const { app } = new SidecarUnderTest();
  for (const method of ["GET", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"] as const) {
    const answer = await app.inject({ method, url: "/sts", headers: HEADERS });
    t.match([answer.statusCode, answer.headers["allow"], answer.headers["content-type"]], [405, "POST", "text/xml"], method);
  }
  t.match(await send(app, { url: "/sts", headers: { ...HEADERS, "content-type": FORM }, payload: WHO }), { status: 400, code: "IncompleteSignature" });
});
