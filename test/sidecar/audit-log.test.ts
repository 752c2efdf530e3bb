import { SELECTOR_OWNER } from "../../shared/core/grant-session.ts";
import { closeSync, openSync, readFileSync } from "node:fs";
import { test } from "tap";
import { createLogger, LogOutput } from "../../shared/server/logger.ts";
import { NO_EXTRAS } from "../../shared/core/session.ts";
import { AuditLog, type Issue } from "../../sidecar/audit-log.ts";
import type { Credentials } from "../../sidecar/credentials/session.ts";
import {
  controllerIdentity, identityObject, INFRASTRUCTURE, roleARN, roleIdentity, staticIdentity,
} from "../shared/capa-objects.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { FakeClock } from "./fake-clock.ts";
import { HOUR, MINUTE, SECOND } from "./fake-sts.ts";
import { secretData } from "./capa/secret-server.ts";
import { TokenServer } from "./capa/token-server.ts";
import { RecordedLog } from "./recorded-log.ts";
import { BASE_IDENTITY, ROLE_A, SidecarUnderTest } from "./sidecar-under-test.ts";
import { Controller } from "./sts/controller.ts";
import type { VendedKeys } from "./sts/signed-request.ts";

const SELECTOR = "/v1/credentials/selectors/team-a";
const OBTAINED = "session obtained from STS";
const ISSUED = "credentials issued to a client";
/** The fields of the first session of the role of `team-a`. */
const FIRST = {
  role_arn: ROLE_A, selectors: ["team-a"], account: "111111111111",
  arn: "arn:aws:sts::111111111111:assumed-role/a/session", session_name: "session", access_key_id: "ASIA1",
  sts_request_id: "request-1",
};

test("logs each session that STS returns, and the first time that each client gets it", async (t) => {
  const controller = new Controller();
  const { sidecar } = controller;
  for (const path of [SELECTOR, SELECTOR, "/v1/credentials/namespaces/team-a?kind=Bucket.s3.services.k8s.aws"]) {
    t.equal((await sidecar.get(path)).statusCode, 200);
  }
  t.equal((await controller.assume({ RoleSessionName: "mine" })).status, 200);
  const [obtained, ...issued] = sidecar.auditLines;
  const expiration = new Date(sidecar.clock.now() + HOUR).toISOString().replace(/\.\d+Z/, "Z");
  t.same(obtained, { ...FIRST, expiration, msg: OBTAINED });
  const base = {
    path: "/v1/credentials", requested: {}, base: true, account: BASE_IDENTITY.accountID, arn: BASE_IDENTITY.arn,
    session_name: "pod", expiration, msg: ISSUED,
  };
  const ofRole = { ...FIRST, expiration, msg: ISSUED };
  t.same(issued, [
    { ...ofRole, path: "/v1/credentials/selectors/:name", requested: { name: "team-a" } },
    {
      ...ofRole, path: "/v1/credentials/namespaces/:namespace",
      requested: { namespace: "team-a", kind: "Bucket.s3.services.k8s.aws" },
    },
    base,
    {
      ...ofRole, path: "/sts", requested: { action: "AssumeRole", caller: BASE_IDENTITY.arn, role_arn: ROLE_A },
      requested_session_name: "mine", region: "eu-west-1",
    },
  ]);
});

test("logs a renewed session, and with it the number of requests that had no line", async (t) => {
  const { sidecar } = new Controller();
  for (let i = 0; i < 1_001; i++) await sidecar.get(SELECTOR);
  t.equal(sidecar.auditLines.length, 2);
  await sidecar.clock.advance(31 * MINUTE);
  t.match(sidecar.auditLines.slice(2), [{ msg: OBTAINED, access_key_id: "ASIA2" }], "the background renewal");
  for (let i = 0; i < 10; i++) await sidecar.get(SELECTOR);
  t.match(sidecar.auditLines.slice(3), [{ msg: ISSUED, access_key_id: "ASIA2", repeats: 1_000 }]);
  t.equal(sidecar.auditLines.length, 4);
});

test("logs the source identity of a session, and no secret of its selector or its keys", async (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "planted-external-id", "ack-role-resolver.io/session-tags": "team=planted",
    "ack-role-resolver.io/source-identity": "ack",
  };
  const selector = selectorObject("team-a", { arn: ROLE_A, namespaceSelector: { names: ["team-a"] } }, { annotations });
  const controller = new Controller({ objects: [namespaceObject("team-a"), selector] });
  const policy = JSON.stringify({ Version: "2012-10-17", Statement: [], Id: "planted" });
  t.equal((await controller.assume({ Policy: policy, ExternalId: "planted-external-id" })).status, 200);
  const lines = controller.sidecar.auditLines;
  t.match(lines.filter(({ base }) => base !== true), [
    { msg: OBTAINED, source_identity: "ack" }, { msg: ISSUED, source_identity: "ack" },
  ]);
  t.notMatch(JSON.stringify(lines), /planted/);
});

test("takes session names that differ only in the time of an SDK for one client", async (t) => {
  const controller = new Controller();
  for (const name of ["aws-go-sdk-1700000000000000001", "aws-go-sdk-1700000000000000002", "deploy-111122223333"]) {
    await controller.assume({ RoleSessionName: name });
    await controller.assume({ RoleSessionName: name });
  }
  const names = controller.sidecar.auditLines.map((line) => line["requested_session_name"]).filter(Boolean);
  t.same(names, ["aws-go-sdk-1700000000000000001", "deploy-111122223333"]);
});

test("logs the first time that a client gets a session for each region", async (t) => {
  const controller = new Controller();
  const keys = (await controller.sidecar.get("/v1/credentials")).json<VendedKeys>();
  for (const region of ["eu-west-1", "us-east-1", "eu-west-1"]) await controller.assumeWith(keys, {}, region);
  const regions = controller.sidecar.auditLines.map((line) => line["region"]).filter(Boolean);
  t.same(regions, ["eu-west-1", "us-east-1"]);
});

test("logs a client that alternates between two sessions of a role once for each", async (t) => {
  const controller = new Controller();
  const policies = ["1", "2"].map((Id) => JSON.stringify({ Version: "2012-10-17", Statement: [], Id }));
  for (let i = 0; i < 20; i++) await controller.assume({ Policy: policies[i % 2] ?? "" });
  const issued = controller.sidecar.auditLines.filter(({ msg, base }) => msg === ISSUED && base !== true);
  t.same(issued.map((line) => line["access_key_id"]), ["ASIA1", "ASIA2"]);
});

test("logs each session in a chain of identities, and the key of a Secret without its ID", async (t) => {
  const account = identityObject("AWSServiceAccountIdentity", "capa", { roleARN: roleARN("capa") }, {
    namespace: "team-a", uid: "uid-1",
  });
  const chain = [roleIdentity("a", "role/b"), roleIdentity("b", "static/s"), staticIdentity("s", {}, "creds")];
  const sidecar = new SidecarUnderTest({
    groups: [INFRASTRUCTURE], objects: [namespaceObject("team-a"), controllerIdentity(), account, ...chain],
    secrets: { creds: secretData({ AccessKeyID: "AKIAPLANTED", SecretAccessKey: "planted" }) },
    api: new TokenServer().api,
  });
  sidecar.secrets?.start();
  await sidecar.clock.advance(SECOND);
  const identities = ["AWSClusterRoleIdentity/a", "AWSClusterStaticIdentity/s", "AWSServiceAccountIdentity/capa"];
  for (const identity of [...identities, "AWSClusterControllerIdentity/default"]) {
    const answer = await sidecar.get(`/v1/credentials/identities/${identity}?namespace=team-a`);
    t.equal(answer.statusCode, 200, answer.body);
  }
  const path = "/v1/credentials/identities/:kind/:name";
  t.match(sidecar.auditLines, [
    { msg: OBTAINED, identity: "AWSClusterRoleIdentity/b", role_arn: roleARN("b"), access_key_id: "ASIA1" },
    { msg: OBTAINED, identity: "AWSClusterRoleIdentity/a", role_arn: roleARN("a"), sts_request_id: "request-2" },
    {
      msg: ISSUED, identity: "AWSClusterRoleIdentity/a", role_arn: roleARN("a"), sts_request_id: "request-2", path,
      requested: { kind: "AWSClusterRoleIdentity", name: "a", namespace: "team-a" },
    },
    { msg: ISSUED, identity: "AWSClusterStaticIdentity/s", arn: /:user\/capa$/, account: "444455556666" },
    { msg: OBTAINED, identity: "AWSServiceAccountIdentity/capa", identity_namespace: "team-a" },
    { msg: ISSUED, identity: "AWSServiceAccountIdentity/capa", identity_namespace: "team-a", access_key_id: "ASIA3" },
    { msg: ISSUED, base: true, requested: { kind: "AWSClusterControllerIdentity" } },
  ]);
  t.notMatch(JSON.stringify(sidecar.auditLines), /planted/i);
  t.equal(sidecar.auditLines.length, 7);
});

test("logs a long-lived key once an hour, and does not log a response that is too late", async (t) => {
  const base = async (): Promise<Credentials> => ({
    ...BASE_IDENTITY, accessKeyID: "AKIABASE", secretAccessKey: "planted", sessionToken: null, expirationMs: null,
  });
  const pending = Promise.withResolvers<Credentials>();
  const sidecar = new SidecarUnderTest({ base, mode: "vend", assumeRole: () => pending.promise });
  for (let minute = 0; minute <= 60; minute++) {
    await sidecar.get("/v1/credentials");
    await sidecar.clock.advance(MINUTE);
  }
  t.same(sidecar.auditLines.map(({ expiration, repeats }) => [expiration, repeats]), [[null, undefined], [null, 59]]);
  t.notMatch(JSON.stringify(sidecar.auditLines), /AKIABASE/);
  const late = sidecar.get(SELECTOR);
  await sidecar.clock.advance(SECOND);
  t.equal((await late).statusCode, 503);
  pending.resolve(sidecar.session({ roleARN: ROLE_A }));
  await sidecar.clock.advance(SECOND);
  t.match(sidecar.auditLines.slice(2), [{ msg: OBTAINED }]);
  t.equal(sidecar.auditLines.length, 3);
});

function auditLog(): { audit: AuditLog; lines: readonly Record<string, unknown>[]; texts: readonly string[] } {
  const { log, lines, texts } = new RecordedLog();
  return { lines, texts, audit: new AuditLog({ log, clock: new FakeClock() }) };
}

const CREDENTIALS: Credentials = {
  accessKeyID: "ASIA1", secretAccessKey: "planted", sessionToken: "planted", expirationMs: HOUR,
  userID: "AROAA:session", accountID: "111111111111", arn: "arn:aws:sts::111111111111:assumed-role/a/session",
};

function issue(role: string, client: string, accessKeyID = "ASIA1"): Issue {
  return {
    grant: {
      verdict: "role", roleARN: role, selectors: ["team-a"], extras: NO_EXTRAS, owner: SELECTOR_OWNER, grantedBy: {},
    },
    credentials: { ...CREDENTIALS, accessKeyID }, sessionKey: role, client: { key: client, fields: () => ({ client }) },
  };
}

test("has written both lines of a new session when the client gets it", (t) => {
  const file = `${t.testdir({})}/log`;
  const fd = openSync(file, "a");
  const log = createLogger({ name: "sidecar", destination: new LogOutput(fd) });
  const audit = new AuditLog({ log, clock: new FakeClock() });
  const { grant } = issue("a", "client");
  if (grant.verdict === "role") audit.obtained(grant, CREDENTIALS);
  audit.issued(issue("a", "client"));
  t.match(readFileSync(file, "utf8"), new RegExp(`${OBTAINED}.*\n.*${ISSUED}`));
  closeSync(fd);
  t.end();
});

test("logs the hash of a session policy, and the managed ones", (t) => {
  const { log, lines } = new RecordedLog();
  const audit = new AuditLog({ log, clock: new FakeClock() });
  const { grant } = issue("a", "client");
  if (grant.verdict !== "role") throw new Error("no role");
  audit.obtained(grant, CREDENTIALS, { policy: "{}", policyARNs: ["arn:aws:iam::aws:policy/A"] });
  audit.obtained(grant, CREDENTIALS, { policy: null, policyARNs: [] });
  t.match(lines[0], {
    session_policy_sha256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    session_policy_arns: ["arn:aws:iam::aws:policy/A"],
  });
  t.notOk(Object.keys(lines[1] ?? {}).some((name) => name.startsWith("session_policy")));
  t.end();
});

test("logs a client that shared a line as soon as there is room for a line of its own", async (t) => {
  const clock = new FakeClock();
  const { log, lines } = new RecordedLog();
  const audit = new AuditLog({ log, clock });
  for (let i = 0; i < 5_000; i++) audit.issued(issue("a", `client-${i}`));
  t.equal(audit.issued(issue("a", "late")), undefined, "the client has no entry that counts its repeats");
  t.match(lines.at(-1), { client: "late" });
  t.equal(audit.issued(issue("a", "later")), undefined);
  t.equal(lines.length, 5_001);
  await clock.advance(HOUR);
  const entry = audit.issued(issue("a", "later"));
  t.match(lines.at(-1), { client: "later" });
  t.ok(entry);
  if (entry !== undefined) t.equal(audit.repeats.countAgain(entry, CREDENTIALS.accessKeyID, clock.steady()), true);
  t.equal(lines.length, 5_002);
});

test("logs up to 5,000 clients separately, and all further clients once for each session", (t) => {
  const { audit, lines } = auditLog();
  for (let i = 0; i < 20_000; i++) audit.issued(issue("a", `client-${i}`));
  t.equal(lines.length, 5_001);
  for (let i = 0; i < 20_000; i++) audit.issued(issue("b", `client-${i}`));
  for (let i = 0; i < 20_000; i++) audit.issued(issue("b", "renewed", "ASIA2"));
  const hidden = [{ role_arn: "b", client: "client-0" }, { role_arn: "b", client: "renewed", repeats: 19_999 }];
  t.match(lines.slice(5_001), hidden, "a client cannot hide a session behind others");
  t.equal(lines.length, 5_003);
  for (let i = 0; i < 20_000; i++) audit.issued(issue(`role-${i}`, "client"));
  t.equal(lines.length, 25_003, "each role has a line");
  t.end();
});

test("escapes and limits what STS returns", (t) => {
  const { audit, lines, texts } = auditLog();
  const hostile = `\u001B[2J\u202E\n${"x".repeat(10_000)}`;
  const origin = { requestID: hostile, sourceIdentity: hostile };
  const arn = `arn:aws:sts::111111111111:assumed-role/a/${hostile}`;
  const { grant } = issue("a", "client");
  if (grant.verdict === "role") audit.obtained(grant, { ...CREDENTIALS, accessKeyID: hostile, arn, origin });
  t.match(lines, [{ sts_request_id: /^\\u001b\[2J\\u202e\\u000ax+$/ }]);
  t.notMatch(texts.join("").trimEnd(), /[\p{Cc}\p{Cf}]/u);
  t.ok(texts.join("").length < 6 * 2_100, `${texts.join("").length} characters`);
  t.end();
});
