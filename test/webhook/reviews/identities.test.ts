import { test } from "tap";
import type { Access } from "../../../shared/contract/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, identityObject, ownedBy, roleIdentity, staticIdentity, withFields,
} from "../../shared/decisions/identities/objects.ts";
import { namespaceObject } from "../../shared/decisions/objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, untilWaiting, webhookUnderTest } from "../webhook-under-test.ts";

const LIST = { list: ["ns1"] };
const STORED = [
  namespaceObject("ns1", { team: "a" }), controllerIdentity(), roleIdentity("r", "controller", LIST),
  staticIdentity("other", { list: ["ns2"] }), clusterObject("c", "role/r"),
];
const CAPA = "system:serviceaccount:capa-system:capa-controller-manager";

const webhook = webhookUnderTest(new FakeSource(STORED));

/** Returns the response of the webhook. The request creates the object unless `fields` state another operation. */
async function review(object: JsonObject, fields: JsonObject = {}): Promise<JsonObject> {
  const path = String(object["kind"]).endsWith("Identity") ? "/validate/identities" : "/validate/clusters";
  const { status, json } = await webhook.post(path, reviewOf(object, fields));
  return status === 200 ? objectAt(json, "response") : { status };
}

const by = (username: string): JsonObject => ({ userInfo: { username, groups: [] } });

test("denies a malformed identity, with the fix in the message", async (t) => {
  const response = await review(roleIdentity("x", "controller", { namespaces: ["ns1"] }));
  t.match(response, { allowed: false, status: { code: 422,
    message: /^CI-09 spec\.allowedNamespaces\.namespaces: .*Use only/ } });
});

test("only warns CAPA about the same identity", async (t) => {
  const response = await review(roleIdentity("x", "controller", { namespaces: ["ns1"] }), by(CAPA));
  t.match(response, { allowed: true, warnings: [/^CI-09 /] });
});

test("denies the deletion of an identity in use, unless the waiver of a waiver user allows it", async (t) => {
  const deletion = (identity: JsonObject, username: string): JsonObject => (
    { operation: "DELETE", object: null, oldObject: identity, userInfo: { username,
      groups: username === "admin" ? ["system:masters"] : [] } }
  );
  const used = roleIdentity("r", "controller", LIST);
  const waived = { ...used, metadata: { name: "r", annotations: { "ack-role-resolver.io/allow": "CI-31" } } };
  t.match(await review(used, deletion(used, "jane")), { allowed: false,
    status: { message: /^CI-31 .*AWSCluster ns1\/c/ } });
  t.match(await review(waived, deletion(waived, "jane")), { allowed: false });
  t.match(await review(waived, deletion(waived, "admin")), { allowed: true, warnings: [/^CI-31 /] });
});

test("allows every write of CAPA's own objects by any user", async (t) => {
  const defaulted = identityObject(
    "AWSClusterControllerIdentity", "default", { allowedNamespaces: { list: null, selector: {} } },
    { labels: { "clusterctl.cluster.x-k8s.io/move-hierarchy": "" } },
  );
  t.match(await review(defaulted), { allowed: true });
  t.match(await review(defaulted, { operation: "UPDATE", oldObject: controllerIdentity() }), { allowed: true });
});

test("a stored identity whose selector is not valid can lose its finalizers", async (t) => {
  const broken = staticIdentity("s", { selector: { matchLabels: { "-a": "b" } } });
  const stored = { ...broken, metadata: { name: "s", finalizers: ["x"] } };
  t.match(await review(broken, { operation: "UPDATE", oldObject: stored }), { allowed: true });
  t.match(await review(broken), { allowed: false, status: { message: /^CI-06 / } });
});

test("denies a cluster whose namespace the identity does not allow, and a move to another account", async (t) => {
  t.match(await review(clusterObject("n", "static/other")), { allowed: false, status: { message: /^AC-02 / } });
  t.match(await review(clusterObject("n", "role/r")), { allowed: true });
  const removal = { operation: "UPDATE", oldObject: clusterObject("c", "role/r") };
  t.match(await review(clusterObject("c", "controller"), removal), { allowed: false,
    status: { message: /^AC-04 .*Keep identityRef/ } });
  t.match(await review(clusterObject("c", "controller"), { ...removal, ...by(CAPA) }), { allowed: true,
    warnings: [/^AC-04 /] });
});

test("only warns about a selector if the namespace is unknown", async (t) => {
  const unknown = webhookUnderTest(new FakeSource([staticIdentity("s", { selector: { matchLabels: { team: "a" } } })]));
  const response = unknown.post("/validate/clusters", reviewOf(clusterObject("n", "static/s")));
  await untilWaiting(unknown.source);
  unknown.clock.fireAll();
  const { json } = await response;
  t.match(objectAt(json, "response"), { allowed: true, warnings: [/^AC-02 /] });
});

test("returns an HTTP error until the inventory is loaded, and skips other kinds", async (t) => {
  const source = new FakeSource(STORED);
  source.unload();
  const unloaded = webhookUnderTest(source);
  t.equal((await unloaded.post("/validate/identities", reviewOf(roleIdentity("x")))).status, 500);
  t.equal((await unloaded.post("/validate/clusters", reviewOf(clusterObject("x", null)))).status, 500);
  const machine = { ...clusterObject("m", null), kind: "AWSMachine" };
  t.match(await review(machine), { allowed: true });
});

test("denies an identity or a cluster that exceeds a limit of reviews, and only warns CAPA", async (t) => {
  const values = Array.from({ length: 50_001 }, () => "a");
  for (const [object, code] of [
    [roleIdentity("x", "controller", { list: values }), "CI-34"],
    [{ ...clusterObject("x", null), spec: { values } }, "AC-08"],
  ] as const) {
    t.match(await review(object), { allowed: false, status: { message: new RegExp(`^${code} `) } });
    t.match(await review(object, by(CAPA)), { allowed: true, warnings: [new RegExp(`^${code} `)] });
  }
});

/** Returns a webhook with AC-05 on. Each access review adds an entry to `reviews` and returns `access`. */
function reviewing(access: Access, reviews: unknown[] = []): typeof review {
  const settings = { checkSeverities: new Map([["AC-05", "deny"] as const]), capaServiceAccounts: CAPA_ACCOUNTS,
    clusterAPIServiceAccounts: ["capi-system/capi-manager"] };
  const source = new FakeSource([...STORED, ownedBy("machines", clusterObject("m", "role/r"))]);
  const server = webhookUnderTest(source, settings, async ({ username }, use) => {
    reviews.push([username, use]);
    return access;
  });
  return async (object, fields) => {
    const { json } = await server.post("/validate/clusters", reviewOf(object, { ...by("jane"), ...fields }));
    return objectAt(json, "response");
  };
}

const CAPA_ACCOUNTS = ["capa-system/capa-controller-manager"];
const USE_R = { group: "infrastructure.cluster.x-k8s.io", resource: "awsclusterroleidentities", name: "r",
  namespace: "ns1" };

test("with AC-05 on, denies a requester whose access to the identity is denied or unknown", async (t) => {
  const reviews: unknown[] = [];
  t.match(await reviewing("denied", reviews)(clusterObject("n", "role/r")), { allowed: false, status: { message:
    'AC-05 spec.identityRef: the requester may not use AWSClusterRoleIdentity "r". Create a Role in namespace ns1 with '
    + "the rule apiGroups: [infrastructure.cluster.x-k8s.io], resources: [awsclusterroleidentities], resourceNames: "
    + "[r], verbs: [use], and a RoleBinding in that namespace that grants it to the requester." } });
  t.same(reviews, [["jane", USE_R]], "one access review");
  t.match(await reviewing("unknown")(clusterObject("n", "role/r")), { allowed: false, status: { message:
    'AC-05 spec.identityRef: the webhook could not verify that the requester may use AWSClusterRoleIdentity "r". '
    + "Retry in a moment; the webhook log shows why the access review failed." } });
  t.match(await reviewing("allowed")(clusterObject("n", "role/r")), { allowed: true });
  const waived = { ...clusterObject("n", "role/r"), metadata: { name: "n", namespace: "ns1",
    annotations: { "ack-role-resolver.io/allow": "AC-05" } } };
  const admin = { userInfo: { username: "admin", groups: ["system:masters"] } };
  t.match(await reviewing("denied")(waived, admin), { allowed: false, status: { message: /^AC-05 / } }, "no waiver");
});

test("with AC-05 on, reviews access for each write of a cluster, except writes of CAPA", async (t) => {
  const reviews: unknown[] = [];
  const send = reviewing("denied", reviews);
  const stored = clusterObject("c", "role/r");
  const edited = withFields(stored, "spec", { region: "us-east-1" });
  t.match(await send(edited, { operation: "UPDATE", oldObject: stored, ...by(CAPA) }), { allowed: true });
  t.match(await send(clusterObject("n", "role/r"), by(CAPA)), { allowed: true });
  t.match(await send(clusterObject("n", "Other/r")), { allowed: false, status: { message: /^AC-00 / } });
  t.same(reviews, []);
  const deletion = { operation: "DELETE", object: null, oldObject: stored };
  for (const change of [{ operation: "UPDATE", oldObject: stored }, deletion]) {
    t.match(await send(edited, change), { allowed: false, status: { message: /AC-05 .*AWSClusterRoleIdentity "r"/ } });
    t.same(reviews.splice(0), [["jane", USE_R]], "one access review");
  }
  t.match(await send(clusterObject("c", null), { operation: "UPDATE", oldObject: stored }), { allowed: false,
    status: { message: /AC-05 .*may not use AWSClusterControllerIdentity "default"/ } });
  const ofController = { ...USE_R, resource: "awsclustercontrolleridentities", name: "default" };
  t.same(reviews, [["jane", ofController], ["jane", USE_R]]);
});

test("with AC-05 on, reviews access to the identity of the cluster of a machine, except for Cluster API", async (t) => {
  const reviews: unknown[] = [];
  const send = reviewing("denied", reviews);
  const labels = { "cluster.x-k8s.io/cluster-name": "machines" };
  const machine = { ...clusterObject("m", null), kind: "AWSMachine", metadata: { name: "m", namespace: "ns1", labels },
    spec: {} };
  t.match(await send(machine), { allowed: false, status: { message:
    /^AC-05 metadata\.labels\[cluster.x-k8s.io\/cluster-name\]: .* AWSClusterRoleIdentity "r", the identity of / } });
  t.same(reviews, [["jane", USE_R]]);
  t.match(await send(machine, by("system:serviceaccount:capi-system:capi-manager")), { allowed: true });
  t.match(await send(machine, by(CAPA)), { allowed: true });
  t.same(reviews.length, 1);
  const values = Array.from({ length: 50_001 }, () => "a");
  for (const spec of [{ values }, { deep: JSON.parse("[".repeat(200) + "]".repeat(200)) as unknown }]) {
    t.match(await send({ ...machine, spec }), { allowed: false, status: { message: /^AC-08 / } });
    t.match(await send({ ...machine, spec }, by(CAPA)), { allowed: true });
  }
});

test("with AC-05 on and no connection to the API server, denies the use of an identity", async (t) => {
  const offline = webhookUnderTest(new FakeSource(STORED), { checkSeverities: new Map([["AC-05", "deny"]]) });
  const { json } = await offline.post("/validate/clusters", reviewOf(clusterObject("n", "role/r")));
  t.match(objectAt(json, "response"), { allowed: false, status: { message: /^AC-05 .*could not verify/ } });
  t.match(await review(clusterObject("n", "role/r")), { allowed: true }, "AC-05 is off by default");
});

test("denies new labels of a namespace with which an identity no longer allows its clusters", async (t) => {
  const identity = staticIdentity("s", { selector: { matchLabels: { team: "a" } } });
  const server = webhookUnderTest(new FakeSource([...STORED, identity, clusterObject("d", "static/s")]));
  const relabel = async (labels: JsonObject): Promise<JsonObject> => {
    const fields = { operation: "UPDATE", oldObject: namespaceObject("ns1", { team: "a" }) };
    const change = reviewOf(namespaceObject("ns1", labels), { ...fields, namespace: "ns1" });
    return objectAt((await server.post("/validate/namespaces", change)).json, "response");
  };
  t.match(await relabel({ team: "b" }), { allowed: false, status: { message:
    /^NS-12 .*: AWSCluster ns1\/d \(AWSClusterStaticIdentity "s"\)\. Keep the labels/ } });
  t.match(await relabel({ team: "a", other: "x" }), { allowed: true });
});
