// Attacks by a compromised controller, which is authenticated and requests roles that are not granted to it. Each test
// expects that the controller gets only the roles that its selectors grant.
import { test } from "tap";
import { namespaceObject, put, removal, selectorObject } from "../shared/objects.ts";
import { ROLE_A, SCOPED, TEAM_A } from "../sidecar/sidecar-under-test.ts";
import { assumeBody, signed } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack, OTHER_ROLE } from "./attack.ts";

const attack = new Attack();

test("rejects a request that is signed with credentials of another sidecar", async (t) => {
  const foreign = await attack.inOtherPod().keys("/v1/credentials/selectors/team-a");
  t.match(
    await new Attack().send(
      await signed({
        keys: { ...foreign, AccessKeyId: "ASIAELSEWHERE" },
        body: ASSUME,
        now: attack.sidecar.clock.now(),
      }),
    ),
    { status: 403, code: "InvalidClientTokenId" },
  );
  const identityOnly = await new Attack({ mode: "identity-only" }).keys();
  t.match(
    await new Attack({ mode: "identity-only" }).send(
      await signed({ keys: identityOnly, body: ASSUME, now: attack.sidecar.clock.now() }),
    ),
    { status: 403, code: "InvalidClientTokenId" },
  );
});

test("rejects stolen base credentials if the sidecar runs with --base identity-only", async (t) => {
  const hardened = new Attack({ mode: "identity-only" });
  const stolen = await new Attack().keys();
  await hardened.keys();
  t.match(await hardened.send(await signed({ keys: stolen, body: ASSUME, now: hardened.sidecar.clock.now() })), {
    status: 403,
    code: "InvalidClientTokenId",
  });
});

test("denies a role that no selector grants, or whose ARN is misspelled", async (t) => {
  const ungranted = new Attack();
  for (const RoleArn of [
    "arn:aws:iam::999999999999:role/ack",
    OTHER_ROLE,
    ROLE_A.toUpperCase().replace("ARN:AWS:IAM", "arn:aws:iam").replace("ROLE", "role"),
    ROLE_A.replace("role/a", "role//a"),
    `${ROLE_A} `,
    ROLE_A.replace("aws", "aws-cn"),
    "arn:aws:iam::111111111111:role/*",
  ]) {
    const { code, status } = await ungranted.send(await ungranted.request({ body: assumeBody({ RoleArn }) }));
    t.ok(
      (code === "AccessDenied" && status === 403) || (code === "ValidationError" && status === 400),
      `${RoleArn}: ${code}`,
    );
  }
  t.same(ungranted.sidecar.stsCalls, [], "STS was not called");
});

test("does not grant the role of a malformed or conflicting selector that bypassed the webhook", async (t) => {
  const malformed = new Attack({
    objects: [
      namespaceObject("team-a"),
      selectorObject("bad", { arn: ROLE_A, namespaceSelector: { names: ["team-a", "team-a"] } }),
    ],
  });
  t.equal(await malformed.codeAfter(() => ({})), "AccessDenied");
  const extras = {
    ...selectorObject("twin", { arn: ROLE_A, namespaceSelector: { names: ["elsewhere"] } }),
    metadata: { name: "twin", annotations: { "ack-role-resolver.io/external-id": "other" } },
  };
  const conflicting = new Attack();
  conflicting.sidecar.inventory.apply([put(extras)]);
  t.equal(
    await conflicting.codeAfter(() => ({})),
    "AccessDenied",
    "two selectors set different session annotations for the role",
  );
  t.same([...malformed.sidecar.stsCalls, ...conflicting.sidecar.stsCalls], []);
});

test("with --scope-namespace, does not return the role of another tenant on any path", async (t) => {
  const other = selectorObject("other", { arn: OTHER_ROLE, namespaceSelector: { names: ["other"] } });
  const scoped = new Attack({
    objects: [namespaceObject("team-a"), namespaceObject("other"), TEAM_A, other],
    ...SCOPED,
  });
  await scoped.keys();
  for (const url of [
    "/v1/credentials/namespaces/other",
    "/v1/credentials/selectors/other",
    "/v1/credentials/namespaces/team-a?kind=DBInstance.rds.services.k8s.aws",
    "/v1/credentials?namespace=other",
  ]) {
    t.notMatch((await scoped.get(url)).body, "SecretAccessKey", url);
  }
  t.equal(await scoped.codeAfter(() => ({}), { body: assumeBody({ RoleArn: OTHER_ROLE }) }), "AccessDenied");
  t.ok(scoped.sidecar.stsCalls.every(({ roleARN }) => roleARN === ROLE_A));
});

test("does not refresh the session of a role that is no longer granted", async (t) => {
  const { sidecar } = new Attack();
  const get = async (): Promise<number> => (await sidecar.get("/v1/credentials/selectors/team-a")).statusCode;
  t.equal(await get(), 200);
  await sidecar.clock.advance(40 * 60_000);
  t.equal(await get(), 200);
  t.equal(sidecar.stsCalls.length, 2, "the session of a granted role is refreshed");
  sidecar.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  await sidecar.clock.advance(2 * 3_600_000);
  t.equal(await get(), 404);
  t.equal(sidecar.stsCalls.length, 2, "STS is not called for the removed role");
});

test("denies credentials for a kind that --kind does not list", async (t) => {
  const topic = selectorObject("topic", {
    arn: OTHER_ROLE,
    namespaceSelector: { names: ["team-a"] },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", kind: "Vault" }],
  });
  const bucket = selectorObject("bucket", {
    arn: ROLE_A,
    namespaceSelector: { names: ["team-a"] },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", kind: "Bucket" }],
  });
  const narrowed = new Attack({
    objects: [namespaceObject("team-a"), topic, bucket],
    kinds: [{ kind: "Bucket", version: "v1alpha1", group: null }],
  });
  t.equal((await narrowed.get("/v1/credentials/selectors/topic")).statusCode, 403);
  t.equal(await narrowed.codeAfter(() => ({}), { body: assumeBody({ RoleArn: OTHER_ROLE }) }), "AccessDenied");
  for (const kind of [
    "Vault.s3.services.k8s.aws",
    "Vault.v1alpha1.s3.services.k8s.aws",
    "Bucket.v2.s3.services.k8s.aws",
  ]) {
    t.match(
      await narrowed
        .get(`/v1/credentials/namespaces/team-a?kind=${kind}`)
        .then((answer) => [answer.statusCode, answer.json()]),
      [
        403,
        {
          code: "ERR_SELECTOR_NOT_GRANTED",
          message: "The requested kind is not served. --kind allows Bucket.v1alpha1.",
        },
      ],
      kind,
    );
  }
  for (const kind of ["Bucket.s3.services.k8s.aws", "Bucket.v1alpha1.s3.services.k8s.aws"]) {
    t.match(
      (await narrowed.get(`/v1/credentials/namespaces/team-a?kind=${kind}`)).json(),
      { AccountId: "111111111111" },
      kind,
    );
  }
});

test("grants no role to which no resource in an existing namespace can resolve, on any path", async (t) => {
  const a = (name: string, spec: object): object => selectorObject(name, { arn: ROLE_A, ...spec });
  const twins = ["one", "two"].map((name) => a(name, { namespaceSelector: { names: ["team-a"] } }));
  const wide = selectorObject("two", { arn: OTHER_ROLE });
  for (const [title, ...selectors] of [
    ["selectors that conflict, although their roles are equal", ...twins],
    ["a selector that a cluster-wide selector shadows", twins[0], wide],
    ["a namespace that does not exist", a("one", { namespaceSelector: { names: ["team-z"] } })],
    ["a label that no namespace has",
      a("one", { namespaceSelector: { labelSelector: { matchLabels: { team: "z" } } } })],
  ] as const) {
    const unresolvable = new Attack({ objects: [namespaceObject("team-a"), ...selectors.map((one) => ({ ...one }))] });
    for (const path of ["selectors/one", "namespaces/team-a", "namespaces/team-z"]) {
      t.notMatch((await unresolvable.get(`/v1/credentials/${path}`)).body, "111111111111", `${title}: ${path}`);
    }
    t.equal(await unresolvable.codeAfter(() => ({})), "AccessDenied", title);
    t.same(unresolvable.sidecar.stsCalls, []);
  }
});

test("neither issues nor refreshes the session of a role whose last namespace is gone", async (t) => {
  const { sidecar } = new Attack();
  const get = async (): Promise<number> => (await sidecar.get("/v1/credentials/selectors/team-a")).statusCode;
  sidecar.inventory.apply([put(namespaceObject("other"))]);
  t.equal(await get(), 200);
  sidecar.inventory.apply([removal("", "Namespace", "team-a")]);
  t.equal(await get(), 403, "the session is cached, but not issued");
  await sidecar.clock.advance(2 * 3_600_000);
  t.equal(sidecar.stsCalls.length, 1, "STS is not called again");
  sidecar.inventory.apply([put(namespaceObject("team-a"))]);
  t.equal(await get(), 200);
});
