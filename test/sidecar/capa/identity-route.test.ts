import { test } from "tap";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import { RejectedSignerError, UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import {
  controllerIdentity, INFRASTRUCTURE, roleARN, roleIdentity, staticIdentity,
} from "../../shared/capa-objects.ts";
import { namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import { FakeClock } from "../fake-clock.ts";
import { MINUTE, SECOND } from "../fake-sts.ts";
import { secretData } from "./secret-server.ts";
import { SCOPED, type Setup, SidecarUnderTest } from "../sidecar-under-test.ts";

const CHAIN = [roleIdentity("a", "role/b"), roleIdentity("b", "role/c"), roleIdentity("c")];
const OBJECTS = [namespaceObject("team-a"), controllerIdentity(), ...CHAIN];

function sidecarOf(setup: Setup = {}): SidecarUnderTest {
  return new SidecarUnderTest({ groups: [INFRASTRUCTURE], objects: OBJECTS, ...setup });
}

function pathOf(name: string, kind = "AWSClusterRoleIdentity"): string {
  return `/v1/credentials/identities/${kind}/${name}?namespace=team-a`;
}

test("returns the role at the end of a chain, and assumes each role with the session of its source", async (t) => {
  const sidecar = sidecarOf();
  const answer = await sidecar.get(pathOf("a"));
  t.equal(answer.statusCode, 200);
  t.match(answer.json(), { AccessKeyId: "ASIA3", AccountId: "111122223333" });
  t.same(sidecar.stsCalls.map((call) => call.roleARN), [roleARN("c"), roleARN("b"), roleARN("a")]);
  t.same(sidecar.signers, ["ASIABASE", "ASIA1", "ASIA2"]);
  await sidecar.get(pathOf("a"));
  await sidecar.get(pathOf("b"));
  t.equal(sidecar.stsCalls.length, 3, "all requests share the sessions of the chain");
});

test("returns the base identity for the controller identity", async (t) => {
  const sidecar = sidecarOf();
  const answer = await sidecar.get(pathOf("default", "AWSClusterControllerIdentity"));
  t.match([answer.statusCode, answer.json()], [200, { AccessKeyId: "ASIABASE", AccountId: "999999999999" }]);
  t.same(sidecar.stsCalls, []);
  const own = sidecarOf({ mode: "identity-only" });
  const keys = await own.get(pathOf("default", "AWSClusterControllerIdentity"));
  t.equal(keys.statusCode, 200);
  t.not(keys.json<Record<string, string>>()["AccessKeyId"], "ASIABASE", "identity-only keys replace the base keys");
});

test("sends every parameter of the role identity to STS", async (t) => {
  const parameters = {
    sessionName: "capa", externalID: "id-1", durationSeconds: 1800, inlinePolicy: '{"Version":"2012-10-17"}',
    policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"], tags: { team: "a", cost: "b" }, transitiveTags: ["team"],
  };
  const full = roleIdentity("full", "controller", {}, parameters);
  const sidecar = sidecarOf({ objects: [...OBJECTS, full] });
  t.equal((await sidecar.get(pathOf("full"))).statusCode, 200);
  t.same(sidecar.stsCalls, [{
    roleARN: roleARN("full"), sessionName: "capa", externalID: "id-1", durationSeconds: 1800, sourceIdentity: null,
    policy: parameters.inlinePolicy, policyARNs: parameters.policyARNs, transitiveTagKeys: ["team"],
    tags: [{ key: "cost", value: "b" }, { key: "team", value: "a" }],
  }]);
  await sidecar.get(pathOf("c"));
  t.match(sidecar.stsCalls[1], { sessionName: "ack-role-resolver", durationSeconds: 3600, externalID: null });
});

test("rejects each invalid request with a specific status and code, and without a call to STS", async (t) => {
  const objects = [
    ...OBJECTS, roleIdentity("loop", "role/loop"), roleIdentity("other", "controller", { list: ["team-b"] }),
    roleIdentity("long", "controller", {}, { durationSeconds: 3601 }), staticIdentity("static"),
  ];
  const sidecar = sidecarOf({ objects });
  const path = "/v1/credentials/identities/AWSClusterRoleIdentity";
  for (const [url, status, code] of [
    [pathOf("missing"), 404, "ERR_IDENTITY_UNKNOWN"],
    [pathOf("a", "Bucket"), 404, "ERR_IDENTITY_KIND"],
    [pathOf("other"), 403, "ERR_IDENTITY_NAMESPACE"],
    [pathOf("loop"), 409, "ERR_IDENTITY_CYCLE"],
    [pathOf("long"), 409, "ERR_IDENTITY_SESSION"],
    [pathOf("static", "AWSClusterStaticIdentity"), 409, "ERR_IDENTITY_SECRET"],
    [`${path}/a?namespace=missing`, 404, "ERR_NAMESPACE_UNKNOWN"],
    [`${path}/a`, 400, "ERR_REQUEST_MALFORMED"],
    [`${path}/a?namespace=`, 400, "ERR_REQUEST_MALFORMED"],
    [`${path}/a?namespace=A`, 400, "ERR_REQUEST_MALFORMED"],
    [`${pathOf("a")}&namespace=team-a`, 400, "ERR_REQUEST_MALFORMED"],
    [`${pathOf("a")}&kind=AWSCluster`, 400, "ERR_REQUEST_MALFORMED"],
    [path, 404, "ERR_REQUEST_NOT_FOUND"],
  ] as const) {
    const answer = await sidecar.get(url);
    t.match([answer.statusCode, answer.json()], [status, { code, Code: code }], url);
  }
  t.same(sidecar.stsCalls, []);
});

test("rejects a request without a token, before the inventory is loaded and outside of the scope", async (t) => {
  const sidecar = sidecarOf();
  t.equal((await sidecar.get(pathOf("a"), { host: "127.0.0.1:9780" })).statusCode, 401);
  sidecar.status = { loaded: false, lastSyncMs: null, fault: null };
  t.match((await sidecar.get(pathOf("a"))).json(), { code: "ERR_NOT_READY" });
  const scoped = sidecarOf({ ...SCOPED, scope: "team-b" });
  t.match((await scoped.get(pathOf("a"))).json(), { code: "ERR_SELECTOR_NOT_GRANTED" });
  t.same([...sidecar.stsCalls, ...scoped.stsCalls], []);
});

test("with a scope, issues identities of several accounts, and pins none of them for the controller", async (t) => {
  const S3 = "s3.services.k8s.aws";
  const other = "arn:aws:iam::444455556666:role/b";
  const selector = selectorObject("s", { arn: roleARN("s3"), namespaceSelector: { names: ["team-a"] } });
  const objects = [...OBJECTS, roleIdentity("other", "controller", {}, { roleARN: other }), selector];
  const issued = new IssuedCredentials(new FakeClock());
  const sidecar: SidecarUnderTest = sidecarOf({
    ...SCOPED, groups: [INFRASTRUCTURE, S3], objects, issued,
    assumeRole: async (request) => (
      { ...sidecar.session(request), accountID: request.roleARN === other ? "444455556666" : "111122223333" }
    ),
  });
  for (const [path, accountID] of [
    [pathOf("other"), "444455556666"], [pathOf("c"), "111122223333"], ["/v1/credentials", "111122223333"],
    [pathOf("other"), "444455556666"],
  ] as const) {
    const answer = await sidecar.get(path);
    t.match([answer.statusCode, answer.json()], [200, { AccountId: accountID }], path);
  }
  t.equal(issued.accountID, "111122223333", "a restart restores the account of the controller");
});

test("rejects a static identity whose access key is of an account that is not allowed", async (t) => {
  const accountsOf = async (...allowedAccounts: string[]): Promise<unknown[]> => {
    const sidecar = sidecarOf({
      objects: [...OBJECTS, staticIdentity("s", {}, "creds")], settings: { ...SETTINGS_BY_DEFAULT, allowedAccounts },
      secrets: { creds: secretData({ AccessKeyID: "AKIA1", SecretAccessKey: "secret" }) },
    });
    sidecar.secrets?.start();
    await sidecar.clock.advance(SECOND);
    const answer = await sidecar.get(pathOf("s", "AWSClusterStaticIdentity"));
    const { code, message, AccountId } = answer.json<Record<string, string>>();
    const isIssued = sidecar.issued.find("AKIA1") !== undefined;
    return [answer.statusCode, code ?? AccountId, message, sidecar.auditLines.length, isIssued];
  };
  const message = "The identity is in account 444455556666, which is not in --allowed-accounts. "
    + "Use an identity of an allowed account, or add the account.";
  t.same(await accountsOf("111122223333"), [403, "ERR_IDENTITY_ACCOUNT", message, 0, false]);
  t.same(await accountsOf("111122223333", "444455556666"), [200, "444455556666", undefined, 1, true]);
});

test("stops granting an identity that is removed or changed, and shares no session with the changed one", async (t) => {
  const sidecar = sidecarOf();
  await sidecar.get(pathOf("a"));
  sidecar.inventory.apply([put(roleIdentity("b", "role/c", { list: ["team-b"] }))]);
  t.match((await sidecar.get(pathOf("a"))).json(), { code: "ERR_IDENTITY_NAMESPACE" });
  t.equal((await sidecar.get(pathOf("c"))).statusCode, 200);
  t.equal(sidecar.stsCalls.length, 3, "the session of the unchanged source stays cached");
  sidecar.inventory.apply([put(roleIdentity("b", "role/c", {}, { externalID: "new" }))]);
  t.equal((await sidecar.get(pathOf("a"))).statusCode, 200);
  t.match(sidecar.stsCalls.slice(3), [{ roleARN: roleARN("b"), externalID: "new" }, { roleARN: roleARN("a") }]);
  t.equal(sidecar.stsCalls.length, 5, "only the sessions that are created from the changed identity are new");
  sidecar.inventory.apply([removal(INFRASTRUCTURE, "AWSClusterRoleIdentity", "c")]);
  t.match((await sidecar.get(pathOf("a"))).json(), { code: "ERR_IDENTITY_UNKNOWN" });
  t.equal(sidecar.stsCalls.length, 5);
});

test("reports which identity of a chain STS denies", async (t) => {
  const denied = new UpstreamSTSError("STS returned AccessDenied for AssumeRole", {
    stsCode: "AccessDenied", stsStatus: 403,
  });
  const sidecar = sidecarOf({
    assumeRole: async (request) => {
      if (request.roleARN === roleARN("b")) throw denied;
      return sidecar.session(request);
    },
  });
  const answer = await sidecar.get(pathOf("a"));
  t.match([answer.statusCode, answer.json()], [503, {
    code: "ERR_STS_REFUSED",
    message: /^AWSClusterRoleIdentity "b" cannot be assumed: STS denied .* STS returned AccessDenied for AssumeRole$/,
  }]);
  await sidecar.get(pathOf("a"));
  t.equal(sidecar.stsCalls.length, 2, "the denial is cached");
});

test("replaces the session of a source that STS rejects", async (t) => {
  let rejections = 1;
  const sidecar = sidecarOf({
    assumeRole: async (request) => {
      if (request.roleARN === roleARN("b") && rejections-- > 0) {
        throw new RejectedSignerError("ExpiredToken", "STS returned ExpiredToken for AssumeRole.");
      }
      return sidecar.session(request);
    },
  });
  t.match((await sidecar.get(pathOf("a"))).json(), {
    code: "ERR_STS_UNAVAILABLE",
    message: 'STS rejected the session of AWSClusterRoleIdentity "c", which is the source of the role. STS returned '
      + "ExpiredToken for AssumeRole. Retry the request.",
  });
  await sidecar.clock.advance(MINUTE);
  t.equal((await sidecar.get(pathOf("a"))).statusCode, 200);
  t.same(sidecar.stsCalls.map((call) => call.roleARN), ["c", "b", "c", "b", "a"].map(roleARN));
});

test("logs the identity and the namespace of a rejected request", async (t) => {
  const sidecar = sidecarOf();
  await sidecar.get(pathOf("missing"));
  t.match(JSON.parse(sidecar.logLines.at(-1) ?? ""), {
    path: "/v1/credentials/identities/:kind/:name", code: "ERR_IDENTITY_UNKNOWN",
    requested: { kind: "AWSClusterRoleIdentity", name: "missing", namespace: "team-a" }, selectors: [],
  });
});
