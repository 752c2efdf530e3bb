import { test } from "tap";
import type { Access } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, ownedBy, roleIdentity, staticIdentity, withFields,
} from "../../shared/capa-objects.ts";
import { namespaceObject } from "../../shared/objects.ts";
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
  t.same(reviews.splice(0), [["jane", USE_R]], "one access review");
  await reviewing("denied", reviews)(clusterObject("n", "role/r"), { namespace: "" });
  t.same(reviews, [["jane", { ...USE_R, namespace: "" }]], "not in the namespace that a forged object has");
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
