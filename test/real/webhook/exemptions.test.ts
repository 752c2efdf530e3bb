// Attempts to pass the checks with changes that the webhook exempts, on a real API server.
import type { Test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { bucket, buckets, createObjects, GOLD, patch, warnings } from "./buckets.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const NAMESPACES = "/api/v1/namespaces";
const FINALIZERS = { finalizers: ["example.com/hold"] };
const NO_FINALIZERS = { metadata: { finalizers: null } };
const COLLECTOR = {
  headers: {
    "impersonate-user": "system:serviceaccount:kube-system:generic-garbage-collector",
    "impersonate-group": "system:masters",
  },
};

onCluster("exempt changes on a real API server", async (t, cluster) => {
  await installWebhook(t, cluster, ["--controller-account", "777788889999", "--region", "eu-west-1"]);
  await createObjects(t, cluster);
  await t.test("denies labels that change the role of a resource that is being deleted", async (tt) =>
    relabelsHeld(tt, cluster),
  );
  await t.test("denies an update that makes a terminating selector select every resource", async (tt) =>
    widensHeld(tt, cluster),
  );
  await t.test("denies labels that change the role, even if an annotation has 125,000 faults", async (tt) =>
    hidesRelabeling(tt, cluster),
  );
  await t.test("denies the garbage collector's deletion of a selector in use", async (tt) =>
    plantsOwner(tt, cluster),
  );
  await t.test("denies a waiver by a user who is not a waiver user", async (tt) => plantsWaiver(tt, cluster));
  await t.test("denies a waiver on a CustomResourceDefinition by a user who is not a waiver user", async (tt) =>
    plantsWaiverOnKind(tt, cluster),
  );
  await t.test("denies a change of namespace labels through the subresources status and finalize", async (tt) =>
    relabelsBySubresource(tt, cluster),
  );
});

function denial({ status, body }: ApiResponse): string {
  return `${status} ${stringAt(body, "message") ?? ""}`;
}

async function existsInAccount(cluster: Cluster, path: string, ownerAccountID: string): Promise<void> {
  const status = { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID, region: "eu-west-1" } };
  await patch(cluster, `${path}/status`, { status });
}

async function relabelsHeld(t: Test, cluster: Cluster): Promise<void> {
  const path = buckets("team-a", "held");
  t.equal((await cluster.request("POST", buckets("team-a"), bucket("held", { ...GOLD, ...FINALIZERS }))).status, 201);
  const deleted = await cluster.request("DELETE", path);
  t.ok(stringAt(deleted.body, "metadata", "deletionTimestamp"), "the finalizer holds the bucket");
  const toSilver = { metadata: { labels: { tier: "silver" } } };
  t.match(denial(await patch(cluster, path, toSilver, { user: "jane" })), /^422 .*ACK-06 /s);
  const forged = { metadata: { annotations: { "ack-role-resolver.io/selector": "silver" } } };
  const corrected = await patch(cluster, path, forged, { user: "jane" });
  t.equal(annotationsOf(corrected)["ack-role-resolver.io/selector"], "gold", "the webhook corrects its annotations");
  t.equal((await cluster.request("DELETE", path)).status, 200, "a second deletion is exempt");
  t.equal((await patch(cluster, path, NO_FINALIZERS)).status, 200);
  t.equal((await cluster.request("GET", path)).status, 404);
}

function annotationsOf({ body }: ApiResponse): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(field(field(body, "metadata"), "annotations") ?? {}));
}

async function widensHeld(t: Test, cluster: Cluster): Promise<void> {
  const path = `${SELECTORS}/held`;
  const spec = { arn: "arn:aws:iam::111122223333:role/held", namespaceSelector: { names: ["nowhere"] } };
  t.equal((await cluster.request("POST", SELECTORS, selectorObject("held", spec, FINALIZERS))).status, 201);
  t.equal((await cluster.request("DELETE", path)).status, 200);
  t.match(denial(await patch(cluster, path, { spec: { namespaceSelector: null } })), /^422 .*IRS-15 /s);
  t.equal((await patch(cluster, path, NO_FINALIZERS)).status, 200);
  t.equal((await cluster.request("GET", path)).status, 404);
}

async function hidesRelabeling(t: Test, cluster: Cluster): Promise<void> {
  const path = buckets("team-a", "drifting");
  t.equal((await cluster.request("POST", buckets("team-a"), bucket("drifting", GOLD))).status, 201);
  const annotations = { "services.k8s.aws/ignore-field-drift": "x,".repeat(125_000) };
  const hidden = { metadata: { labels: { tier: "silver" }, annotations } };
  t.match(denial(await patch(cluster, path, hidden, { user: "jane" })), /^422 .*ACK-06 /s);
}

async function plantsOwner(t: Test, cluster: Cluster): Promise<void> {
  await existsInAccount(cluster, buckets("team-a", "drifting"), "111122223333");
  const path = `${SELECTORS}/gold`;
  const owner = { apiVersion: "v1", kind: "Node", name: "gone", uid: "00000000-0000-0000-0000-000000000000" };
  t.equal((await patch(cluster, path, { metadata: { ownerReferences: [owner] } })).status, 200);
  const isDenied = async (): Promise<boolean> => (
    /^422 .*IRS-30 /s.test(denial(await cluster.request("DELETE", `${path}?dryRun=All`, undefined, COLLECTOR)))
  );
  t.ok(await until(isDenied));
  t.match(denial(await cluster.request("DELETE", path, undefined, COLLECTOR)), /^422 .*IRS-30 /s);
  t.equal((await cluster.request("GET", path)).status, 200);
  t.equal((await patch(cluster, path, { metadata: { ownerReferences: null } })).status, 200);
}

async function plantsWaiver(t: Test, cluster: Cluster): Promise<void> {
  const path = buckets("team-a", "drifting");
  const waiver = { metadata: { annotations: { "ack-role-resolver.io/allow": "ACK-30" } } };
  t.match(denial(await patch(cluster, path, waiver, { user: "jane" })), /^422 .*WAIVER-01 .*"jane" is not a waiver/s);
  t.equal((await patch(cluster, path, waiver)).status, 200, "an administrator is a waiver user");
  t.equal((await patch(cluster, path, { spec: { acl: "private" } }, { user: "jane" })).status, 200);
  const removed = { metadata: { annotations: { "ack-role-resolver.io/allow": null } } };
  t.equal((await patch(cluster, path, removed, { user: "jane" })).status, 200, "everyone can remove a waiver");
}

async function plantsWaiverOnKind(t: Test, cluster: Cluster): Promise<void> {
  for (const [name, id] of [["buckets.s3", "ACK-34"], ["iamroleselectors", "IRS-34"]]) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}.services.k8s.aws`;
    const waiver = { metadata: { annotations: { "ack-role-resolver.io/allow": id } } };
    t.match(denial(await patch(cluster, path, waiver, { user: "jane" })), /^422 .*WAIVER-01 .*"jane" is not a waiver/s);
    const other = { metadata: { annotations: { "example.com/a": "b" } } };
    t.equal((await patch(cluster, path, other, { user: "jane" })).status, 200);
    t.match(denial(await cluster.request("DELETE", `${path}?dryRun=All`)), new RegExp(`^422 .*${id} `, "s"));
    t.equal((await patch(cluster, path, waiver)).status, 200, "an administrator is a waiver user");
    t.equal((await patch(cluster, path, { spec: { preserveUnknownFields: false } }, { user: "jane" })).status, 200);
    t.equal((await cluster.request("DELETE", `${path}?dryRun=All`)).status, 200);
    const removed = { metadata: { annotations: { "ack-role-resolver.io/allow": null } } };
    t.equal((await patch(cluster, path, removed, { user: "jane" })).status, 200, "everyone can remove a waiver");
  }
}

async function relabelsBySubresource(t: Test, cluster: Cluster): Promise<void> {
  const path = `${NAMESPACES}/payments`;
  await cluster.request("POST", NAMESPACES, { metadata: { name: "payments", labels: { env: "prod" } } });
  const namespaceSelector = { labelSelector: { matchLabels: { env: "prod" } } };
  const prod = selectorObject("prod", { arn: "arn:aws:iam::111122223333:role/prod", namespaceSelector });
  t.equal((await cluster.request("POST", SELECTORS, prod)).status, 201);
  t.equal((await cluster.request("POST", buckets("payments"), bucket("ledger", {}, "payments"))).status, 201);
  await existsInAccount(cluster, buckets("payments", "ledger"), "111122223333");
  const relabel = async (suffix: string): Promise<string> => (
    denial(await patch(cluster, `${path}${suffix}`, { metadata: { labels: { env: "dev" } } }))
  );
  t.ok(await until(async () => (await relabel("?dryRun=All")).includes("NS-01 ")));
  t.match(await relabel("/status"), /^422 .*NS-01 /s);
  const { body } = await cluster.request("GET", path);
  const changed: JsonObject = { ...toObject(body), metadata: { name: "payments", labels: { env: "dev" } } };
  t.match(denial(await cluster.request("PUT", `${path}/finalize`, changed)), /^422 .*NS-01 /s);
  t.equal(stringAt((await cluster.request("GET", path)).body, "metadata", "labels", "env"), "prod");
  const status = { status: { phase: "Active" } };
  t.same(warnings(await patch(cluster, `${path}/status`, status)), [], "the status can change");
}

function toObject(body: unknown): JsonObject {
  return Object.fromEntries(Object.entries(body ?? {}));
}
