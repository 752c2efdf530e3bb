import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import type { SessionRequest } from "../../../shared/decisions/selectors/session.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { namespaceObject, put, removal, selectorObject } from "../../shared/decisions/objects.ts";
import { BASE_SECRET, ROLE_A, ROLE_SECRET, type Setup, SidecarUnderTest, TEAM_A } from "../sidecar-under-test.ts";
import { assumeBody, elementOf, send, signed, type STSAnswer, type VendedKeys } from "../sts/signed-request.ts";

const OTHER = "arn:aws:iam::222222222222:role/o";

/** A controller with its base credentials. */
class Controller {
  readonly sidecar: SidecarUnderTest;
  #keys: VendedKeys | null = null;

  constructor(setup: Setup = {}) {
    this.sidecar = new SidecarUnderTest(setup);
  }

  async assume(parameters: Readonly<Record<string, string>> = {}): Promise<STSAnswer> {
    this.#keys ??= (await this.sidecar.get("/v1/credentials")).json<VendedKeys>();
    return this.with(this.#keys, parameters);
  }

  async with(keys: VendedKeys, parameters: Readonly<Record<string, string>> = {}): Promise<STSAnswer> {
    return send(this.sidecar.app, await signed({ keys, body: assumeBody({ RoleArn: ROLE_A, ...parameters }), now: this.sidecar.clock.now() }));
  }
}

test("a granted role, in exactly STS's document", async (t) => {
  const controller = new Controller();
  const answer = await controller.assume({ DurationSeconds: "900" });
  t.equal(
    answer.body.replace(/[0-9a-f-]{36}/, "ID"),
    `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleResult>
    <AssumedRoleUser>
      <AssumedRoleId>AROAROLE:session</AssumedRoleId>
      <Arn>arn:aws:sts::111111111111:assumed-role/a/session</Arn>
    </AssumedRoleUser>
    <Credentials>
      <AccessKeyId>ASIA1</AccessKeyId>
      <SecretAccessKey>${ROLE_SECRET}</SecretAccessKey>
      <SessionToken>${ROLE_SECRET}-token</SessionToken>
      <Expiration>2026-08-01T12:15:00Z</Expiration>
    </Credentials>
  </AssumeRoleResult>
  <ResponseMetadata>
    <RequestId>ID</RequestId>
  </ResponseMetadata>
</AssumeRoleResponse>
`,
  );
  t.match(controller.sidecar.stsCalls, [{ roleARN: ROLE_A, sessionName: "ack-role-resolver", durationSeconds: 3600, policy: null, policyARNs: [] }], "an hour, for all");
});

test("the random session names of 1,000 controllers' calls, and the credential path, share one session", async (t) => {
  const controller = new Controller();
  await Promise.all(Array.from({ length: 1_000 }, (_, i) => controller.assume({ RoleSessionName: `aws-go-sdk-${i}`, DurationSeconds: "900" })));
  await controller.sidecar.get("/v1/credentials/selectors/team-a");
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("the end that is stated: 5 minutes early, in a minute at the soonest, and not past what was asked", async (t) => {
  const controller = new Controller();
  const statedIn = async (parameters = {}): Promise<number> => {
    const text = elementOf((await controller.assume(parameters)).body, "Expiration") ?? "";
    return (Date.parse(text) - controller.sidecar.clock.now()) / 60_000;
  };
  t.equal(await statedIn(), 55);
  t.equal(await statedIn({ DurationSeconds: "3600" }), 55);
  t.equal(await statedIn({ DurationSeconds: "900" }), 15);
  const short = new Controller({
    assumeRole: async (request) => ({ ...controller.sidecar.session(request), expirationMs: Date.parse("2026-08-01T12:05:30Z") }),
  });
  t.equal(elementOf((await short.assume()).body, "Expiration"), "2026-08-01T12:01:00Z", "a minute from now");
});

test("policies narrow a session of their own, and what STS packed is passed on", async (t) => {
  const controller = new Controller({ assumeRole: async (request) => ({ ...controller.sidecar.session(request), ...(request.policy !== null && { packedPolicySize: 7 }) }) });
  const narrowed = { Policy: '{"Version":"2012-10-17","Statement":[]}', "PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/ReadOnlyAccess" };
  t.equal(elementOf((await controller.assume(narrowed)).body, "PackedPolicySize"), "7");
  t.equal(elementOf((await controller.assume()).body, "PackedPolicySize"), null);
  await controller.assume(narrowed);
  t.match(controller.sidecar.stsCalls, [{ policy: narrowed.Policy, policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"] }, { policy: null, policyARNs: [] }]);
  t.equal(controller.sidecar.stsCalls.length, 2);
});

test("only who is the controller may: a role may not assume another, nor itself", async (t) => {
  const controller = new Controller();
  const paths = ["/v1/credentials/selectors/team-a", "/v1/credentials/namespaces/team-a"];
  for (const path of paths) {
    const keys = (await controller.sidecar.get(path)).json<VendedKeys>();
    t.match(await controller.with(keys), { status: 403, code: "AccessDenied", message: /^Role chaining is not granted: .* is a role already\. Ask with the credentials of GET \/v1\/credentials\.$/ }, path);
  }
  const { body } = await controller.assume();
  const [AccessKeyId = "", SecretAccessKey = "", Token = ""] = ["AccessKeyId", "SecretAccessKey", "SessionToken"].map((name) => elementOf(body, name) ?? "");
  t.match(await controller.with({ AccessKeyId, SecretAccessKey, Token }), { code: "AccessDenied", message: /^Role chaining/ }, "what AssumeRole gave");
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("the base identity is the controller's where no selector selects, too", async (t) => {
  const controller = new Controller({ objects: [namespaceObject("team-a"), namespaceObject("none"), TEAM_A] });
  const keys = (await controller.sidecar.get("/v1/credentials/namespaces/none?kind=Bucket.s3.services.k8s.aws")).json<VendedKeys>();
  t.equal((await controller.with(keys)).code, "ok");
});

test("what is not granted makes no call of STS, and a selector that goes ends it at once", async (t) => {
  const rds = selectorObject("rds", { arn: OTHER, namespaceSelector: { names: ["team-a"] }, resourceTypeSelector: [{ group: "rds.services.k8s.aws" }] });
  const controller = new Controller({ objects: [namespaceObject("team-a"), TEAM_A, rds], allowedAccounts: ["111111111111", "222222222222"] });
  for (const RoleArn of [OTHER, "arn:aws:iam::111111111111:role/b", "arn:aws-cn:iam::111111111111:role/a", "arn:aws:iam::111111111111:role/A", "arn:aws:iam::111111111111:role/x/a"]) {
    t.match(await controller.assume({ RoleArn }), { status: 403, code: "AccessDenied", message: /\(ERR_SELECTOR_NOT_GRANTED\)$/ }, RoleArn);
  }
  t.same(controller.sidecar.stsCalls, []);
  t.equal((await controller.assume()).code, "ok");
  controller.sidecar.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.equal((await controller.assume()).code, "AccessDenied");
  controller.sidecar.inventory.apply([put(TEAM_A)]);
  t.equal((await controller.assume()).code, "ok");
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("--allowed-accounts and the pinned account hold here as well", async (t) => {
  const strict = new Controller({ allowedAccounts: ["222222222222"] });
  t.match(await strict.assume(), { status: 403, code: "AccessDenied", message: /which is none of --allowed-accounts\. \(ERR_SELECTOR_NOT_GRANTED\)$/ });
  const pinned = new Controller({ pinsAccount: true });
  t.match(await pinned.assume(), { status: 403, code: "AccessDenied", message: /and this sidecar has answered for account 999999999999\..* \(ERR_SELECTOR_ACCOUNT_PINNED\)$/ });
  t.same([...strict.sidecar.stsCalls, ...pinned.sidecar.stsCalls], []);
});

test("extras are the selector's: absent, or the same, or refused by name without a word of theirs", async (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "planted-external", "ack-role-resolver.io/source-identity": "ack-s3", "ack-role-resolver.io/session-tags": "team=a,env=prod",
    "ack-role-resolver.io/session-name": "stable",
  };
  const tagged = { ...TEAM_A, metadata: { name: "team-a", annotations } };
  const controller = new Controller({ objects: [namespaceObject("team-a"), tagged] });
  const tags = { "Tags.member.1.Key": "env", "Tags.member.1.Value": "prod", "Tags.member.2.Key": "team", "Tags.member.2.Value": "a" };
  const same = { ExternalId: "planted-external", SourceIdentity: "ack-s3", ...tags };
  t.equal(elementOf((await controller.assume()).body, "SourceIdentity"), "ack-s3");
  t.equal((await controller.assume(same)).code, "ok", "tags in any order");
  t.match(controller.sidecar.stsCalls, [{ externalID: "planted-external", sourceIdentity: "ack-s3", sessionName: "stable", tags: [{ key: "env", value: "prod" }, { key: "team", value: "a" }] }]);
  t.equal(controller.sidecar.stsCalls.length, 1);
  const others: readonly (readonly [parameters: Readonly<Record<string, string>>, named: RegExp])[] = [
    [{ ExternalId: "guess" }, /^ExternalId: not what/], [{ SourceIdentity: "mallory" }, /^SourceIdentity: not what/],
    [{ ...tags, "Tags.member.2.Value": "b" }, /^Tags: not what/], [{ "Tags.member.1.Key": "env", "Tags.member.1.Value": "prod" }, /^Tags: not what/],
    [{ "TransitiveTagKeys.member.1": "env" }, /^TransitiveTagKeys: not what/],
    [{ ExternalId: "guess", SourceIdentity: "x-y", "TransitiveTagKeys.member.1": "env" }, /^ExternalId, SourceIdentity, TransitiveTagKeys: not what/],
  ];
  for (const [parameters, message] of others) {
    const answer = await controller.assume(parameters);
    t.match(answer, { status: 403, code: "AccessDenied", message });
    t.notMatch(answer.body, "planted");
  }
  t.equal((await new Controller().assume({ ExternalId: "guess" })).code, "AccessDenied", "where the selector says none");
});

test("proofs of another's identity are refused by name", async (t) => {
  const controller = new Controller();
  const proofs = { SerialNumber: "arn:aws:iam::999999999999:mfa/ops", TokenCode: "123456" };
  t.match(await controller.assume(proofs), { status: 403, code: "AccessDenied", message: /^SerialNumber, TokenCode: the sidecar asks STS with its own identity/ });
  const context = { "ProvidedContexts.member.1.ProviderArn": "arn:aws:iam::aws:contextProvider/IdentityCenter", "ProvidedContexts.member.1.ContextAssertion": "assertion" };
  t.match(await controller.assume(context), { code: "AccessDenied", message: /^ProvidedContexts: / });
  t.same(controller.sidecar.stsCalls, []);
});

test("over an hour only where STS would give it: not to a session's role", async (t) => {
  const chained = new Controller();
  t.match(await chained.assume({ DurationSeconds: "3601" }), { status: 400, code: "ValidationError", message: /exceeds the 1 hour session limit for roles assumed by role chaining/ });
  t.same(chained.sidecar.stsCalls, []);
  const user = { accessKeyID: "AKIA", secretAccessKey: BASE_SECRET, sessionToken: null, expirationMs: null };
  const longLived = new Controller({ base: async () => user, vendsLongLivedBase: true });
  t.equal((await longLived.assume({ DurationSeconds: "7200" })).code, "ok");
  t.match(longLived.sidecar.stsCalls, [{ durationSeconds: 7200 }]);
  t.equal((await longLived.assume({ DurationSeconds: "900" })).code, "ok");
  t.match(longLived.sidecar.stsCalls, [{ durationSeconds: 7200 }, { durationSeconds: 3600 }], "another duration is another session");
});

test("what STS refused is passed on with its code; its trouble is ServiceUnavailable, and never 429", async (t) => {
  const failing = (fault: Error): Promise<STSAnswer> => new Controller({ assumeRole: async () => { throw fault; } }).assume();
  t.match(await failing(new UpstreamSTSError("STS answered AssumeRole with AccessDenied: no", { stsCode: "AccessDenied", stsStatus: 403 })), {
    status: 403, code: "AccessDenied", message: "STS answered AssumeRole with AccessDenied: no",
  });
  t.match(await failing(new UpstreamSTSError("x", { stsCode: "PackedPolicyTooLarge", stsStatus: 400 })), { status: 400, code: "PackedPolicyTooLarge" });
  t.match(await failing(new ResolverError("ERR_STS_UNAVAILABLE", "STS answered AssumeRole with Throttling: Rate exceeded")), { status: 503, code: "ServiceUnavailable" });
  t.match(await failing(new ResolverError("ERR_BASE_UNAVAILABLE", "none")), { status: 503, code: "ServiceUnavailable" });
  t.match(await failing(new TypeError("planted")), { status: 500, code: "InternalFailure", message: "A fault of the sidecar; its log has the details. (ERR_INTERNAL)" });
});

test("nothing is assumed before the inventory is loaded", async (t) => {
  const controller = new Controller();
  await controller.sidecar.get("/v1/credentials");
  await controller.assume();
  controller.sidecar.status = { loaded: false, lastSyncMs: null, fault: null };
  t.match(await controller.assume(), { status: 503, code: "ServiceUnavailable" });
});

test("an answer comes within 850 ms, and what STS says later is found by the next request", async (t) => {
  const late = Promise.withResolvers<Credentials>();
  const asked = Promise.withResolvers<SessionRequest>();
  const controller = new Controller({
    assumeRole: (request) => {
      asked.resolve(request);
      return late.promise;
    },
  });
  const first = controller.assume();
  const request = await asked.promise;
  await controller.sidecar.clock.advance(850);
  t.match(await first, { status: 503, code: "ServiceUnavailable", message: /not answered within 850 ms/ });
  late.resolve(controller.sidecar.session(request));
  t.equal((await controller.assume()).code, "ok");
  t.equal(controller.sidecar.stsCalls.length, 1);
});
