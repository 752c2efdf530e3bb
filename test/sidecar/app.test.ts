import { once } from "node:events";
import { connect } from "node:net";
import { promisify } from "node:util";
import { test } from "tap";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";
import type { Credentials } from "../../sidecar/credentials/session.ts";
import { namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../shared/decisions/objects.ts";
import { BASE_SECRET, HEADERS, ROLE_A, ROLE_SECRET, SCOPED, SidecarUnderTest, TEAM_A, TOKEN } from "./sidecar-under-test.ts";

const BUCKET = "kind=Bucket.v1alpha1.s3.services.k8s.aws";

test("a namespace's role, in exactly the body and the type that every SDK reads", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answer = await sidecar.get(`/v1/credentials/namespaces/team-a?${BUCKET}`);
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers["content-type"], "application/json", "no charset");
  t.equal(answer.headers["cache-control"], "no-store");
  t.equal(
    answer.body,
    `{"AccessKeyId":"ASIA1","SecretAccessKey":"${ROLE_SECRET}","Token":"${ROLE_SECRET}-token","AccountId":"111111111111","Expiration":"2026-08-01T13:00:00Z"}`,
  );
  t.match(sidecar.stsCalls, [{ roleARN: ROLE_A, sessionName: "ack-role-resolver" }]);
  t.equal(sidecar.stsCalls.length, 1);
});

test("a selector's role by name, and the base identity by no name, with its end rounded down", async (t) => {
  const sidecar = new SidecarUnderTest();
  t.match((await sidecar.get("/v1/credentials/selectors/team-a")).json(), { AccountId: "111111111111" });
  t.match((await sidecar.get("/v1/credentials/namespaces/team-a")).json(), { AccountId: "111111111111" }, "no kind: the same for every one");
  t.equal(sidecar.stsCalls.length, 1, "one session for both");
  t.match((await sidecar.get("/v1/credentials")).json(), { AccessKeyId: "ASIABASE", AccountId: "999999999999", Expiration: "2026-08-01T13:00:00Z" });
});

test("each refusal has its status and its code, in both spellings", async (t) => {
  const objects = [
    namespaceObject("team-a"), namespaceObject("both"), namespaceObject("none"), TEAM_A,
    ...["x", "y"].map((name) => selectorObject(name, { arn: ROLE_A, namespaceSelector: { names: ["both"] } })),
    selectorObject("rds", { arn: ROLE_A, namespaceSelector: { names: ["none"] }, resourceTypeSelector: [{ group: "rds.services.k8s.aws" }] }),
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
    t.match([answer.statusCode, body["code"], body["Code"], answer.headers["content-type"]], [status, code, code, "application/json"], path);
    t.equal(body["message"], body["Message"]);
  }
  t.same(sidecar.stsCalls, [], "nothing refused reaches STS");
});

test("a malformed query is answered with all of its faults", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answer = await sidecar.get("/v1/credentials/namespaces/team-a?kind=bucket&labels=a&label=k=v&label=k=w&label=-=%20");
  t.equal(
    answer.json<{ message: string }>().message.split("; ").slice(0, 4).join("\n"),
    [
      'unknown parameter "labels"',
      "this path takes kind and label",
      'kind is "bucket", not KIND.GROUP or KIND.VERSION.GROUP, such as kind=Bucket.v1alpha1.s3.services.k8s.aws',
      'label "k=w": the key was given already',
    ].join("\n"),
  );
  t.match(answer.json(), { message: /label "-= ": / });
});

test("labels decide: given, said to be none, or not said", async (t) => {
  const gold = selectorObject("gold", { arn: "arn:aws:iam::222222222222:role/gold", namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: { matchLabels: { tier: "gold" } } });
  const sidecar = new SidecarUnderTest({ objects: [namespaceObject("team-a"), gold] });
  const path = `/v1/credentials/namespaces/team-a?${BUCKET}`;
  t.match((await sidecar.get(`${path}&label=tier=gold&label=app=web`)).json(), { AccountId: "222222222222" });
  t.match((await sidecar.get(`${path}&label=tier%3Dsilver`)).json(), { AccountId: "999999999999" }, "no selector, and without a scope the base identity");
  t.match((await sidecar.get(`${path}&label=`)).json(), { AccountId: "999999999999" });
  t.match((await sidecar.get(path)).json(), { code: "ERR_SELECTOR_AMBIGUOUS" });
});

test("nothing is answered before the inventory is loaded", async (t) => {
  const sidecar = new SidecarUnderTest();
  sidecar.status = { loaded: false, lastSyncMs: null, fault: null };
  for (const path of ["/v1/credentials", "/v1/credentials/selectors/team-a", "/v1/credentials/namespaces/team-a"]) {
    t.match(await sidecar.get(path).then((answer) => [answer.statusCode, answer.json()]), [503, { code: "ERR_NOT_READY" }], path);
  }
});

test("a selector that goes stops being vended at once, although its session is kept", async (t) => {
  const sidecar = new SidecarUnderTest();
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  sidecar.inventory.apply([put(selectorObject("team-a", { arn: "not-an-arn" }))]);
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 403, "malformed");
  sidecar.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 404, "gone");
  sidecar.inventory.apply([put(TEAM_A)]);
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.equal(sidecar.stsCalls.length, 1);
});

test("within a scope the role that resolves there, and nothing else", async (t) => {
  const other = selectorObject("other", { arn: "arn:aws:iam::222222222222:role/o", namespaceSelector: { names: ["other"] } });
  const sidecar = new SidecarUnderTest({ objects: [namespaceObject("team-a"), namespaceObject("other"), TEAM_A, other], ...SCOPED });
  t.match((await sidecar.get("/v1/credentials")).json(), { AccountId: "111111111111" });
  t.match((await sidecar.get("/v1/credentials/namespaces/team-a")).json(), { AccountId: "111111111111" });
  t.match((await sidecar.get("/v1/credentials/selectors/team-a")).json(), { AccountId: "111111111111" });
  t.match((await sidecar.get("/v1/credentials/selectors/other")).json(), { code: "ERR_SELECTOR_NOT_GRANTED" });
  t.match((await sidecar.get("/v1/credentials/namespaces/other")).json(), {
    code: "ERR_SELECTOR_NOT_GRANTED", message: "This sidecar answers for namespace team-a alone (--scope-namespace), not for other.",
  });
  sidecar.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.match(await sidecar.get("/v1/credentials").then((answer) => [answer.statusCode, answer.json()]), [403, { code: "ERR_SELECTOR_UNMATCHED" }]);
});

test("in mode carm the maps decide, and the allowed accounts hold for them too", async (t) => {
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" }, data: { "111111111111": ROLE_A } };
  const objects = [namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111111111111" }), map, TEAM_A];
  const settings = { ...SETTINGS_BY_DEFAULT, mode: "carm" } as const;
  const sidecar = new SidecarUnderTest({ objects, settings });
  t.match((await sidecar.get("/v1/credentials/namespaces/team-a")).json(), { AccountId: "111111111111" });
  t.match((await sidecar.get("/v1/credentials/selectors/team-a")).json(), { code: "ERR_SELECTOR_NOT_GRANTED", message: /^With --mode carm/ });
  const strict = new SidecarUnderTest({ objects, settings, allowedAccounts: ["222222222222"] });
  t.match((await strict.get("/v1/credentials/namespaces/team-a")).json(), { message: "The role of a CARM map is in account 111111111111, which is none of --allowed-accounts." });
});

test("a role outside the allowed accounts is not granted, whatever selects it", async (t) => {
  const paths = [`/v1/credentials/namespaces/team-a?${BUCKET}`, "/v1/credentials/selectors/team-a"];
  const strict = new SidecarUnderTest({ allowedAccounts: ["222222222222"] });
  for (const path of paths) {
    const answer = await strict.get(path);
    t.equal(answer.statusCode, 403, path);
    t.match(answer.json(), { code: "ERR_SELECTOR_NOT_GRANTED", message: "The role of IAMRoleSelector team-a is in account 111111111111, which is none of --allowed-accounts." });
  }
  t.same(strict.stsCalls, [], "STS was not asked for it");
  t.equal((await strict.get("/v1/credentials")).statusCode, 200, "the base identity is the controller's own");
  const lenient = new SidecarUnderTest({ allowedAccounts: ["222222222222", "111111111111"] });
  for (const path of paths) t.equal((await lenient.get(path)).statusCode, 200, path);
});

test("the account answered first is pinned under a scope, and only there", async (t) => {
  const moved = put(selectorObject("team-a", { arn: "arn:aws:iam::222222222222:role/a", namespaceSelector: { names: ["team-a"] } }));
  const scoped = new SidecarUnderTest({ ...SCOPED, unmatched: "base" });
  t.equal((await scoped.get("/v1/credentials")).statusCode, 200);
  scoped.inventory.apply([moved]);
  const refused = await scoped.get("/v1/credentials");
  t.equal(refused.statusCode, 409);
  t.match(refused.json(), {
    code: "ERR_SELECTOR_ACCOUNT_PINNED",
    message: "The role is in account 222222222222, and this sidecar has answered for account 111111111111. Restart the Pod if the move is meant.",
  });
  t.equal(scoped.stsCalls.length, 1, "STS was not asked for it");
  scoped.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.match((await scoped.get("/v1/credentials")).json(), { code: "ERR_SELECTOR_ACCOUNT_PINNED" }, "the base identity is of another account too");
  t.match(await scoped.registry.metrics(), "ack_role_resolver_sidecar_account_refusals_total 2");

  const open = new SidecarUnderTest();
  t.equal((await open.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  open.inventory.apply([moved]);
  t.match((await open.get("/v1/credentials/selectors/team-a")).json(), { AccountId: "222222222222" });
});

const LONG_LIVED = { accessKeyID: "AKIA", secretAccessKey: BASE_SECRET, sessionToken: null, expirationMs: null };

test("a long-lived base identity is vended only where that is written out", async (t) => {
  const careful = new SidecarUnderTest({ base: () => Promise.resolve(LONG_LIVED) });
  t.match(await careful.get("/v1/credentials").then((answer) => [answer.statusCode, answer.json()]), [403, { code: "ERR_BASE_LONG_LIVED" }]);
  t.match((await careful.get("/v1/credentials/selectors/team-a")).json(), { AccountId: "111111111111" }, "roles are assumed with it all the same");
  const told = new SidecarUnderTest({ base: () => Promise.resolve(LONG_LIVED), vendsLongLivedBase: true });
  t.match((await told.get("/v1/credentials")).json(), { AccessKeyId: "AKIA", Token: "", Expiration: "2026-08-01T12:20:00Z" });
});

test("an answer comes within 850 ms, and what STS says later is found by the next request", async (t) => {
  const late = Promise.withResolvers<Credentials>();
  const asked = Promise.withResolvers<null>();
  const sidecar = new SidecarUnderTest({
    assumeRole: () => {
      asked.resolve(null);
      return late.promise;
    },
  });
  const first = sidecar.get("/v1/credentials/selectors/team-a");
  await asked.promise;
  let answered = false;
  void first.then(() => (answered = true));
  await sidecar.clock.advance(849);
  t.notOk(answered, "it waits for STS until then");
  await sidecar.clock.advance(1);
  t.match(await first.then((answer) => [answer.statusCode, answer.json()]), [503, { code: "ERR_STS_UNAVAILABLE", message: /not answered within 850 ms/ }]);
  late.resolve(sidecar.session({ roleARN: ROLE_A }));
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.equal(sidecar.stsCalls.length, 1);
});

test("200 at once for one role make one call of STS", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answers = await Promise.all(Array.from({ length: 200 }, () => sidecar.get("/v1/credentials/selectors/team-a")));
  t.ok(answers.every(({ statusCode }) => statusCode === 200));
  t.equal(sidecar.stsCalls.length, 1);
});

test("STS trouble is 503 with its reason, and credentials that it no longer takes are got anew", async (t) => {
  let bases = 0;
  const faults: ResolverError[] = [new ResolverError("ERR_BASE_UNAVAILABLE", "expired"), new ResolverError("ERR_STS_REFUSED", "AccessDenied")];
  const sidecar = new SidecarUnderTest({
    assumeRole: () => Promise.reject(faults.shift() ?? new Error("none left")),
    base: async () => {
      bases += 1;
      return { accessKeyID: "ASIA", secretAccessKey: BASE_SECRET, sessionToken: "t", expirationMs: null };
    },
  });
  t.match(await sidecar.get("/v1/credentials/selectors/team-a").then((answer) => [answer.statusCode, answer.json()]), [503, { code: "ERR_BASE_UNAVAILABLE" }]);
  await sidecar.clock.advance(1_000);
  t.match(await sidecar.get("/v1/credentials/selectors/team-a").then((answer) => [answer.statusCode, answer.json()]), [503, { code: "ERR_STS_REFUSED" }]);
  t.equal(bases, 2);
});

test("a fault of ours tells nothing of itself, and is logged without its message", async (t) => {
  const sidecar = new SidecarUnderTest({ assumeRole: () => Promise.reject(new TypeError(`quoted ${ROLE_SECRET}`)) });
  const answer = await sidecar.get("/v1/credentials/selectors/team-a");
  t.match([answer.statusCode, answer.json()], [500, { code: "ERR_INTERNAL", message: "A fault of the sidecar; its log has the details." }]);
  t.match(JSON.parse(sidecar.logLines.at(-1) ?? ""), { level: "error", msg: "request failed", fault: "TypeError", stack: [/app\.test\.ts/] });
  t.notMatch(sidecar.logLines.join(""), ROLE_SECRET);
});

test("each refusal is one audit line: a constant sentence and fields", async (t) => {
  const sidecar = new SidecarUnderTest();
  await sidecar.get("/v1/credentials/namespaces/missing?label=a=b");
  t.equal(sidecar.logLines.length, 1);
  t.match(JSON.parse(sidecar.logLines[0] ?? ""), {
    level: "warn", msg: "credentials refused", code: "ERR_NAMESPACE_UNKNOWN", status: 404, path: "/v1/credentials/namespaces/:namespace",
    asked: { namespace: "missing", label: "a=b" }, selectors: [], reason: 'The inventory holds no Namespace "missing". Create it, or correct the name.',
  });
  await sidecar.get("/v1/credentials/selectors/team-a");
  t.equal(sidecar.logLines.length, 1, "and an answer none");
  await sidecar.get("/v1/credentials/namespaces/missing?label=a=b");
  t.equal(sidecar.logLines.length, 1, "nor the same refusal once more");
  await sidecar.get("/v1/credential?planted=x");
  t.match(JSON.parse(sidecar.logLines.at(-1) ?? ""), { code: "ERR_REQUEST_NOT_FOUND", path: "unknown", asked: { path: "/v1/credential" } });
  await sidecar.get("/v1/credentials/selectors/team-a?planted=x", { ...HEADERS, authorization: "planted" });
  const unbelieved: unknown = JSON.parse(sidecar.logLines.at(-1) ?? "");
  t.match(unbelieved, { code: "ERR_TOKEN_INVALID", path: "/v1/credentials/selectors/:name" });
  t.notMatch(JSON.stringify(unbelieved), /asked|team-a|planted/, "and what was asked is nobody's");
});

test("metrics count answers by route, lookups, and tell when sessions end", async (t) => {
  const sidecar = new SidecarUnderTest();
  await sidecar.get("/v1/credentials/selectors/team-a");
  await sidecar.get("/v1/credentials/selectors/team-a");
  await sidecar.get("/v1/credentials/selectors/missing");
  await sidecar.get("/somewhere/else");
  await sidecar.clock.advance(60_000);
  const metrics = await sidecar.registry.metrics();
  for (const line of [
    'requests_total{path="/v1/credentials/selectors/:name",code="200"} 2', 'requests_total{path="/v1/credentials/selectors/:name",code="404"} 1',
    'requests_total{path="unknown",code="404"} 1', 'cache_lookups_total{result="miss"} 1', 'cache_lookups_total{result="hit"} 1',
    `credentials_expiry_seconds{role="${ROLE_A}"} 3540`,
  ]) t.match(metrics, `ack_role_resolver_sidecar_${line}`);
});

test("no planted secret is in any log line, metric or refusal", async (t) => {
  const sidecar = new SidecarUnderTest();
  const answers = [
    await sidecar.get("/v1/credentials"), await sidecar.get("/v1/credentials/selectors/team-a"),
    await sidecar.get("/v1/credentials/selectors/missing"), await sidecar.get("/v1/credentials", { ...HEADERS, authorization: `${TOKEN}x` }),
    await sidecar.get("/v1/credentials", { ...HEADERS, host: "evil.example" }), await sidecar.app.inject({ method: "POST", url: "/sts", headers: HEADERS }),
  ];
  const refusals = answers.filter(({ statusCode }) => statusCode !== 200).map(({ body }) => body);
  t.equal(refusals.length, 4);
  const told = [...sidecar.logLines, await sidecar.registry.metrics(), ...refusals].join("\n");
  for (const secret of [TOKEN, BASE_SECRET, ROLE_SECRET]) t.notMatch(told, secret);
});

test("a connection that was told to go is closed, although its client keeps it", async (t) => {
  const { app, clock } = new SidecarUnderTest();
  await app.listen({ host: "127.0.0.1", port: 0 });
  t.teardown(() => app.close());
  const open = promisify(app.server.getConnections.bind(app.server));
  const socket = connect({ host: "127.0.0.1", port: boundAddress(app.server).port, allowHalfOpen: true }).resume();
  t.teardown(() => socket.destroy());
  socket.write("hello\r\n\r\n");
  await once(socket, "end");
  t.equal(await open(), 1, "while it may still be read");
  await clock.advance(500);
  for (let i = 0; i < 100 && (await open()) > 0; i++) await clock.advance(0);
  t.equal(await open(), 0);
});
