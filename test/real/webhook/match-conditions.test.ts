import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../../manifests/crds.ts";
import { mutatingWebhooks, validatingWebhooks } from "../../../manifests/webhooks.ts";
import { ACK_GROUPS } from "../../../shared/core/ack-groups.ts";
import { WAIVER_ANNOTATION } from "../../../shared/core/annotation-keys.ts";
import { clusterMutationExemptionOf, exemptionOf, mutationExemptionOf } from "../../../shared/core/exemptions.ts";
import { isJsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_CRDS, ackCRD } from "../../fixtures/ack-crds.ts";
import { clusterObject } from "../../shared/capa-objects.ts";
import { ROLE, selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { objectOf, objectsOf, plain } from "../policies/json.ts";
import { bucket, buckets } from "./buckets.ts";
import { SELECTORS } from "./installed-webhook.ts";
import { create } from "./requests.ts";

/** The webhook is down: no server listens on this port. */
const OPTIONS = {
  namespace: "ack-role-resolver", ackSystemNamespace: "ack-system", url: "https://127.0.0.1:1", caBundle: null,
  ackGroups: ACK_GROUPS,
} as const;
const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1";
const MERGE = "application/merge-patch+json";
const FINALIZERS = { metadata: { finalizers: ["example.com/kept", "example.com/added"] } };
const NO_FINALIZERS = { metadata: { finalizers: [] } };
const RESOLUTION = { metadata: { annotations: { "ack-role-resolver.io/outcome": "default" } } };
const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "5e0cc1f5-9a5e-4f5c-8b8e-3f2a3f0c0a01" };
/** A change, and whether the API server calls the validating and the mutating webhook. */
type Change = readonly [name: string, path: string, change: object, validates: boolean, mutates: boolean];

const BUCKET = buckets("team-a", "live");
const LARGE = buckets("team-a", "large");
const HUGE = buckets("team-a", "huge");
const PENDING = buckets("team-a", "pending");
const CLUSTERS = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/team-a/awsclusters";
const CLUSTER = `${CLUSTERS}/live`;
const GOING_CLUSTER = `${CLUSTERS}/pending`;
const NAMESPACE = "/api/v1/namespaces/team-a";
const STATUS = `${NAMESPACE}/status`;
const MAPS = "/api/v1/namespaces/ack-system/configmaps";
const CHANGES: readonly Change[] = [
  ["no field of a bucket", BUCKET, {}, false, true],
  ["finalizers of a bucket", BUCKET, FINALIZERS, false, true],
  ["resolution annotations of a bucket", BUCKET, RESOLUTION, false, true],
  ["another annotation of a bucket", BUCKET, { metadata: { annotations: { a: "b" } } }, true, true],
  ["a waiver of a bucket", BUCKET, { metadata: { annotations: { [WAIVER_ANNOTATION]: "ACK-30" } } }, true, true],
  ["a label of a bucket", BUCKET, { metadata: { labels: { a: "b" } } }, true, true],
  ["an owner of a bucket", BUCKET, { metadata: { ownerReferences: [OWNER] } }, true, true],
  ["the spec of a bucket", BUCKET, { spec: { name: "other" } }, true, true],
  ["the status of a bucket", `${BUCKET}/status`, { status: { a: "b" } }, false, false],
  ["finalizers of a bucket with more annotations than the limit", LARGE, FINALIZERS, true, true],
  ["finalizers of a bucket of the largest size", HUGE, FINALIZERS, false, true],
  ["the spec of a bucket of the largest size", HUGE, { spec: { other: "a" } }, true, true],
  ["finalizers of a bucket that is being deleted", PENDING, NO_FINALIZERS, false, false],
  ["resolution annotations of a bucket that is being deleted", PENDING, RESOLUTION, false, true],
  ["a label of a bucket that is being deleted", PENDING, { metadata: { labels: { a: "b" } } }, true, true],
  ["no field of a cluster", CLUSTER, {}, false, false],
  ["finalizers of a cluster", CLUSTER, FINALIZERS, false, false],
  ["an owner of a cluster", CLUSTER, { metadata: { ownerReferences: [OWNER] } }, true, false],
  ["resolution annotations of a cluster", CLUSTER, RESOLUTION, false, true],
  ["another annotation of a cluster", CLUSTER, { metadata: { annotations: { a: "b" } } }, true, true],
  ["a label of a cluster", CLUSTER, { metadata: { labels: { a: "b" } } }, true, true],
  ["the spec of a cluster", CLUSTER, { spec: { region: "us-east-1" } }, true, true],
  ["the status of a cluster", `${CLUSTER}/status`, { status: { ready: true } }, false, false],
  ["finalizers of a cluster that is being deleted", GOING_CLUSTER, NO_FINALIZERS, false, false],
  ["resolution annotations of a cluster that is being deleted", GOING_CLUSTER, RESOLUTION, false, true],
  ["finalizers of a selector", `${SELECTORS}/live`, FINALIZERS, false, true],
  ["a label of a selector", `${SELECTORS}/live`, { metadata: { labels: { a: "b" } } }, true, true],
  ["the spec of a selector", `${SELECTORS}/live`, { spec: { namespaceSelector: { names: ["b"] } } }, true, true],
  ["finalizers of a selector that is being deleted", `${SELECTORS}/pending`, NO_FINALIZERS, false, false],
  ["finalizers in the metadata of a namespace", NAMESPACE, FINALIZERS, false, false],
  ["a label of a namespace", NAMESPACE, { metadata: { labels: { a: "b" } } }, true, false],
  ["an annotation of a namespace", NAMESPACE, { metadata: { annotations: { a: "b" } } }, true, false],
  ["the status of a namespace", STATUS, { status: { conditions: [{ type: "A", status: "True" }] } }, false, false],
  ["a label through the status of a namespace", STATUS, { metadata: { labels: { a: "b" } } }, true, false],
  ["finalizers of a CARM map", `${MAPS}/ack-role-account-map`, FINALIZERS, false, false],
  ["data of a CARM map", `${MAPS}/ack-role-account-map`, { data: { a: "b" } }, true, false],
  ["binaryData of a CARM map", `${MAPS}/ack-role-account-map`, { binaryData: { a: "YQ==" } }, true, false],
  ["data of another ConfigMap", `${MAPS}/other`, { data: { a: "b" } }, false, false],
];

onCluster("the match conditions on a real API server", async (t, cluster) => {
  await createObjects(cluster);
  for (const [plural, configurationOf] of [
    ["validatingwebhookconfigurations", validatingWebhooks], ["mutatingwebhookconfigurations", mutatingWebhooks],
  ] as const) {
    await t.test(`${plural}: calls the webhook for each change that is not exempt`, async (tt) => {
      const configuration = plain(configurationOf(OPTIONS));
      const webhooks = objectsOf(configuration["webhooks"]).map((webhook) => ({ ...webhook, failurePolicy: "Fail" }));
      const failing = { ...configuration, webhooks };
      await cluster.request("POST", `${CONFIGURATIONS}/${plural}`, failing);
      const label = { metadata: { labels: { probe: "yes" } } };
      tt.ok(await until(async () => isCalled(await dryPatch(cluster, BUCKET, label))));
      await callsOnlyForChanges(tt, cluster, plural.startsWith("validating"));
      await cluster.request("DELETE", `${CONFIGURATIONS}/${plural}/ack-role-resolver`);
      tt.ok(await until(async () => !isCalled(await dryPatch(cluster, BUCKET, label))));
    });
  }
  t.notMatch(
    String((await cluster.request("GET", "/metrics")).body),
    /^apiserver_admission_match_condition_evaluation_errors_total\{.*\} [1-9]/m,
    "no match condition fails",
  );
});

async function createObjects(cluster: Cluster): Promise<void> {
  const ofClusters = ackCRD("infrastructure.cluster.x-k8s.io", "AWSCluster", "awsclusters", ["v1beta2"]);
  await cluster.installCRDs([iamRoleSelectorCRD("ack"), ...ACK_CRDS, ofClusters]);
  const kept = { finalizers: ["example.com/kept"] };
  const annotations = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`example.com/a${i}`, ""]));
  const spec = { arn: ROLE, namespaceSelector: { names: ["a"] } };
  const objects: readonly (readonly [path: string, object: object])[] = [
    ...["team-a", "ack-system"].map((name) => ["/api/v1/namespaces", { metadata: { name } }] as const),
    [buckets("team-a"), bucket("live", kept)],
    [buckets("team-a"), bucket("large", { ...kept, annotations })],
    [buckets("team-a"), hugeBucket(kept)],
    [buckets("team-a"), bucket("pending", kept)],
    ...["live", "pending"].map((name) => (
      [CLUSTERS, { ...clusterObject(name, null, "team-a"), metadata: { name, ...kept } }] as const
    )),
    [SELECTORS, selectorObject("live", spec, kept)],
    [SELECTORS, selectorObject("pending", spec, kept)],
    [MAPS, { metadata: { name: "ack-role-account-map", ...kept } }],
    [MAPS, { metadata: { name: "other" } }],
  ];
  for (const [path, object] of objects) await create(cluster, path, object);
  for (const path of [PENDING, GOING_CLUSTER, `${SELECTORS}/pending`]) await cluster.request("DELETE", path);
}

/** Returns a bucket of more than 1 MB, with 1,000 annotations and nearly 20,000 values. */
function hugeBucket(metadata: object): object {
  const value = "x".repeat(240);
  const annotations = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`example.com/a${i}`, value]));
  const items = Array.from({ length: 18_000 }, (_, i) => `item ${i} ${"x".repeat(30)}`);
  return { ...bucket("huge", { ...metadata, annotations }), spec: { name: "huge", items } };
}

async function dryPatch(cluster: Cluster, path: string, change: object): Promise<ApiResponse> {
  return cluster.request("PATCH", `${path}?dryRun=All`, change, { headers: { "content-type": MERGE } });
}

function isCalled({ status, body }: ApiResponse): boolean {
  return status === 500 && (stringAt(body, "message") ?? "").includes("failed calling webhook");
}

/** Whether a webhook has a rule for the object. The mutating webhooks match no Namespace and no ConfigMap. */
function isMatched(path: string, isValidating: boolean): boolean {
  return isValidating ? !path.endsWith("/other") : path.startsWith("/apis/");
}

async function callsOnlyForChanges(t: Test, cluster: Cluster, isValidating: boolean): Promise<void> {
  for (const [name, path, change, validates, mutates] of CHANGES) {
    const response = await dryPatch(cluster, path, change);
    const called = isCalled(response);
    t.equal(called, isValidating ? validates : mutates, `${name}: ${response.status}`);
    t.ok(called || response.status === 200, `${name}: ${response.status}`);
    if (called || !isMatched(path, isValidating)) continue;
    const stored = await cluster.request("GET", path.replace(/\/status$/, ""));
    const admission = {
      operation: "UPDATE", subResource: path.endsWith("/status") ? "status" : "",
      object: objectOf(response.body), oldObject: isJsonObject(stored.body) ? stored.body : null,
    };
    const mutationExemption = path.startsWith(CLUSTERS) ? clusterMutationExemptionOf : mutationExemptionOf;
    const exemption = isValidating ? exemptionOf(admission) : mutationExemption(admission);
    t.not(exemption, null, `${name}: the webhook would admit the change without a check`);
  }
}
