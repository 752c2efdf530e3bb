import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { ACK_CRDS, ackCRD } from "../../fixtures/ack-crds.ts";
import { clusterObject } from "../../shared/capa-objects.ts";
import { bucketObject, ROLE, selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { create } from "../webhook/requests.ts";
import { installPolicies, isDeniedByPolicy, PLAIN_CRD, SELECTORS } from "./installed-policies.ts";

const NAMESPACES = "/api/v1/namespaces";
const OWN = `${NAMESPACES}/ack-role-resolver`;
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
const BUCKET = `${BUCKETS}/live`;
const CLUSTERS = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/team-a/awsclusters";
const CLUSTER = `${CLUSTERS}/live`;
const MERGE = "application/merge-patch+json";
const REASON = "ack-role-resolver.io/reason";
const RESOLUTION = {
  "ack-role-resolver.io/outcome": "default", "ack-role-resolver.io/via": "identity", [REASON]: "no selector",
};

onCluster("the policy of the webhook's service account on a real API server", async (t, cluster) => {
  const ofClusters = ackCRD("infrastructure.cluster.x-k8s.io", "AWSCluster", "awsclusters", ["v1beta2"]);
  await cluster.installCRDs([PLAIN_CRD, ...ACK_CRDS, ofClusters]);
  await createObjects(cluster);
  await installPolicies(cluster);
  await t.test("admits a change of the annotations that the webhook writes", async (tt) => (
    admitsAnnotations(tt, cluster)
  ));
  await t.test("denies every other write of ACK resources and selectors", async (tt) => deniesOthers(tt, cluster));
  await t.test("admits the writes of the webhook's own objects", async (tt) => admitsOwnObjects(tt, cluster));
  await t.test("admits the same writes by another user", async (tt) => {
    const response = await cluster.request("PATCH", `${BUCKET}?dryRun=All`, { spec: { name: "b" } }, asPatch({}));
    tt.equal(response.status, 200);
  });
});

const WEBHOOK = { user: "webhook" } as const;

function asPatch(options: RequestOptions): RequestOptions {
  return { ...options, headers: { "content-type": MERGE } };
}

async function createObjects(cluster: Cluster): Promise<void> {
  const annotations = { a: "b", "ack-role-resolver.io/use-selector": "gold", ...RESOLUTION };
  const objects: readonly (readonly [path: string, object: object])[] = [
    ...["team-a", "ack-role-resolver"].map((name) => [NAMESPACES, { metadata: { name } }] as const),
    [BUCKETS, bucketObject({ name: "live", annotations, labels: { tier: "gold" } })],
    [BUCKETS, bucketObject({ name: "bare" })],
    [CLUSTERS, clusterObject("live", "role/r", "team-a")],
    [SELECTORS, selectorObject("live", { arn: ROLE, namespaceSelector: { names: ["a"] } })],
    // RBAC grants everything, so that only the policy denies.
    ["/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "everything" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", namespace: "ack-role-resolver", name: "ack-role-resolver-webhook" }],
    }],
  ];
  for (const [path, object] of objects) await create(cluster, path, object);
}

async function patch(cluster: Cluster, path: string, change: object): Promise<ApiResponse> {
  return cluster.request("PATCH", `${path}?dryRun=All`, change, asPatch(WEBHOOK));
}

function annotated(annotations: object): object {
  return { metadata: { annotations } };
}

async function admitsAnnotations(t: Test, cluster: Cluster): Promise<void> {
  const none = Object.fromEntries(Object.keys(RESOLUTION).map((key) => [key, null]));
  for (const path of [BUCKET, `${BUCKETS}/bare`, CLUSTER]) {
    for (const change of [{}, annotated({ ...RESOLUTION, [REASON]: "other" }), annotated(none)]) {
      const { status, body } = await patch(cluster, path, change);
      t.equal(status, 200, `${path} ${JSON.stringify(change)}: ${stringAt(body, "message") ?? ""}`);
    }
  }
  const later = await patch(cluster, BUCKET, annotated({ "ack-role-resolver.io/later-release": "x" }));
  t.equal(later.status, 200, "an annotation that a later release writes");
}

const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "5e0cc1f5-9a5e-4f5c-8b8e-3f2a3f0c0a01" };

async function deniesOthers(t: Test, cluster: Cluster): Promise<void> {
  const changes: readonly (readonly [path: string, change: object])[] = [
    [BUCKET, { spec: { name: "b" } }],
    [BUCKET, { spec: { name: null } }],
    [BUCKET, { metadata: { labels: { tier: "silver" } } }],
    [BUCKET, { metadata: { labels: null } }],
    [BUCKET, { metadata: { finalizers: ["example.com/f"] } }],
    [BUCKET, { metadata: { ownerReferences: [OWNER] } }],
    [BUCKET, annotated({ a: "c" })],
    [BUCKET, annotated({ a: null })],
    [BUCKET, annotated({ "services.k8s.aws/region": "eu-west-1" })],
    [BUCKET, annotated({ "ack-role-resolver.io.example.com/a": "b" })],
    [BUCKET, annotated({ "ack-role-resolver.io/allow": "ACK-30" })],
    [BUCKET, annotated({ "ack-role-resolver.io/use-selector": "silver" })],
    [BUCKET, annotated({ "ack-role-resolver.io/use-selector": null })],
    [BUCKET, { ...annotated(RESOLUTION), spec: { name: "b" } }],
    [`${BUCKET}/status`, { status: { a: "b" } }],
    [CLUSTER, { spec: { region: "us-east-1" } }],
    [CLUSTER, { metadata: { labels: { "cluster.x-k8s.io/cluster-name": "other" } } }],
    [CLUSTER, annotated({ "ack-role-resolver.io/allow": "AC-04" })],
    [CLUSTER, annotated({ "cluster.x-k8s.io/paused": "true" })],
    [`${CLUSTER}/status`, { status: { ready: true } }],
    [`${SELECTORS}/live`, annotated({ [REASON]: "x" })],
    [`${SELECTORS}/live`, { spec: { namespaceSelector: { names: ["b"] } } }],
  ];
  for (const [path, change] of changes) {
    const response = await patch(cluster, path, change);
    t.ok(isDeniedByPolicy(response), `${path} ${JSON.stringify(change)}: ${response.status}`);
  }
  for (const [method, path, body] of [
    ["POST", BUCKETS, bucketObject({ name: "new" })], ["DELETE", BUCKET], ["DELETE", BUCKETS],
    ["POST", CLUSTERS, clusterObject("new", null, "team-a")], ["DELETE", CLUSTER], ["DELETE", CLUSTERS],
    ["POST", SELECTORS, selectorObject("new", { arn: ROLE, namespaceSelector: { names: ["a"] } })],
    ["DELETE", `${SELECTORS}/live`],
  ] as const) {
    const response = await cluster.request(method, `${path}?dryRun=All`, body, WEBHOOK);
    t.ok(isDeniedByPolicy(response), `${method} ${path}: ${response.status}`);
  }
}

/** The webhook writes these objects to rotate its certificates, to elect a leader and to report. */
async function admitsOwnObjects(t: Test, cluster: Cluster): Promise<void> {
  const configuration = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const regarding = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", name: "live", namespace: "team-a" };
  const event = {
    eventTime: "2026-01-01T00:00:00.000000Z", reportingController: "ack-role-resolver.io/webhook",
    reportingInstance: "a", action: "Resolve", reason: "Conflict", type: "Warning", note: "x", regarding,
  };
  const objects: readonly (readonly [path: string, name: string, object: object])[] = [
    [`${OWN}/secrets`, "certificates", {}],
    ["/apis/coordination.k8s.io/v1/namespaces/ack-role-resolver/leases", "leader", {}],
    ["/apis/events.k8s.io/v1/namespaces/team-a/events", "event", event],
    [configuration, "ack-role-resolver", {}],
  ];
  for (const [path, name, object] of objects) {
    const created = await cluster.request("POST", path, { metadata: { name }, ...object }, WEBHOOK);
    t.equal(created.status, 201, stringAt(created.body, "message") ?? path);
    const labeled = { metadata: { labels: { a: "b" } } };
    t.equal((await cluster.request("PATCH", `${path}/${name}`, labeled, asPatch(WEBHOOK))).status, 200, path);
    t.equal((await cluster.request("DELETE", `${path}/${name}`, undefined, WEBHOOK)).status, 200, path);
  }
}
