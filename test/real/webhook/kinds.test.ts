// What the API server sends to the webhook for each kind, and what it does with the answers. The unit tests of the
// checks test the answers themselves.
import type { Test } from "tap";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { replacesMetadata, selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { bucket, buckets, createForeignBucket, createObjects, GOLD, patch, warnings } from "./buckets.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";
import {
  answerOf, COLLECTOR, create, isDenied, JANE, NAMESPACE_CONTROLLER, NAMESPACES,
} from "./requests.ts";

const FLAGS = [
  "--controller-users", "ack-system/ack-s3-controller", "--controller-account", "777788889999", "--region", "eu-west-1",
];
const POLICY = "services.k8s.aws/deletion-policy";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ALLOW = "ack-role-resolver.io/allow";

onCluster("the changes of each kind on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, FLAGS);
  await createObjects(t, cluster);
  const run = async (
    name: string, body: (t: Test, cluster: Cluster, webhook: ServerProcess) => Promise<void>,
  ): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster, webhook));
  };
  await run("kubectl prints no warning for changes of a resource that break no check", allowsOrdinaryChanges);
  await run("returns the same result for server-side apply and for dry runs", answersApply);
  await run("denies deleting a resource unless a waiver or a cleanup controller allows it", deniesDeletions);
  await run("allows every deletion in a namespace that is being deleted", allowsDeletionInTerminating);
  await run("denies a selector whose fields the API server dropped, and names their paths", deniesDropped);
  await run("denies a selector change that removes the role, which the CRD allows", deniesRoleRemoval);
  await run("denies labels of a namespace that move its resources, but reviews no system namespace", reviewsNamespaces);
  await run("denies the deletion of a selector in use until a replacement exists", replacesSelector);
  await run("denies the deletion of all selectors of a resource, when a collection is deleted", deletesOnlyOne);
  await run("denies the deletion of the CRD of a kind in use, but receives no review of others", reviewsDefinitions);
  await run("allows the deletion of a namespace, of its resources and then of its selector", deletesNamespace);
  await run("while the webhook is stopped, the API server rejects only changes of selectors", failsWhileStopped);
});

async function allowsOrdinaryChanges(t: Test, cluster: Cluster): Promise<void> {
  const kubectl = async (args: readonly string[], object?: object): Promise<void> => {
    const input = object === undefined ? {} : { input: JSON.stringify(object) };
    t.match(await cluster.kubectl(args, { user: "jane", ...input }), { code: 0, stderr: "" }, args.join(" "));
  };
  await kubectl(["apply", "-f", "-"], bucket("life", GOLD));
  const annotations = { "services.k8s.aws/region": "eu-west-1" };
  await kubectl(["apply", "-f", "-"], bucket("life", { labels: { tier: "gold", app: "shop" }, annotations }));
  await kubectl(["-n", "team-a", "annotate", "bucket", "life", `${POLICY}=delete`]);
  await kubectl(["-n", "team-a", "label", "bucket", "life", "app-"]);
  await kubectl(["-n", "team-a", "patch", "bucket", "life", "--type=merge", "-p", '{"spec": {"acl": "private"}}']);
  await kubectl(["-n", "team-a", "delete", "bucket", "life"]);
}

async function answersApply(t: Test, cluster: Cluster): Promise<void> {
  const applied = (object: object, ...flags: readonly string[]): ReturnType<Cluster["kubectl"]> => (
    cluster.kubectl(["apply", "--server-side", ...flags, "-f", "-"], { input: JSON.stringify(object) })
  );
  for (let i = 0; i < 2; i++) t.match(await applied(bucket("ssa", GOLD)), { code: 0, stderr: "" });
  const typo = bucket("ssa", { ...GOLD, annotations: { [POLICY]: "keep" } });
  for (const flags of [[], ["--dry-run=server"]]) {
    t.match(await applied(typo, ...flags), { code: 1, stderr: /ACK-11 "keep" is neither delete nor retain/ });
  }
  t.match(await applied(bucket("ssa-dry", GOLD), "--dry-run=server"), { code: 0, stderr: "" });
  t.equal((await cluster.request("GET", buckets("team-a", "ssa-dry"))).status, 404);
}

async function deniesDeletions(t: Test, cluster: Cluster): Promise<void> {
  const path = await createForeignBucket(cluster, "f1", "sandbox");
  const denied = await cluster.kubectl(["-n", "sandbox", "delete", "bucket", "f1"]);
  t.match(denied, { code: 1, stderr: 'ACK-30 the resource is in account "111122223333", ' });
  isDenied(t, await cluster.request("DELETE", buckets("sandbox")), "ACK-30");
  await patch(cluster, path, { metadata: { annotations: { [ALLOW]: "ACK-30" } } });
  isDenied(t, await cluster.request("DELETE", path, undefined, JANE), "ACK-30");
  const waived = await cluster.request("DELETE", path);
  t.match([waived.status, warnings(waived)], [200, [/^ACK-30 \(waived\) /]], "an administrator may waive checks");
  const second = await createForeignBucket(cluster, "f2", "sandbox");
  const collected = await cluster.request("DELETE", second, undefined, COLLECTOR);
  t.match([collected.status, warnings(collected)], [200, [/^ACK-30 /]]);
}

async function allowsDeletionInTerminating(t: Test, cluster: Cluster): Promise<void> {
  const path = await createForeignBucket(cluster, "f3", "going");
  isDenied(t, await cluster.request("DELETE", path), "ACK-30");
  await cluster.request("DELETE", `${NAMESPACES}/going`);
  t.ok(await until(async () => (await cluster.request("DELETE", path)).status === 200));
  t.equal((await cluster.request("GET", path)).status, 404);
}

/** Returns a selector of a namespace. */
function selector(name: string, namespace: string, metadata: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  const arn = `arn:aws:iam::111122223333:role/${name}`;
  return selectorObject(name, { arn, namespaceSelector: { names: [namespace] }, ...spec }, metadata);
}

async function deniesDropped(t: Test, cluster: Cluster): Promise<void> {
  const applied = (object: object, ...flags: readonly string[]): ReturnType<Cluster["kubectl"]> => (
    cluster.kubectl(["apply", ...flags, "-f", "-"], { input: JSON.stringify(object) })
  );
  // The CRD of ACK's charts cannot express this selector.
  const labelSelector = { matchLabels: {}, matchExpressions: [{ key: "team", operator: "DoesNotExist" }] };
  const narrowed = selector("narrowed", "", {}, {
    namespaceSelector: { names: [], labelSelector },
    resourceTypeSelector: [{ group: "sns.services.k8s.aws", version: "", kind: "" }],
  });
  t.match((await applied(narrowed)).stderr, "strict decoding error: unknown field", "with kubectl's default");
  const lenient = await applied(narrowed, "--validate=false");
  t.match(lenient, { code: 1, stderr: "spec.namespaceSelector.labelSelector.matchExpressions: IRS-16 the API " });
  const entry = { apiVersion: "s3.services.k8s.aws/v1alpha1", group: "", version: "", kind: "Bucket" };
  const typed = selector("typed", "typed", {}, { resourceTypeSelector: [entry] });
  t.match(
    (await applied(typed, "--validate=false")).stderr, "spec.resourceTypeSelector[0].apiVersion: IRS-16 ",
    "the entry is dropped before the rewrite",
  );
  t.equal((await applied(selector("known", "known"), "--dry-run=server")).code, 0);
  const waived = { ...narrowed, metadata: { name: "narrowed", annotations: { [ALLOW]: "IRS-16" } } };
  t.equal((await applied(waived, "--validate=false", "--dry-run=server")).code, 0, "an administrator can waive it");
}

async function deniesRoleRemoval(t: Test, cluster: Cluster): Promise<void> {
  const path = `${SELECTORS}/silver`;
  const changed = await patch(cluster, path, { spec: { arn: "arn:aws:iam::444455556666:role/silver-2" } });
  t.match(answerOf(changed), /Value is immutable once set/, "the CRD rejects the direct change");
  isDenied(t, await patch(cluster, path, { spec: null }), "IRS-07");
}

function byEnv(env: string, name: string, metadata: JsonObject = {}): JsonObject {
  const arn = `arn:aws:iam::${env === "prod" ? "111122223333" : "444455556666"}:role/${env}`;
  const spec = { arn, namespaceSelector: { labelSelector: { matchLabels: { env } } } };
  return selectorObject(name, spec, { labels: { set: env }, ...metadata });
}

const PAYMENTS = `${NAMESPACES}/payments`;

/** Creates the namespace payments, which has the label env=prod, and buckets. The bucket archive has a finalizer. */
async function reviewsNamespaces(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await create(cluster, NAMESPACES, { metadata: { name: "payments", labels: { env: "prod" } } });
  for (const env of ["prod", "dev"]) await create(cluster, SELECTORS, byEnv(env, env));
  await createForeignBucket(cluster, "ledger", "payments");
  const archive = await createForeignBucket(cluster, "archive", "payments");
  await patch(cluster, archive, { metadata: { finalizers: ["finalizers.s3.services.k8s.aws/Bucket"] } });
  const toDev = ["label", "--overwrite", "namespace", "payments", "env=dev"];
  const moves = async (): Promise<boolean> => (
    / move 2 resources /.test((await cluster.kubectl([...toDev, "--dry-run=server"])).stderr)
  );
  t.ok(await until(moves), "the inventory has the buckets");
  t.match(await cluster.kubectl(toDev), { code: 1, stderr: /NS-01 the new labels move 2 resources from account 1111/ });
  t.match(await cluster.kubectl(["label", "namespace", "payments", "cost=7"]), { code: 0, stderr: "" });
  const waived = { metadata: { labels: { env: "dev" }, annotations: { [ALLOW]: "NS-01" } } };
  t.equal((await patch(cluster, `${PAYMENTS}?dryRun=All`, waived)).status, 200, "an administrator can waive the check");

  const { length: before } = await webhook.settledLog();
  const faulty = { metadata: { annotations: { "services.k8s.aws/endpoint-url": "http://minio" } } };
  for (const name of ["kube-system", "kube-public", "kube-node-lease", "ack-role-resolver"]) {
    t.equal((await patch(cluster, `${NAMESPACES}/${name}?dryRun=All`, faulty)).status, 200, name);
  }
  isDenied(t, await patch(cluster, `${NAMESPACES}/sandbox/status?dryRun=All`, faulty), "NS-08");
  isDenied(t, await patch(cluster, `${NAMESPACES}/sandbox?dryRun=All`, faulty), "NS-08");
  const lines = (await webhook.settledLog()).slice(before);
  const reviews = lines.filter((line) => field(line, "path") === "/validate/namespaces");
  t.equal(reviews.length, 2, "no review of a system namespace");
}

async function dryRemoval(cluster: Cluster, name: string): Promise<ApiResponse> {
  return await cluster.request("DELETE", `${SELECTORS}/${name}?dryRun=All`);
}

async function replacesSelector(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  isDenied(t, await dryRemoval(cluster, "prod"), "IRS-30");
  t.match(await cluster.kubectl(["delete", "iamroleselector", "prod"]), { code: 1, stderr: /IRS-30 .*IRS-31 /s });
  const collection = await cluster.request("DELETE", `${SELECTORS}?labelSelector=set%3Dprod`);
  t.equal(collection.status, 422);
  t.equal(stringAt(collection.body, "details", "name"), "prod", "the name comes from the stored object");
  isDenied(t, await cluster.request("DELETE", `${SELECTORS}/prod`, undefined, COLLECTOR), "IRS-30");
  const byCollector = { user: "system:serviceaccount:kube-system:generic-garbage-collector", answer: "denied" };
  t.match(webhook.log.findLast((line) => line["operation"] === "DELETE"), byCollector);
  t.equal((await dryRemoval(cluster, "mine")).status, 404);
  t.equal((await dryRemoval(cluster, "late")).status, 200, "a selector that is not in use");
  t.equal((await cluster.request("GET", `${SELECTORS}/late`)).status, 200, "a dry run changes nothing");

  isDenied(t, await cluster.request("POST", SELECTORS, byEnv("prod", "overlap")), "IRS-17");
  const replacement = await cluster.request("POST", SELECTORS, byEnv("prod", "prod-2", replacing("prod")));
  t.equal(replacement.status, 201);
  t.ok(warnings(replacement).some((line) => line.startsWith("IRS-17 ")), "the overlap causes a warning");
  t.ok(await until(async () => (await dryRemoval(cluster, "prod")).status === 200));
  t.equal((await cluster.request("DELETE", `${SELECTORS}/prod`)).status, 200);
  t.ok(await until(async () => answerOf(await dryRemoval(cluster, "prod-2")).includes("IRS-30")));
}

function replacing(name: string): JsonObject {
  return { labels: { set: "prod" }, ...replacesMetadata(name) };
}

async function deletesOnlyOne(t: Test, cluster: Cluster): Promise<void> {
  await create(cluster, SELECTORS, byEnv("prod", "prod-3", replacing("prod-2")));
  t.ok(await until(async () => (await dryRemoval(cluster, "prod-2")).status === 200));
  t.equal((await cluster.request("DELETE", `${SELECTORS}?labelSelector=set%3Dprod`)).status, 422);
  const left = await Promise.all(["prod-2", "prod-3"].map((name) => cluster.request("GET", `${SELECTORS}/${name}`)));
  t.same(left.map(({ status }) => status).toSorted((a, b) => a - b), [200, 404]);
}

async function reviewsDefinitions(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const removal = (name: string): Promise<ApiResponse> => (
    cluster.request("DELETE", `${DEFINITIONS}/${name}?dryRun=All`)
  );
  isDenied(t, await removal("iamroleselectors.services.k8s.aws"), "IRS-34");
  isDenied(t, await removal("buckets.s3.services.k8s.aws"), "ACK-34");
  t.equal((await removal("topics.sns.services.k8s.aws")).status, 200, "no resource is of that kind");
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
  await create(cluster, DEFINITIONS, {
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "widgets.example.com" },
    spec: { group: "example.com", scope: "Namespaced", names: { kind: "Widget", plural: "widgets" }, versions },
  });
  const { length: before } = await webhook.settledLog();
  t.equal((await cluster.request("DELETE", `${DEFINITIONS}/widgets.example.com`)).status, 200);
  t.notMatch(JSON.stringify((await webhook.settledLog()).slice(before)), "widgets", "the webhook receives no review");
}

/** The test acts as the namespace controller, and as the ACK controller that removes the finalizer of the bucket. */
async function deletesNamespace(t: Test, cluster: Cluster): Promise<void> {
  const deleted = await cluster.kubectl(["delete", "namespace", "payments", "--wait=false"]);
  t.match(deleted, { code: 0, stderr: /^Warning: NS-13 .* also deletes 2 resources: / });
  const emptied = await cluster.request("DELETE", buckets("payments"), undefined, NAMESPACE_CONTROLLER);
  t.equal(emptied.status, 200, answerOf(emptied));
  t.equal((await cluster.request("GET", buckets("payments", "ledger"))).status, 404);
  const archive = buckets("payments", "archive");
  t.equal((await patch(cluster, archive, { metadata: { finalizers: null } })).status, 200);
  t.equal((await cluster.request("GET", archive)).status, 404);
  const relabel = { metadata: { labels: { env: null } } };
  t.ok(await until(async () => (await patch(cluster, PAYMENTS, relabel)).status === 200), "it has no resources");
  const { body } = await cluster.request("GET", PAYMENTS);
  const finalized = { ...(isJsonObject(body) ? body : {}), spec: { finalizers: [] } };
  t.equal((await cluster.request("PUT", `${PAYMENTS}/finalize`, finalized, NAMESPACE_CONTROLLER)).status, 200);
  t.equal((await cluster.request("GET", PAYMENTS)).status, 404, "the namespace is deleted");
  const emptySet = `${SELECTORS}?labelSelector=set%3Dprod`;
  t.ok(await until(async () => (await cluster.request("DELETE", emptySet)).status === 200), "its selector is unused");
}

async function failsWhileStopped(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop("SIGKILL");
  t.match(answerOf(await cluster.request("POST", SELECTORS, selector("x", "x"))), /^500 .*failed calling webhook/s);
  const faulty = { annotations: { [POLICY]: "Delete", "services.k8s.aws/endpoint-url": "http://minio" } };
  await create(cluster, buckets("team-a"), bucket("open", faulty));
  t.equal((await cluster.request("DELETE", buckets("team-a", "open"))).status, 200);
  await create(cluster, NAMESPACES, { metadata: { name: "late", ...faulty } });
  t.equal((await patch(cluster, `${NAMESPACES}/late`, { metadata: { labels: { a: "b" } } })).status, 200);
  t.equal((await cluster.request("DELETE", `${NAMESPACES}/late`)).status, 200);
}
