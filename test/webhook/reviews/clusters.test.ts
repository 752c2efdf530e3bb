import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { test } from "tap";
import { RESOLUTION_KEYS } from "../../../shared/core/annotation-keys.ts";
import { REFERRER_KINDS } from "../../../shared/core/capa-kinds.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, refTo, roleARN, roleIdentity,
} from "../../shared/capa-objects.ts";
import { namespaceObject } from "../../shared/objects.ts";
import { objectAt, patchOf, reviewOf } from "../reviews.ts";
import { FakeSource, untilWaiting, webhookUnderTest } from "../webhook-under-test.ts";

const PATH = "/mutate/clusters";
const PREFIX = "ack-role-resolver.io/";
const STORED = [namespaceObject("ns1", { team: "a" }), controllerIdentity(), roleIdentity("r")];
const CAPA = { userInfo: { username: "system:serviceaccount:capa-system:capa-controller-manager", groups: [] } };
const CLUSTER = clusterObject("c", "role/r");
const ANNOTATIONS = {
  [`${PREFIX}outcome`]: "selected",
  [`${PREFIX}via`]: "identity",
  [`${PREFIX}role-arn`]: roleARN("r"),
  [`${PREFIX}identity-chain`]: "AWSClusterRoleIdentity/r,AWSClusterControllerIdentity/default",
  [`${PREFIX}reason`]: 'AWSClusterRoleIdentity "r" provides the credentials, with the credentials of '
    + 'AWSClusterControllerIdentity "default".',
};

function cluster(metadata: JsonObject, rest: JsonObject = {}): JsonObject {
  return { ...CLUSTER, metadata: { name: "c", namespace: "ns1", ...metadata }, ...rest };
}

test("annotates each kind and version that refers to an identity", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(STORED));
  for (const { group, kind, isTemplate } of REFERRER_KINDS) {
    for (const version of ["v1beta1", "v1beta2"]) {
      const reference = { identityRef: refTo("role/r") };
      const spec = isTemplate ? { template: { spec: reference } } : reference;
      const object = { apiVersion: `${group}/${version}`, kind, metadata: { name: "c", namespace: "ns1" }, spec };
      const { json } = await webhook.post(PATH, reviewOf(object));
      t.same(patchOf(json), [{ op: "add", path: "/metadata/annotations", value: ANNOTATIONS }], `${kind} ${version}`);
    }
  }
  t.match(webhook.lines[0], { path: PATH, outcome: "selected", role_arn: roleARN("r") });
});

test("keeps other annotations, and overwrites forged annotations with a warning", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(STORED));
  const forged = { other: "kept", ...Object.fromEntries(RESOLUTION_KEYS.map((key) => [key, "forged"])) };
  const { json } = await webhook.post(PATH, reviewOf(cluster({ annotations: forged })));
  t.same((patchOf(json) ?? []).map(({ op, path }) => [op, path.split("~1")[1]]), [
    ["replace", "outcome"], ["replace", "via"], ["remove", "selector"], ["remove", "selector-resource-version"],
    ["replace", "role-arn"], ["remove", "conflicting-selectors"], ["replace", "identity-chain"], ["replace", "reason"],
  ]);
  t.match(json, { response: { allowed: true, warnings: [/^ACK-02 ack-role-resolver\.io\/outcome, /] } });
  t.match(await webhook.registry.metrics(), 'notices_total{code="ACK-02"} 1');
  const update = reviewOf(cluster({ annotations: forged }), { operation: "UPDATE", oldObject: cluster({}) });
  t.equal(patchOf((await webhook.post(PATH, update)).json)?.length, 8, "an update that changes only annotations");
});

test("returns the same patch for a dry run, and no patch for a current object", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(STORED));
  const patch = patchOf((await webhook.post(PATH, reviewOf(CLUSTER, { dryRun: true }))).json);
  t.same(patch, patchOf((await webhook.post(PATH, reviewOf(CLUSTER))).json));
  t.equal(patchOf((await webhook.post(PATH, reviewOf(cluster({ annotations: ANNOTATIONS })))).json), null);
});

test("annotates again what server-side apply removes, because the annotations belong to the applier", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(STORED));
  const removed = reviewOf(cluster({}), { operation: "UPDATE", oldObject: cluster({ annotations: ANNOTATIONS }) });
  t.same(patchOf((await webhook.post(PATH, removed)).json), [
    { op: "add", path: "/metadata/annotations", value: ANNOTATIONS },
  ]);
});

test("does not change writes of CAPA, of finalizers or of owners, subresources and other kinds", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(STORED));
  const update = (object: JsonObject, oldObject: JsonObject, rest: JsonObject = {}): JsonObject => (
    reviewOf(object, { operation: "UPDATE", oldObject, ...rest })
  );
  const deletionTimestamp = "2026-03-01T12:00:00Z";
  const cases: readonly (readonly [reason: string, review: JsonObject])[] = [
    ["written by CAPA", reviewOf(CLUSTER, CAPA)],
    ["written by CAPA", update(cluster({ labels: { a: "b" } }), CLUSTER, CAPA)],
    ["bookkeeping only", update(cluster({ finalizers: ["a"] }), CLUSTER)],
    ["bookkeeping only", update(cluster({ ownerReferences: [{ name: "owner" }] }), CLUSTER)],
    ["being deleted", update(cluster({ deletionTimestamp }), cluster({ deletionTimestamp, finalizers: ["a"] }))],
    ["subresource", update(cluster({}, { status: { ready: true } }), CLUSTER, { subResource: "status" })],
    ["no object", reviewOf(CLUSTER, { operation: "DELETE", object: null, oldObject: CLUSTER })],
    ["no object", reviewOf(CLUSTER, { object: null })],
    ["not managed", reviewOf({ ...CLUSTER, kind: "AWSMachine" })],
    ["not managed", reviewOf(roleIdentity("x"), { namespace: "ns1" })],
    ["not managed", reviewOf(CLUSTER, { namespace: "" })],
  ];
  for (const [reason, review] of cases) {
    t.same((await webhook.post(PATH, review)).json, {
      apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: "u-1", allowed: true },
    });
    t.match(webhook.lines.at(-1), { outcome: "skipped", reason });
  }
});

test("resolves the identity in the namespace of the request", async (t) => {
  const webhook = webhookUnderTest(new FakeSource([...STORED, namespaceObject("ns2"), roleIdentity("l", "controller", {
    list: ["ns2"],
  })]));
  const review = reviewOf(clusterObject("c", "role/l", "ns2"), { namespace: "ns1" });
  const [patch] = patchOf((await webhook.post(PATH, review)).json) ?? [];
  t.match(patch, { value: { [`${PREFIX}outcome`]: "refused" } });
});

test("removes the annotations if the namespace or the identities are unknown", async (t) => {
  const source = new FakeSource([controllerIdentity(), roleIdentity("r")]);
  const webhook = webhookUnderTest(source);
  const forged = reviewOf(cluster({ annotations: ANNOTATIONS }));
  const response = webhook.post(PATH, forged);
  await untilWaiting(source);
  webhook.clock.fireAll();
  const unknown = await response;
  t.equal(patchOf(unknown.json)?.filter(({ op }) => op === "remove").length, 5);
  t.match(unknown.json, { response: { warnings: [/^ERR_NAMESPACE_UNKNOWN not annotated: /] } });
  source.put(namespaceObject("ns1"));
  const item = "AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io";
  source.inventory.apply([{ type: "unlisted", store: IDENTITIES, item }]);
  const unlisted = await webhook.post(PATH, forged);
  t.equal(patchOf(unlisted.json)?.length, 5);
  t.match(objectAt(unlisted.json, "response"), {
    allowed: true, warnings: ["ERR_NOT_READY not annotated: the identities are not known yet"],
  });
  source.unload();
  t.equal((await webhook.post(PATH, forged)).status, 500);
});
