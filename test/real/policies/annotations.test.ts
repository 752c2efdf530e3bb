import type { Test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_CRDS, ackCRD } from "../../fixtures/ack-crds.ts";
import { clusterObject } from "../../shared/capa-objects.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { IDENTITIES } from "../apiserver/identities.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { create as createStored } from "../webhook/requests.ts";
import {
  type AnnotationCase, BUCKET_CASES, CLUSTER_CASES, NAMESPACE_CASES, REQUIRED_CASES, RESOLUTION_CASES,
  WAIVER_CASES,
} from "./cases.ts";
import {
  coveredChecks, deniedChecks, installPolicies, PLAIN_CRD, SELECTORS, webhookDenials,
} from "./installed-policies.ts";

const SETTINGS = {
  allowedEndpointHosts: ["a.example", "b.example:8443"], controllerServiceAccounts: ["ack-system/ack-s3-controller"],
  controllerUsers: ["arn:aws:sts::111122223333:assumed-role/ACK/*"],
};
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const NAMESPACES = "/api/v1/namespaces";
const BUCKETS = `${NAMESPACES.replace("/api/v1", "/apis/s3.services.k8s.aws/v1alpha1")}/team-a/buckets`;
const CLUSTERS = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/team-a/awsclusters";
const MAPS = `${NAMESPACES}/ack-system/configmaps`;
const JANE = { user: "jane" } as const;

onCluster("the policies of annotations on a real API server, without the webhook", async (t, cluster) => {
  const ofClusters = ackCRD("infrastructure.cluster.x-k8s.io", "AWSCluster", "awsclusters", ["v1beta2"]);
  await cluster.installCRDs([PLAIN_CRD, ...ACK_CRDS, ofClusters]);
  await createObjects(cluster);
  await installPolicies(cluster, { settings: SETTINGS });
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("denies the annotations of a resource that the webhook denies", deniesResources);
  await run("denies annotations of a resolution that contradict each other", deniesForged);
  await run("denies annotations of a cluster that contradict each other, except by CAPA", deniesClusters);
  await run("denies the annotations of a namespace that the webhook denies, also through its status", deniesNamespaces);
  await run("denies a new waiver by a user who is not a waiver user, of each kind", deniesWaivers);
  await run("denies the removal of selector-required, also through the status", deniesRemovedRequirement);
  await run("admits annotations that the stored object has", admitsStored);
  await run("denies a change of the region of a resource that exists in another region", deniesRegionChange);
  await run("admits each annotation by an ACK controller, but no selector", exemptsControllers);
});

async function createObjects(cluster: Cluster): Promise<void> {
  const forged = { "services.k8s.aws/region": "Frankfurt", "ack-role-resolver.io/role-arn": "x" };
  const objects: readonly (readonly [path: string, object: object])[] = [
    ...["team-a", "ack-system"].map((name) => [NAMESPACES, namespaceObject(name)] as const),
    [NAMESPACES, namespaceObject("faulty", {}, { "services.k8s.aws/endpoint-url": "http://a.example" })],
    [BUCKETS, bucketObject({ name: "faulty", annotations: forged })],
    [BUCKETS, bucketObject({ name: "live" })],
    ["/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "everything" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [
        { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" },
        { kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" },
        { kind: "ServiceAccount", namespace: "ack-role-resolver", name: "ack-role-resolver-webhook" },
      ],
    }],
  ];
  for (const [path, object] of objects) await createStored(cluster, path, object);
}

async function create(
  cluster: Cluster, path: string, object: object, options: RequestOptions = {},
): Promise<ApiResponse> {
  return cluster.request("POST", `${path}?dryRun=All`, object, options);
}

/** Compares the policy with the expected denials, and these with the covered denials of the webhook. */
async function deniesCases(
  t: Test, cluster: Cluster, cases: readonly AnnotationCase[], [path, objectWith]: readonly [string, ObjectWith],
): Promise<void> {
  const covered = coveredChecks(SETTINGS);
  for (const [annotations, ...denied] of cases) {
    const object = objectWith(annotations);
    const response = await create(cluster, path, object);
    const name = `${JSON.stringify(annotations).slice(0, 200)}: ${stringAt(response.body, "message") ?? ""}`;
    t.same(deniedChecks(response), denied, name);
    t.equal(response.status, denied.length === 0 ? 201 : 422, name);
    const ofWebhook = webhookDenials({ object, settings: SETTINGS }).filter((id) => covered.has(id));
    // The webhook replaces annotations of a resolution, and therefore only warns.
    t.same(denied.filter((id) => id !== "ACK-02"), ofWebhook, name);
  }
}

type ObjectWith = (annotations: JsonObject) => JsonObject;

function bucketWith(annotations: JsonObject): JsonObject {
  return bucketObject({ name: "new", annotations });
}

function namespaceWith(annotations: JsonObject): JsonObject {
  return namespaceObject("new", {}, annotations);
}

async function deniesResources(t: Test, cluster: Cluster): Promise<void> {
  await deniesCases(t, cluster, BUCKET_CASES, [BUCKETS, bucketWith]);
}

async function deniesForged(t: Test, cluster: Cluster): Promise<void> {
  await deniesCases(t, cluster, RESOLUTION_CASES, [BUCKETS, bucketWith]);
}

function clusterWith(annotations: JsonObject): JsonObject {
  return { ...clusterObject("new", "role/r", "team-a"), metadata: { name: "new", annotations } };
}

async function deniesClusters(t: Test, cluster: Cluster): Promise<void> {
  await deniesCases(t, cluster, CLUSTER_CASES, [CLUSTERS, clusterWith]);
  const headers = {
    "Impersonate-User": "system:serviceaccount:capa-system:capa-controller-manager",
    "Impersonate-Group": "system:masters",
  };
  const forged = clusterWith({ "ack-role-resolver.io/outcome": "forged" });
  t.equal((await create(cluster, CLUSTERS, forged, { headers })).status, 201);
  t.equal((await create(cluster, CLUSTERS, forged)).status, 422);
}

async function deniesNamespaces(t: Test, cluster: Cluster): Promise<void> {
  await deniesCases(t, cluster, NAMESPACE_CASES, [NAMESPACES, namespaceWith]);
  for (const subresource of ["", "/status"]) {
    const annotations = { "services.k8s.aws/endpoint-url": "http://evil.example" };
    const path = `${NAMESPACES}/team-a${subresource}?dryRun=All`;
    const response = await cluster.request("PATCH", path, { metadata: { annotations } }, MERGE);
    t.same(deniedChecks(response), ["NS-08"], subresource);
  }
}

async function deniesWaivers(t: Test, cluster: Cluster): Promise<void> {
  const spec = { arn: ROLE, namespaceSelector: { names: ["a"] } };
  const kinds: readonly (readonly [path: string, object: ObjectWith])[] = [
    [SELECTORS, (annotations) => selectorObject("new", spec, { annotations })],
    [BUCKETS, bucketWith],
    [CLUSTERS, clusterWith],
    [NAMESPACES, namespaceWith],
    [MAPS, (annotations) => ({ metadata: { name: "ack-role-account-map", annotations } })],
  ];
  for (const [path, objectWith] of kinds) {
    for (const [annotations, ...denied] of WAIVER_CASES) {
      const object = objectWith(annotations);
      const response = await create(cluster, path, object, JANE);
      t.same(deniedChecks(response), denied, `${path} ${JSON.stringify(annotations)}`);
      const written = { apiVersion: "v1", kind: "ConfigMap", ...object };
      const ofWebhook = webhookDenials({ object: written, requester: IDENTITIES.jane });
      t.equal(ofWebhook.includes("WAIVER-01"), denied.length > 0, `${path} ${JSON.stringify(annotations)}`);
      t.same(deniedChecks(await create(cluster, path, object)), [], "a member of system:masters may waive");
    }
  }
  const other = { metadata: { name: "other", annotations: { "ack-role-resolver.io/allow": "IRS-15" } } };
  t.equal((await create(cluster, MAPS, other, JANE)).status, 201, "other ConfigMaps");
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const name of ["iamroleselectors.services.k8s.aws", "buckets.s3.services.k8s.aws"]) {
    const change = { metadata: { annotations: { "ack-role-resolver.io/allow": "IRS-34" } } };
    const response = await cluster.request("PATCH", `${crds}/${name}?dryRun=All`, change, { ...MERGE, ...JANE });
    t.same(deniedChecks(response), ["WAIVER-01"], name);
  }
}

async function deniesRemovedRequirement(t: Test, cluster: Cluster): Promise<void> {
  for (const [annotations, ...denied] of REQUIRED_CASES) {
    const object = namespaceWith(annotations);
    t.same(deniedChecks(await create(cluster, NAMESPACES, object, JANE)), denied, JSON.stringify(annotations));
    const written = { apiVersion: "v1", kind: "Namespace", ...object };
    const ofWebhook = webhookDenials({ object: written, requester: IDENTITIES.jane });
    t.same(ofWebhook, denied, JSON.stringify(annotations));
  }
  const key = "ack-role-resolver.io/selector-required";
  t.equal((await cluster.request("POST", NAMESPACES, namespaceObject("strict", {}, { [key]: "true" }))).status, 201);
  for (const subresource of ["", "/status"]) {
    const path = `${NAMESPACES}/strict${subresource}?dryRun=All`;
    for (const [value, ...denied] of [[null, "NS-17"], ["false", "NS-17"], ["true"]]) {
      const change = { metadata: { annotations: { [key]: value } } };
      const response = await cluster.request("PATCH", path, change, { ...MERGE, ...JANE });
      t.same(deniedChecks(response), denied, `${path} ${value}`);
      t.same(deniedChecks(await cluster.request("PATCH", path, change, MERGE)), [], "system:masters may change it");
    }
  }
  const label = { metadata: { labels: { a: "b" } } };
  const labeled = await cluster.request("PATCH", `${NAMESPACES}/strict?dryRun=All`, label, { ...MERGE, ...JANE });
  t.equal(labeled.status, 200);
}

async function admitsStored(t: Test, cluster: Cluster): Promise<void> {
  const label = { metadata: { labels: { a: "b" } } };
  for (const path of [`${BUCKETS}/faulty`, `${NAMESPACES}/faulty`]) {
    const { status, body } = await cluster.request("PATCH", `${path}?dryRun=All`, label, MERGE);
    t.equal(status, 200, stringAt(body, "message") ?? path);
  }
  const removed = { metadata: { annotations: { "ack-role-resolver.io/role-arn": null } } };
  t.equal((await cluster.request("PATCH", `${BUCKETS}/faulty?dryRun=All`, removed, MERGE)).status, 200);
}

async function deniesRegionChange(t: Test, cluster: Cluster): Promise<void> {
  const status = { status: { ackResourceMetadata: { region: "us-east-1" } } };
  t.equal((await cluster.request("PATCH", `${BUCKETS}/live/status`, status, MERGE)).status, 200);
  for (const [region, denied] of [["us-east-1", []], ["eu-west-1", ["ACK-10b"]]] as const) {
    const change = { metadata: { annotations: { "services.k8s.aws/region": region } } };
    const response = await cluster.request("PATCH", `${BUCKETS}/live?dryRun=All`, change, MERGE);
    t.same(deniedChecks(response), denied, region);
  }
}

async function exemptsControllers(t: Test, cluster: Cluster): Promise<void> {
  const user = "arn:aws:sts::111122223333:assumed-role/ACK/i-1";
  const capability = { "Impersonate-User": user, "Impersonate-Group": "system:masters" };
  for (const options of [{ user: "controller" } as const, { headers: capability }]) {
    const region = { "services.k8s.aws/region": "Frankfurt" };
    t.equal((await create(cluster, BUCKETS, bucketWith(region), options)).status, 201);
    const selector = selectorObject("new", { arn: ROLE, namespaceSelector: { names: ["a"] } });
    const response = await create(cluster, SELECTORS, selector, options);
    t.same(deniedChecks(response), ["IRS-24"], stringAt(response.body, "message") ?? "");
  }
}
