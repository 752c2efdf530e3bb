import { test } from "tap";
import { NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { readSessionDefaults } from "../../../shared/core/session-defaults.ts";
import {
  ACCOUNT_MAP, mapObject, namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT,
} from "../../shared/objects.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { BASE_SECRET, ROLE_A, ROLE_SECRET, SCOPED, SidecarUnderTest, TEAM_A } from "../sidecar-under-test.ts";

const BUCKET = "kind=Bucket.v1alpha1.s3.services.k8s.aws";

test("returns the role of a namespace in a JSON format and content type that every SDK accepts", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answer = await sidecar.get(`/v1/credentials/namespaces/team-a?${BUCKET}`);
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers["content-type"], "application/json", "the content type has no charset");
  t.equal(answer.headers["cache-control"], "no-store");
  const keys = `"AccessKeyId":"ASIA1","SecretAccessKey":"${ROLE_SECRET}","Token":"${ROLE_SECRET}-token"`;
  t.equal(answer.body, `{${keys},"AccountId":"111111111111","Expiration":"2026-08-01T13:00:00Z"}`);
  t.match(sidecar.stsCalls, [{ roleARN: ROLE_A, sessionName: "ack-role-resolver" }]);
  t.equal(sidecar.stsCalls.length, 1);
});

test("returns the role of the named selector, or the base identity if the path has no name", async (t) => {
  const sidecar = new SidecarUnderTest();
  t.match((await sidecar.get("/v1/credentials/selectors/team-a")).json(), { AccountId: "111111111111" });
  t.match(
    (await sidecar.get("/v1/credentials/namespaces/team-a")).json(),
    { AccountId: "111111111111" },
    "every kind has the same role",
  );
  t.equal(sidecar.stsCalls.length, 1, "both requests share one session");
  t.match((await sidecar.get("/v1/credentials")).json(), {
    AccessKeyId: "ASIABASE",
    AccountId: "999999999999",
    Expiration: "2026-08-01T13:00:00Z",
  });
});

test("has a session for each namespace that the session tags contain, and refreshes it", async (t) => {
  const shared = selectorObject("shared", {
    arn: ROLE_A, namespaceSelector: {}, resourceTypeSelector: [{ group: "s3.services.k8s.aws" }],
  });
  const sessionDefaults = readSessionDefaults({
    defaultExternalId: null, defaultSourceIdentity: null, defaultSessionTags: ["team={namespace}"],
  });
  const sidecar = new SidecarUnderTest({
    objects: [namespaceObject("team-a"), namespaceObject("team-b"), shared], sessionDefaults,
  });
  const keyOf = async (namespace: string): Promise<unknown> => {
    const answer = await sidecar.get(`/v1/credentials/namespaces/${namespace}?${BUCKET}`);
    return answer.json<{ AccessKeyId: string }>().AccessKeyId;
  };
  t.same([await keyOf("team-a"), await keyOf("team-b"), await keyOf("team-a")], ["ASIA1", "ASIA2", "ASIA1"]);
  await sidecar.clock.advance(40 * 60_000);
  t.same(
    sidecar.stsCalls.map(({ tags }) => tags[0]?.value), ["team-a", "team-b", "team-a", "team-b"], "both are refreshed",
  );
  t.match((await sidecar.get("/v1/credentials/selectors/shared")).json(), { code: "ERR_SELECTOR_EXTRAS" });
});

test("returns the HTTP status of each error, and its error code in the fields Code and code", async (t) => {
  const objects = [
    namespaceObject("team-a"),
    namespaceObject("both"),
    namespaceObject("none"),
    TEAM_A,
    ...["x", "y"].map((name) => selectorObject(name, { arn: ROLE_A, namespaceSelector: { names: ["both"] } })),
    selectorObject("rds", {
      arn: ROLE_A,
      namespaceSelector: { names: ["none"] },
      resourceTypeSelector: [{ group: "rds.services.k8s.aws" }],
    }),
    selectorObject("user", { arn: "arn:aws:iam::111111111111:user/u", namespaceSelector: { names: ["elsewhere"] } }),
  ];
  const sidecar = new SidecarUnderTest({ objects, unmatched: "deny" });
  const cases: readonly (readonly [path: string, status: number, code: string])[] = [
    ["/v1/credentials/selectors/missing", 404, "ERR_SELECTOR_UNKNOWN"],
    ["/v1/credentials/selectors/rds", 403, "ERR_SELECTOR_NOT_GRANTED"],
    ["/v1/credentials/selectors/user", 403, "ERR_SELECTOR_MALFORMED"],
    ["/v1/credentials/selectors/team-a?kind=Bucket", 400, "ERR_REQUEST_MALFORMED"],
    ["/v1/credentials/selectors/%zz", 400, "ERR_REQUEST_MALFORMED"],
    ["/v1/credentials?namespace=team-a", 400, "ERR_REQUEST_MALFORMED"],
    [`/v1/credentials/namespaces/missing?${BUCKET}`, 404, "ERR_NAMESPACE_UNKNOWN"],
    [`/v1/credentials/namespaces/both?${BUCKET}`, 409, "ERR_SELECTOR_CONFLICT"],
    [`/v1/credentials/namespaces/none?${BUCKET}`, 403, "ERR_SELECTOR_UNMATCHED"],
    ["/v1/credentials/namespaces/team-a?kind=DBInstance.rds.services.k8s.aws", 403, "ERR_SELECTOR_NOT_GRANTED"],
    ["/v1/credentials/namespaces/Team_A", 400, "ERR_REQUEST_MALFORMED"],
    ["/v1/credentials/namespaces/team-a?kind=Bucket", 400, "ERR_REQUEST_MALFORMED"],
    [`/v1/credentials/namespaces/team-a?${BUCKET}&${BUCKET}`, 400, "ERR_REQUEST_MALFORMED"],
    [`/v1/credentials/namespaces/team-a?${BUCKET}&label=x`, 400, "ERR_REQUEST_MALFORMED"],
    ["/v1/credentials/identities/AWSClusterRoleIdentity/a", 404, "ERR_REQUEST_NOT_FOUND"],
    ["/v1/credentials/", 404, "ERR_REQUEST_NOT_FOUND"],
  ];
  for (const [path, status, code] of cases) {
    const answer = await sidecar.get(path);
    const body = answer.json<Record<string, string>>();
    t.match(
      [answer.statusCode, body["code"], body["Code"], answer.headers["content-type"]],
      [status, code, code, "application/json"],
      path,
    );
    t.equal(body["message"], body["Message"]);
  }
  t.same(sidecar.stsCalls, [], "no rejected request reaches STS");
});

test("returns every error of a malformed query", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answer = await sidecar.get(
    "/v1/credentials/namespaces/team-a?kind=bucket&labels=a&label=k=v&label=k=w&label=-=%20",
  );
  t.equal(
    answer.json<{ message: string }>().message.split("; ").slice(0, 3).join("\n"),
    [
      'Invalid request: parameter "labels" is unknown (this path accepts kind and label)',
      'kind "bucket" is not KIND.GROUP or KIND.VERSION.GROUP, such as kind=Bucket.v1alpha1.s3.services.k8s.aws',
      'label "k=w": the key is repeated',
    ].join("\n"),
  );
  t.match(answer.json(), { message: /label "-= ": / });
});

test("limits the parameters of a query, and the errors in its response", async (t) => {
  const sidecar = new SidecarUnderTest();
  const messageFor = async (parameters: readonly string[]): Promise<string> => {
    const answer = await sidecar.get(`/v1/credentials/namespaces/team-a?${parameters.join("&")}`);
    t.equal(answer.statusCode, 400);
    return answer.json<{ message: string }>().message;
  };
  const unknown = Array.from({ length: 100 }, (_, i) => `x${i}=1`);
  const message = await messageFor(unknown);
  t.match(message, /^Invalid request: parameter "x0" is unknown .*; and 80 more\.$/);
  t.equal(message.split("; ").length, 21);
  t.equal(await messageFor([...unknown, "y=1"]), "Invalid request: the query has 101 parameters (limit: 100).");
});

test("returns ERR_NOT_READY before the inventory is loaded", async (t) => {
  const sidecar = new SidecarUnderTest();
  sidecar.status = { loaded: false, lastSyncMs: null, fault: null };
  for (const path of ["/v1/credentials", "/v1/credentials/selectors/team-a", "/v1/credentials/namespaces/team-a"]) {
    t.match(
      await sidecar.get(path).then((answer) => [answer.statusCode, answer.json()]),
      [503, { code: "ERR_NOT_READY" }],
      path,
    );
  }
});

test("denies the role of a removed selector although the session is cached", async (t) => {
  const sidecar = new SidecarUnderTest();
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  sidecar.inventory.apply([put(selectorObject("team-a", { arn: "not-an-arn" }))]);
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 403, "the selector is malformed");
  sidecar.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 404, "the selector is removed");
  sidecar.inventory.apply([put(TEAM_A)]);
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.equal(sidecar.stsCalls.length, 1);
});

test("denies a role whose account is not one of --allowed-accounts on every path", async (t) => {
  const paths = [`/v1/credentials/namespaces/team-a?${BUCKET}`, "/v1/credentials/selectors/team-a"];
  const strict = new SidecarUnderTest({ allowedAccounts: ["222222222222"] });
  for (const path of paths) {
    const answer = await strict.get(path);
    t.equal(answer.statusCode, 403, path);
    t.match(answer.json(), {
      code: "ERR_SELECTOR_NOT_GRANTED",
      message: "The role of IAMRoleSelector team-a is in account 111111111111, which is not in --allowed-accounts. "
        + "Use a role of an allowed account, or add the account.",
    });
  }
  t.same(strict.stsCalls, [], "the role is denied before STS is called");
  t.equal((await strict.get("/v1/credentials")).statusCode, 200, "the limit does not apply to the base identity");
  const lenient = new SidecarUnderTest({ allowedAccounts: ["222222222222", "111111111111"] });
  for (const path of paths) t.equal((await lenient.get(path)).statusCode, 200, path);
});

test("with --scope-namespace, issues only roles in the account of the first issued role", async (t) => {
  const moved = put(
    selectorObject("team-a", { arn: "arn:aws:iam::222222222222:role/a", namespaceSelector: { names: ["team-a"] } }),
  );
  const scoped = new SidecarUnderTest({ ...SCOPED, unmatched: "base" });
  t.equal((await scoped.get("/v1/credentials")).statusCode, 200);
  scoped.inventory.apply([moved]);
  const denied = await scoped.get("/v1/credentials");
  t.equal(denied.statusCode, 409);
  t.match(denied.json(), {
    code: "ERR_SELECTOR_ACCOUNT_PINNED",
    message:
      "The role is in account 222222222222, but this sidecar already issued credentials of account 111111111111. "
      + "Restart the Pod to change the account.",
  });
  t.equal(scoped.stsCalls.length, 1, "the role is denied before STS is called");
  scoped.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.match(
    (await scoped.get("/v1/credentials")).json(),
    { code: "ERR_SELECTOR_ACCOUNT_PINNED" },
    "the base identity is also in another account",
  );
  t.match(await scoped.registry.metrics(), "ack_role_resolver_sidecar_account_refusals_total 2");

  const open = new SidecarUnderTest();
  t.equal((await open.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  open.inventory.apply([moved]);
  t.match((await open.get("/v1/credentials/selectors/team-a")).json(), { AccountId: "222222222222" });
});

const LONG_LIVED = { accessKeyID: "AKIA", secretAccessKey: BASE_SECRET, sessionToken: null, expirationMs: null };

test("issues the keys of a permanent base identity only if --base vend is set explicitly", async (t) => {
  const byDefault = new SidecarUnderTest({ base: () => Promise.resolve(LONG_LIVED) });
  t.match(await byDefault.get("/v1/credentials").then((answer) => [answer.statusCode, answer.json()]), [
    403,
    { code: "ERR_BASE_LONG_LIVED" },
  ]);
  t.match(
    (await byDefault.get("/v1/credentials/selectors/team-a")).json(),
    { AccountId: "111111111111" },
    "the sidecar still uses the base identity to assume roles",
  );
  const explicit = new SidecarUnderTest({ base: () => Promise.resolve(LONG_LIVED), mode: "vend" });
  t.match((await explicit.get("/v1/credentials")).json(), {
    AccessKeyId: "AKIA",
    Token: "",
    Expiration: "2026-08-01T12:20:00Z",
  });
});

test("limits the base identity that clients get to the scope, but not the one that assumes roles", async (t) => {
  const closures = { ...NOTHING_CLOSED, sessionScope: true };
  const sidecar = new SidecarUnderTest({ profile: { closures, status: null } });
  t.match((await sidecar.get("/v1/credentials")).json(), { AccessKeyId: "ASIA1" });
  const [own] = sidecar.stsCalls;
  t.match(own, { policy: /"s3:\*"/, sessionName: "sidecar" });
  await sidecar.get("/v1/credentials/selectors/team-a");
  t.equal(sidecar.signers[1], sidecar.signers[0], "the base identity itself assumes the role");
  t.same(sidecar.unlimited, []);
  const unknown = new SidecarUnderTest({ profile: { closures, status: null }, groups: ["new.services.k8s.aws"] });
  t.match(await unknown.get("/v1/credentials"), { statusCode: 403 }, "nothing is handed out without a row");
  const identities = new SidecarUnderTest({
    profile: { closures, status: null }, groups: ["infrastructure.cluster.x-k8s.io"],
  });
  t.match((await identities.get("/v1/credentials")).json(), { AccessKeyId: /^ASIA/ });
  t.same(identities.stsCalls, [], "identities limit themselves");
});

test("hands out the base identity as it is if AWS does not let it be limited", async (t) => {
  const denied = new UpstreamSTSError("not trusted", { stsCode: "AccessDenied", stsStatus: 403 });
  const profile = { closures: { ...NOTHING_CLOSED, sessionScope: true }, status: null };
  const sidecar = new SidecarUnderTest({ profile, assumeRole: () => Promise.reject(denied) });
  t.equal((await sidecar.get("/v1/credentials")).statusCode, 200);
  t.same(sidecar.unlimited, ["not trusted"]);
});

test("limits the sessions of CARM roles to the default scope", async (t) => {
  const profile = { closures: { ...NOTHING_CLOSED, sessionScope: true }, status: null };
  const owned = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111111111111" });
  const sidecar = new SidecarUnderTest({
    profile, objects: [owned, mapObject(ACCOUNT_MAP, { 111111111111: ROLE_A })],
    settings: { ...SETTINGS_BY_DEFAULT, mode: "carm" },
  });
  t.equal((await sidecar.get(`/v1/credentials/namespaces/team-a?${BUCKET}`)).statusCode, 200);
  t.match(sidecar.stsCalls, [{ roleARN: ROLE_A, policy: /"s3:\*"/ }]);
});
