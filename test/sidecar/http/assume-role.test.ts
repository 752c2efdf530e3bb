import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ResolverError } from "../../../shared/formats/errors.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { allowStatements, denyStatements, scopeOf } from "../../../shared/core/session-scope.ts";
import { type Closures, NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { namespaceObject, put, removal, selectorObject } from "../../shared/objects.ts";
import { ROLE_A, ROLE_SECRET, TEAM_A } from "../sidecar-under-test.ts";
import { Controller } from "../sts/controller.ts";
import { elementOf, type STSAnswer, type VendedKeys } from "../sts/signed-request.ts";

test("returns the credentials of a granted role in the XML format of STS", async (t) => {
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

test("returns one session for 1,000 random session names and for the credentials endpoint", async (t) => {
  const controller = new Controller();
  await Promise.all(
    Array.from({ length: 1_000 }, (_, i) =>
      controller.assume({ RoleSessionName: `aws-go-sdk-${i}`, DurationSeconds: "900" }),
    ),
  );
  await controller.sidecar.get("/v1/credentials/selectors/team-a");
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("returns an Expiration 5 min early, within the requested duration and at least 1 min from now", async (t) => {
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
  t.equal(
    elementOf((await short.assume()).body, "Expiration"),
    "2026-08-01T12:01:00Z",
    "the expiration is 1 min from now",
  );
});

test("waits up to 3 s for STS, and issues no session of a role that is removed or changed meanwhile", async (t) => {
  const changes = [
    { change: put(TEAM_A), expected: [200, /<SessionToken>/] },
    { change: removal("services.k8s.aws", "IAMRoleSelector", "team-a"), expected: [403, /<Code>AccessDenied<\/Code>/] },
    {
      change: put(selectorObject("team-a", { arn: ROLE_A, namespaceSelector: { names: ["team-a"] } }, {
        annotations: { "ack-role-resolver.io/session-tags": "team=b" },
      })),
      expected: [503, /settings of the role have changed/],
    },
  ];
  for (const { change, expected } of changes) {
    const called = Promise.withResolvers<null>();
    const late = Promise.withResolvers<Credentials>();
    const controller = new Controller({
      assumeRole: () => {
        called.resolve(null);
        return late.promise;
      },
    });
    const { sidecar } = controller;
    const answer = controller.assume();
    await called.promise;
    await sidecar.clock.advance(2_999);
    sidecar.inventory.apply([change]);
    late.resolve(sidecar.session({ roleARN: ROLE_A }));
    const { status, body } = await answer;
    t.match([status, body], expected);
  }
});

test("requests a separate session for each set of session policies, and returns PackedPolicySize", async (t) => {
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

const OWN_POLICY = { Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "arn:aws:s3:::{namespace}-*" }] };
const FILLED_POLICY = JSON.stringify(OWN_POLICY).replace("{namespace}", "team-a");
const OF_AWS = "arn:aws:iam::aws:policy/AmazonS3FullAccess";

/** Returns the selector of team-a with these session policies. */
function restricted(annotations: Readonly<Record<string, string>>): JsonObject {
  const names = Object.entries(annotations).map(([name, value]) => [`ack-role-resolver.io/${name}`, value]);
  const spec = { arn: ROLE_A, namespaceSelector: { names: ["team-a"] } };
  return selectorObject("team-a", spec, { annotations: Object.fromEntries(names) });
}

test("limits every session to the session policies of the selector, and joins none of a client to them", async (t) => {
  const selector = restricted({ "session-policy": JSON.stringify(OWN_POLICY, null, 2), "session-policy-arns": OF_AWS });
  const controller = new Controller({ objects: [namespaceObject("team-a"), selector] });
  t.equal((await controller.assume()).code, "ok");
  await controller.sidecar.get("/v1/credentials/selectors/team-a");
  t.match(controller.sidecar.stsCalls, [{ policy: FILLED_POLICY, policyARNs: [OF_AWS] }]);
  t.equal(controller.sidecar.stsCalls.length, 1, "clients share the session");
  const everything = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}';
  for (const policies of [{ Policy: everything }, { "PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/A" }]) {
    const denied = await controller.assume(policies);
    t.match(denied, { status: 403, code: "AccessDenied", message: "has session policies, and STS cannot limit" });
  }
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("a changed session policy ends the sessions of the old one, and an invalid one grants nothing", async (t) => {
  const selector = restricted({ "session-policy-arns": OF_AWS });
  const controller = new Controller({ objects: [namespaceObject("team-a"), selector] });
  await controller.assume();
  controller.sidecar.inventory.apply([put(restricted({ "session-policy": JSON.stringify(OWN_POLICY) }))]);
  t.equal((await controller.assume()).code, "ok");
  t.match(controller.sidecar.stsCalls, [{ policyARNs: [OF_AWS] }, { policy: FILLED_POLICY, policyARNs: [] }]);
  for (const annotations of [{ "session-policy": "{" }, { "session-policy-arns": "arn:aws:iam::1:policy/a" }]) {
    controller.sidecar.inventory.apply([put(restricted(annotations))]);
    t.match(await controller.assume(), { status: 403, code: "AccessDenied" });
  }
  t.equal(controller.sidecar.stsCalls.length, 2);
});

/** Returns the answer to a client, and the session policies that STS received. */
async function scoped(
  annotations: Readonly<Record<string, string>>, closures: Closures, call: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[]> {
  const profile = { closures, status: null };
  const controller = new Controller({ objects: [namespaceObject("team-a"), restricted(annotations)], profile });
  const { code } = await controller.assume(call);
  const calls = controller.sidecar.stsCalls.filter(({ roleARN }) => roleARN === ROLE_A);
  return [code, ...calls.map(({ policy, policyARNs }) => [policy, ...policyARNs])];
}

test("limits sessions to what the controllers need, by the profile or the annotation of the selector", async (t) => {
  const strict = { ...NOTHING_CLOSED, sessionScope: true };
  const scope = scopeOf(["s3.services.k8s.aws"]);
  const policyOf = (...Statement: readonly JsonObject[]): string => (
    JSON.stringify({ Version: "2012-10-17", Statement })
  );
  const only = policyOf(...allowStatements(scope));
  t.same(await scoped({}, strict), ["ok", [only]]);
  t.same(await scoped({}, NOTHING_CLOSED), ["ok", [null]]);
  t.same(await scoped({ "session-scope": "none" }, strict), ["ok", [null]]);
  t.same(await scoped({ "session-scope": "service" }, NOTHING_CLOSED), ["ok", [only]]);
  const everything = { Effect: "Allow", Action: "*", Resource: "*" };
  const limited = policyOf(everything, ...denyStatements(scope));
  t.same(await scoped({}, strict, { Policy: policyOf(everything) }), ["ok", [limited]], "a client never gets more");
  const own = [policyOf(...denyStatements(scope)), OF_AWS];
  t.same(await scoped({ "session-policy-arns": OF_AWS }, strict), ["ok", own]);
  const long = policyOf({ ...everything, Sid: "x".repeat(1900) });
  t.same(await scoped({}, strict, { Policy: long }), ["AccessDenied"]);
  t.same(await scoped({ "session-scope": "Service" }, strict), ["AccessDenied"], "an invalid one grants nothing");
});

test("another default scope takes effect with the next request", async (t) => {
  const profile = { closures: NOTHING_CLOSED, status: null };
  const controller = new Controller({ objects: [namespaceObject("team-a"), TEAM_A], profile });
  await controller.assume();
  profile.closures = { ...NOTHING_CLOSED, sessionScope: true };
  await controller.assume();
  await controller.assume();
  const calls = controller.sidecar.stsCalls.filter(({ roleARN }) => roleARN === ROLE_A);
  t.same(calls.map(({ policy }) => policy === null), [true, false]);
});

test("accepts the role of the base identity in a namespace that no selector matches", async (t) => {
  const controller = new Controller({ objects: [namespaceObject("team-a"), namespaceObject("none"), TEAM_A] });
  const keys = (
    await controller.sidecar.get("/v1/credentials/namespaces/none?kind=Bucket.s3.services.k8s.aws")
  ).json<VendedKeys>();
  t.equal((await controller.assumeWith(keys)).code, "ok");
});

test("returns the error code of STS if STS rejects the role, and ServiceUnavailable if STS fails", async (t) => {
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

test("returns ServiceUnavailable to AssumeRole before the inventory is loaded", async (t) => {
  const controller = new Controller();
  await controller.sidecar.get("/v1/credentials");
  await controller.assume();
  controller.sidecar.status = { loaded: false, lastSyncMs: null, fault: null };
  t.match(await controller.assume(), { status: 503, code: "ServiceUnavailable" });
});
