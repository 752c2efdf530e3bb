import { test } from "tap";
import { namespaceObject } from "../../shared/objects.ts";
import { BASE_SECRET, TEAM_A } from "../sidecar-under-test.ts";
import { Controller } from "../sts/controller.ts";
import { elementOf, type VendedKeys } from "../sts/signed-request.ts";

test("denies role chaining: a role session cannot assume another role or its own role", async (t) => {
  const controller = new Controller();
  const paths = ["/v1/credentials/selectors/team-a", "/v1/credentials/namespaces/team-a"];
  for (const path of paths) {
    const keys = (await controller.sidecar.get(path)).json<VendedKeys>();
    t.match(
      await controller.assumeWith(keys),
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
    await controller.assumeWith({ AccessKeyId, SecretAccessKey, Token }),
    { code: "AccessDenied", message: /^Role chaining/ },
    "credentials from AssumeRole",
  );
  t.equal(controller.sidecar.stsCalls.length, 1);
});

const ANNOTATIONS = {
  "ack-role-resolver.io/external-id": "planted-external",
  "ack-role-resolver.io/source-identity": "ack-s3",
  "ack-role-resolver.io/session-tags": "team=a,env=prod",
  "ack-role-resolver.io/session-name": "stable",
};
const ANNOTATED = [namespaceObject("team-a"), { ...TEAM_A, metadata: { name: "team-a", annotations: ANNOTATIONS } }];
const TAGS = {
  "Tags.member.1.Key": "env",
  "Tags.member.1.Value": "prod",
  "Tags.member.2.Key": "team",
  "Tags.member.2.Value": "a",
};

test("accepts session parameters that match the annotations of the selector, or no session parameters", async (t) => {
  const controller = new Controller({ objects: ANNOTATED });
  const same = { ExternalId: "planted-external", SourceIdentity: "ack-s3", ...TAGS };
  t.equal(elementOf((await controller.assume()).body, "SourceIdentity"), "ack-s3");
  t.equal((await controller.assume(same)).code, "ok", "the order of tags does not matter");
  const tags = [{ key: "env", value: "prod" }, { key: "team", value: "a" }];
  t.match(controller.sidecar.stsCalls, [
    { externalID: "planted-external", sourceIdentity: "ack-s3", sessionName: "stable", tags },
  ]);
  t.equal(controller.sidecar.stsCalls.length, 1);
});

test("names each session parameter that differs from the selector, but does not print its value", async (t) => {
  const controller = new Controller({ objects: ANNOTATED });
  const cases: readonly (readonly [parameters: Readonly<Record<string, string>>, message: RegExp])[] = [
    [{ ExternalId: "guess" }, /^ExternalId: the IAMRoleSelector of the role, or /],
    [{ SourceIdentity: "mallory" }, /^SourceIdentity: the IAMRoleSelector of the role, or /],
    [{ ...TAGS, "Tags.member.2.Value": "b" }, /^Tags: the IAMRoleSelector of the role, or /],
    [{ "Tags.member.1.Key": "env", "Tags.member.1.Value": "prod" }, /^Tags: the IAMRoleSelector of the role, or /],
    [{ "TransitiveTagKeys.member.1": "env" }, /^TransitiveTagKeys: the IAMRoleSelector of the role, or /],
    [
      { ExternalId: "guess", SourceIdentity: "x-y", "TransitiveTagKeys.member.1": "env" },
      /^ExternalId, SourceIdentity, TransitiveTagKeys: the IAMRoleSelector of the role, or /,
    ],
  ];
  for (const [parameters, message] of cases) {
    const answer = await controller.assume(parameters);
    t.match(answer, { status: 403, code: "AccessDenied", message });
    t.notMatch(answer.body, "planted");
  }
  const { code } = await new Controller().assume({ ExternalId: "guess" });
  t.equal(code, "AccessDenied", "the selector has no external ID");
});

test("denies and names each parameter that asserts another identity", async (t) => {
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

test("rejects a duration over 1 hour if the base identity is a role session, as STS does", async (t) => {
  const chained = new Controller();
  t.match(await chained.assume({ DurationSeconds: "3601" }), {
    status: 400,
    code: "ValidationError",
    message: /exceeds the 1 hour session limit for roles assumed by role chaining/,
  });
  t.same(chained.sidecar.stsCalls, []);
  const user = { accessKeyID: "AKIA", secretAccessKey: BASE_SECRET, sessionToken: null, expirationMs: null };
  const longLived = new Controller({ base: async () => user, mode: "vend" });
  t.equal((await longLived.assume({ DurationSeconds: "7200" })).code, "ok");
  t.match(longLived.sidecar.stsCalls, [{ durationSeconds: 7200 }]);
  t.equal((await longLived.assume({ DurationSeconds: "900" })).code, "ok");
  t.match(
    longLived.sidecar.stsCalls,
    [{ durationSeconds: 7200 }, { durationSeconds: 3600 }],
    "another duration needs another session",
  );
});
