import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import type { SessionRequest } from "../../../shared/decisions/selectors/session.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { namespaceObject, put, removal, selectorObject } from "../../shared/decisions/objects.ts";
import { BASE_SECRET, ROLE_A, ROLE_SECRET, type Setup, SidecarUnderTest, TEAM_A } from "../sidecar-under-test.ts";
import { assumeBody, elementOf, send, signed, type STSAnswer, type VendedKeys } from "../sts/signed-request.ts";

const OTHER = "arn:aws:iam::222222222222:role/o";

/** A controller that signs with its base credentials. */
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
    return send(
      this.sidecar.app,
      await signed({ keys, body: assumeBody({ RoleArn: ROLE_A, ...parameters }), now: this.sidecar.clock.now() }),
    );
  }
}

test("returns a granted role in the document format of STS", async (t) => {
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
  t.match(
    controller.sidecar.stsCalls,
    [{ roleARN: ROLE_A, sessionName: "ack-role-resolver", durationSeconds: 3600, policy: null, policyARNs: [] }],
    "every client shares a session of 1 hour",
  );
});

test("shares one session between 1,000 random session names and the credential path", async (t) => {
  const controller = new Controller();
  await Promise.all(
    Array.from({ length: 1_000 }, (_, i) =>
      controller.assume({ RoleSessionName: `aws-go-sdk-${i}`, DurationSeconds: "900" }),
    ),
  );
  await controller.sidecar.get("/v1/credentials/selectors/team-a");
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("states an expiration 5 min early, at least 1 min from now, and within the requested duration", async (t) => {
  const controller = new Controller();
  const statedIn = async (parameters = {}): Promise<number> => {
    const text = elementOf((await controller.assume(parameters)).body, "Expiration") ?? "";
    return (Date.parse(text) - controller.sidecar.clock.now()) / 60_000;
  };
  t.equal(await statedIn(), 55);
  t.equal(await statedIn({ DurationSeconds: "3600" }), 55);
  t.equal(await statedIn({ DurationSeconds: "900" }), 15);
  const short = new Controller({
    assumeRole: async (request) => ({
      ...controller.sidecar.session(request),
      expirationMs: Date.parse("2026-08-01T12:05:30Z"),
    }),
  });
  t.equal(elementOf((await short.assume()).body, "Expiration"), "2026-08-01T12:01:00Z", "1 min from now");
});

test("requests a separate session for session policies, and returns PackedPolicySize", async (t) => {
  const controller = new Controller({
    assumeRole: async (request) => ({
      ...controller.sidecar.session(request),
      ...(request.policy !== null && { packedPolicySize: 7 }),
    }),
  });
  const policies = {
    Policy: '{"Version":"2012-10-17","Statement":[]}',
    "PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/ReadOnlyAccess",
  };
  t.equal(elementOf((await controller.assume(policies)).body, "PackedPolicySize"), "7");
  t.equal(elementOf((await controller.assume()).body, "PackedPolicySize"), null);
  await controller.assume(policies);
  t.match(controller.sidecar.stsCalls, [
    { policy: policies.Policy, policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"] },
    { policy: null, policyARNs: [] },
  ]);
  t.equal(controller.sidecar.stsCalls.length, 2);
});

test("denies role chaining: a role session can assume neither another role nor its own", async (t) => {
  const controller = new Controller();
  const paths = ["/v1/credentials/selectors/team-a", "/v1/credentials/namespaces/team-a"];
  for (const path of paths) {
    const keys = (await controller.sidecar.get(path)).json<VendedKeys>();
    t.match(
      await controller.with(keys),
      {
        status: 403,
        code: "AccessDenied",
        message:
          /^Role chaining is not allowed: .* is a role session\. Sign with the credentials of GET \/v1\/credentials\.$/,
      },
      path,
    );
  }
  const { body } = await controller.assume();
  const [AccessKeyId = "", SecretAccessKey = "", Token = ""] = ["AccessKeyId", "SecretAccessKey", "SessionToken"].map(
    (name) => elementOf(body, name) ?? "",
  );
  t.match(
    await controller.with({ AccessKeyId, SecretAccessKey, Token }),
    { code: "AccessDenied", message: /^Role chaining/ },
    "credentials from AssumeRole",
  );
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("accepts the base identity from a namespace that no selector matches", async (t) => {
  const controller = new Controller({ objects: [namespaceObject("team-a"), namespaceObject("none"), TEAM_A] });
  const keys = (
    await controller.sidecar.get("/v1/credentials/namespaces/none?kind=Bucket.s3.services.k8s.aws")
  ).json<VendedKeys>();
  t.equal((await controller.with(keys)).code, "ok");
});

test("denies a role without a grant before STS is called, and stops granting with the selector", async (t) => {
  const rds = selectorObject("rds", {
    arn: OTHER,
    namespaceSelector: { names: ["team-a"] },
    resourceTypeSelector: [{ group: "rds.services.k8s.aws" }],
  });
  const controller = new Controller({
    objects: [namespaceObject("team-a"), TEAM_A, rds],
    allowedAccounts: ["111111111111", "222222222222"],
  });
  for (const RoleArn of [
    OTHER,
    "arn:aws:iam::111111111111:role/b",
    "arn:aws-cn:iam::111111111111:role/a",
    "arn:aws:iam::111111111111:role/A",
    "arn:aws:iam::111111111111:role/x/a",
  ]) {
    t.match(
      await controller.assume({ RoleArn }),
      { status: 403, code: "AccessDenied", message: /\(ERR_SELECTOR_NOT_GRANTED\)$/ },
      RoleArn,
    );
  }
  t.same(controller.sidecar.stsCalls, []);
  t.equal((await controller.assume()).code, "ok");
  controller.sidecar.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.equal((await controller.assume()).code, "AccessDenied");
  controller.sidecar.inventory.apply([put(TEAM_A)]);
  t.equal((await controller.assume()).code, "ok");
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("applies --allowed-accounts and the pinned account", async (t) => {
  const strict = new Controller({ allowedAccounts: ["222222222222"] });
  t.match(await strict.assume(), {
    status: 403,
    code: "AccessDenied",
    message: /which is not in --allowed-accounts\. \(ERR_SELECTOR_NOT_GRANTED\)$/,
  });
  const pinned = new Controller({ pinsAccount: true });
  t.match(await pinned.assume(), {
    status: 403,
    code: "AccessDenied",
    message: /but this sidecar already issued credentials of account 999999999999\..* \(ERR_SELECTOR_ACCOUNT_PINNED\)$/,
  });
  t.same([...strict.sidecar.stsCalls, ...pinned.sidecar.stsCalls], []);
});

test("denies session extras that differ from the selector, by name and without their values", async (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "planted-external",
    "ack-role-resolver.io/source-identity": "ack-s3",
    "ack-role-resolver.io/session-tags": "team=a,env=prod",
    "ack-role-resolver.io/session-name": "stable",
  };
  const tagged = { ...TEAM_A, metadata: { name: "team-a", annotations } };
  const controller = new Controller({ objects: [namespaceObject("team-a"), tagged] });
  const tags = {
    "Tags.member.1.Key": "env",
    "Tags.member.1.Value": "prod",
    "Tags.member.2.Key": "team",
    "Tags.member.2.Value": "a",
  };
  const same = { ExternalId: "planted-external", SourceIdentity: "ack-s3", ...tags };
  t.equal(elementOf((await controller.assume()).body, "SourceIdentity"), "ack-s3");
  t.equal((await controller.assume(same)).code, "ok", "the order of tags does not matter");
  t.match(controller.sidecar.stsCalls, [
    {
      externalID: "planted-external",
      sourceIdentity: "ack-s3",
      sessionName: "stable",
      tags: [
        { key: "env", value: "prod" },
        { key: "team", value: "a" },
      ],
    },
  ]);
  t.equal(controller.sidecar.stsCalls.length, 1);
  const cases: readonly (readonly [parameters: Readonly<Record<string, string>>, message: RegExp])[] = [
    [{ ExternalId: "guess" }, /^ExternalId: different from/],
    [{ SourceIdentity: "mallory" }, /^SourceIdentity: different from/],
    [{ ...tags, "Tags.member.2.Value": "b" }, /^Tags: different from/],
    [{ "Tags.member.1.Key": "env", "Tags.member.1.Value": "prod" }, /^Tags: different from/],
    [{ "TransitiveTagKeys.member.1": "env" }, /^TransitiveTagKeys: different from/],
    [
      { ExternalId: "guess", SourceIdentity: "x-y", "TransitiveTagKeys.member.1": "env" },
      /^ExternalId, SourceIdentity, TransitiveTagKeys: different from/,
    ],
  ];
  for (const [parameters, message] of cases) {
    const answer = await controller.assume(parameters);
    t.match(answer, { status: 403, code: "AccessDenied", message });
    t.notMatch(answer.body, "planted");
  }
  t.equal(
    (await new Controller().assume({ ExternalId: "guess" })).code,
    "AccessDenied",
    "the selector has no external ID",
  );
});

test("denies parameters that prove another identity, by name", async (t) => {
  const controller = new Controller();
  const proofs = { SerialNumber: "arn:aws:iam::999999999999:mfa/ops", TokenCode: "123456" };
  t.match(await controller.assume(proofs), {
    status: 403,
    code: "AccessDenied",
    message: /^SerialNumber, TokenCode: not supported, because the sidecar calls STS with its own identity/,
  });
  const context = {
    "ProvidedContexts.member.1.ProviderArn": "arn:aws:iam::aws:contextProvider/IdentityCenter",
    "ProvidedContexts.member.1.ContextAssertion": "assertion",
  };
  t.match(await controller.assume(context), { code: "AccessDenied", message: /^ProvidedContexts: / });
  t.same(controller.sidecar.stsCalls, []);
});

test("rejects a duration over 1 hour if the base identity is a session, as STS does", async (t) => {
  const chained = new Controller();
  t.match(await chained.assume({ DurationSeconds: "3601" }), {
    status: 400,
    code: "ValidationError",
    message: /exceeds the 1 hour session limit for roles assumed by role chaining/,
  });
  t.same(chained.sidecar.stsCalls, []);
  const user = { accessKeyID: "AKIA", secretAccessKey: BASE_SECRET, sessionToken: null, expirationMs: null };
  const longLived = new Controller({ base: async () => user, allowsLongLivedBase: true });
  t.equal((await longLived.assume({ DurationSeconds: "7200" })).code, "ok");
  t.match(longLived.sidecar.stsCalls, [{ durationSeconds: 7200 }]);
  t.equal((await longLived.assume({ DurationSeconds: "900" })).code, "ok");
  t.match(
    longLived.sidecar.stsCalls,
    [{ durationSeconds: 7200 }, { durationSeconds: 3600 }],
    "another duration needs another session",
  );
});

test("returns the code of an STS rejection, and ServiceUnavailable for STS failures", async (t) => {
  const failing = (fault: Error): Promise<STSAnswer> =>
    new Controller({
      assumeRole: async () => {
        throw fault;
      },
    }).assume();
  t.match(
    await failing(
      new UpstreamSTSError("STS returned AccessDenied for AssumeRole: no", { stsCode: "AccessDenied", stsStatus: 403 }),
    ),
    {
      status: 403,
      code: "AccessDenied",
      message: "STS returned AccessDenied for AssumeRole: no",
    },
  );
  t.match(await failing(new UpstreamSTSError("x", { stsCode: "PackedPolicyTooLarge", stsStatus: 400 })), {
    status: 400,
    code: "PackedPolicyTooLarge",
  });
  t.match(
    await failing(new ResolverError("ERR_STS_UNAVAILABLE", "STS returned Throttling for AssumeRole: Rate exceeded")),
    { status: 503, code: "ServiceUnavailable" },
  );
  t.match(await failing(new ResolverError("ERR_BASE_UNAVAILABLE", "none")), {
    status: 503,
    code: "ServiceUnavailable",
  });
  t.match(await failing(new TypeError("planted")), {
    status: 500,
    code: "InternalFailure",
    message: "The sidecar failed unexpectedly. See its log for details. (ERR_INTERNAL)",
  });
});

test("assumes no role before the inventory is loaded", async (t) => {
  const controller = new Controller();
  await controller.sidecar.get("/v1/credentials");
  await controller.assume();
  controller.sidecar.status = { loaded: false, lastSyncMs: null, fault: null };
  t.match(await controller.assume(), { status: 503, code: "ServiceUnavailable" });
});

test("responds within 850 ms, and serves a later STS result to the next request", async (t) => {
  const late = Promise.withResolvers<Credentials>();
  const called = Promise.withResolvers<SessionRequest>();
  const controller = new Controller({
    assumeRole: (request) => {
      called.resolve(request);
      return late.promise;
    },
  });
  const first = controller.assume();
  const request = await called.promise;
  await controller.sidecar.clock.advance(850);
  t.match(await first, { status: 503, code: "ServiceUnavailable", message: /did not respond within 850 ms/ });
  late.resolve(controller.sidecar.session(request));
  t.equal((await controller.assume()).code, "ok");
  t.equal(controller.sidecar.stsCalls.length, 1);
});
