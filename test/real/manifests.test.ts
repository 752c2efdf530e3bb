import type { ManifestOptions } from "../../manifests/part.ts";
import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import { manifestObjects, renderYAML } from "../../manifests/render.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import { ACK_CRDS } from "../fixtures/ack-crds.ts";
import { bucketObject, selectorObject } from "../shared/objects.ts";
import type { ApiResponse } from "./apiserver/api-request.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import { testCRD } from "./crd-cases.ts";

const OPTIONS: ManifestOptions = {
  namespace: "ack-role-resolver", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  accessReviews: false, extraGroups: ["new.services.k8s.aws"],
  maintainsCertificates: true,
};
const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const A = "arn:aws:iam::111122223333:role/a";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
/** The webhook is down: no server listens on this port. */
const UNREACHABLE = "https://127.0.0.1:1";

onCluster("the manifests on a real API server", async (t, cluster) => {
  await testCRD(t, cluster);
  await createPendingDeletions(cluster);
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("the API server accepts all manifests with strict validation, also in a dry run", acceptsAll);
  await run("the webhook's service account can only read the inventory", grantsReading);
  await run("rejects selectors if the webhook is down, except selectors that are being deleted", rejectsSelectors);
  await run("admits all other objects if the webhook is down", admitsOthers);
  await run("admits resources if the webhook is down, and calls the webhook in every namespace", admitsResources);
});

const PENDING = { name: "pending", finalizers: ["example.com/last-rites"] };
const ROLE_B = { spec: { arn: "arn:aws:iam::111122223333:role/b" } };
const REMOVE_FINALIZERS = { metadata: { finalizers: [] } };
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/kube-public/buckets";

/** Creates a selector and a bucket that are being deleted and wait for their finalizers. */
async function createPendingDeletions(cluster: Cluster): Promise<void> {
  await cluster.installCRDs(ACK_CRDS);
  // The selector has the largest size that the webhook accepts, to show that match conditions do not exceed the cost
  // limit of the API server.
  const names = Array.from({ length: 1_000 }, (_, i) => `team-${i}-${"x".repeat(50)}`);
  const annotations = { large: "x".repeat(250_000) };
  const large = selectorObject("pending", { arn: A, namespaceSelector: { names } }, { ...PENDING, annotations });
  await cluster.request("POST", SELECTORS, large);
  await cluster.request("POST", BUCKETS, bucketObject({ ...PENDING, namespace: "kube-public" }));
  for (const stored of [`${SELECTORS}/pending`, `${BUCKETS}/pending`]) await cluster.request("DELETE", stored);
}

async function acceptsAll(t: Test, cluster: Cluster): Promise<void> {
  // Creates the namespaces, because a dry run of a ServiceAccount needs a stored Namespace, and a dry run stores no
  // Namespace. In an installation, the charts of ACK create the namespace of ACK.
  for (const namespace of [OPTIONS.namespace, OPTIONS.ackSystemNamespace]) {
    t.equal((await cluster.kubectl(["create", "namespace", namespace])).code, 0);
  }
  const apply = ["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"];
  const outside = { ...OPTIONS, url: UNREACHABLE, caBundle: await readFile(cluster.caFile, "utf8") };
  for (const options of [{ ...outside, maintainsCertificates: true }, { ...outside, runtime: "extended" } as const]) {
    const { code, stderr } = await cluster.kubectl([...apply, "--dry-run=server"], {
      input: renderYAML(manifestObjects("all", options)),
    });
    t.same([code, stderr], [0, ""]);
  }
  const { code, stderr } = await cluster.kubectl(apply, { input: renderYAML(manifestObjects("all", outside)) });
  t.same([code, stderr], [0, ""]);
  for (const object of manifestObjects("webhooks", outside)) {
    const plural = `${stringAt(object, "kind")?.toLowerCase()}s`;
    const stored = await cluster.request("GET", `/apis/admissionregistration.k8s.io/v1/${plural}/ack-role-resolver`);
    t.match(stored.body, { webhooks: field(object, "webhooks") }, `the stored ${plural} are complete`);
  }
}

async function grantsReading(t: Test, cluster: Cluster): Promise<void> {
  const can = async (verb: string, resource: string): Promise<string> =>
    (await cluster.kubectl(["auth", "can-i", verb, resource, "--all-namespaces"], { user: "webhook" })).stdout.trim();
  for (const [resource, fetched] of [
    ["iamroleselectors.services.k8s.aws", "yes"], ["namespaces", "yes"],
    ["customresourcedefinitions.apiextensions.k8s.io", "no"], ["buckets.s3.services.k8s.aws", "no"],
  ] as const) {
    t.equal(await can("get", resource), fetched, `get ${resource}`);
    for (const verb of ["list", "watch"]) t.equal(await can(verb, resource), "yes", `${verb} ${resource}`);
    for (const verb of ["create", "update", "delete"]) t.equal(await can(verb, resource), "no", `${verb} ${resource}`);
  }
  for (const resource of ["secrets", "configmaps"]) t.equal(await can("get", resource), "no", resource);
  const maps = `/api/v1/namespaces/${OPTIONS.ackSystemNamespace}/configmaps`;
  for (const [query, status] of [
    ["?fieldSelector=metadata.name%3Dack-role-team-map", 200], ["?fieldSelector=metadata.name%3Dother", 403], ["", 403],
  ] as const) {
    const listed = await cluster.request("GET", `${maps}${query}`, undefined, { user: "webhook" });
    t.equal(listed.status, status, `list of configmaps ${query}`);
  }
}

async function rejectsSelectors(t: Test, cluster: Cluster): Promise<void> {
  const create = async (): Promise<ApiResponse> =>
    cluster.request("POST", SELECTORS, selectorObject("late", { arn: A }));
  t.ok(await until(async () => (await create()).status === 500));
  const { body } = await create();
  t.match(stringAt(body, "message"), 'failed calling webhook "iamroleselectors.mutate.ack-role-resolver.io": '
    + `failed to call webhook: Post "${UNREACHABLE}/mutate/iamroleselectors?timeout=3s"`);
  const patch = async (name: string, change: object): Promise<number> =>
    (await cluster.request("PATCH", `${SELECTORS}/${name}`, change, MERGE)).status;
  t.equal(await patch("role", { metadata: { labels: { a: "b" } } }), 500);
  t.equal(await patch("role/status", { status: {} }), 200, "the webhook does not match the status");
  for (const change of [{ metadata: { labels: { a: "b" } } }, { metadata: { annotations: { a: "b" } } }, ROLE_B]) {
    t.equal(await patch("pending", change), 500, "a change of a selector that is being deleted");
  }
  t.equal(await patch("pending", REMOVE_FINALIZERS), 200);
  t.equal((await cluster.request("GET", `${SELECTORS}/pending`)).status, 404, "the selector is deleted");
  t.equal(
    (await cluster.request("DELETE", `${SELECTORS}/role`)).status,
    500,
    "a deletion fails while the webhook is down",
  );
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  t.equal((await cluster.request("DELETE", `${definitions}/iamroleselectors.services.k8s.aws`)).status, 500);
  const other = await cluster.request("DELETE", `${definitions}/topics.sns.services.k8s.aws?dryRun=All`);
  t.equal(other.status, 200, "other definitions can be deleted while the webhook is down");
}

/** A Pod that the restricted Pod security standard of the webhook's namespace allows. */
const RESTRICTED_POD = {
  securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  containers: [{
    name: "a", image: "a", securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  }],
};

/** With all replicas dead, the objects that the cluster needs to start them again can be written. */
async function admitsOthers(t: Test, cluster: Cluster): Promise<void> {
  const lease = "/apis/coordination.k8s.io/v1/namespaces/NS/leases";
  const deployment = {
    spec: {
      selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec: RESTRICTED_POD },
    },
  };
  const everywhere = [
    ["/api/v1/namespaces/NS/configmaps", {}], ["/api/v1/namespaces/NS/secrets", {}], [lease, {}],
    ["/apis/apps/v1/namespaces/NS/deployments", deployment],
    ["/api/v1/namespaces/NS/pods", { spec: RESTRICTED_POD }],
  ] as const;
  const namespaces = [OPTIONS.namespace, "kube-system", OPTIONS.ackSystemNamespace];
  const objects = [
    ["/api/v1/nodes", {}], [lease.replace("NS", "kube-node-lease"), {}],
    ...namespaces.flatMap((namespace) => (
      everywhere.map(([path, object]) => [path.replace("NS", namespace), object] as const)
    )),
  ] as const;
  for (const [path, object] of objects) {
    const one = `${path}/essential`;
    const label = { metadata: { labels: { a: "b" } } };
    const { status, body } = await cluster.request("POST", path, { metadata: { name: "essential" }, ...object });
    t.equal(status, 201, `${path}: ${stringAt(body, "message") ?? ""}`);
    t.equal((await cluster.request("PATCH", one, label, MERGE)).status, 200, one);
    t.equal((await cluster.request("DELETE", one)).status, 200, one);
  }
  for (const namespace of [OPTIONS.namespace, "kube-system"]) {
    const label = { metadata: { labels: { a: "b" } } };
    t.equal((await cluster.request("PATCH", `/api/v1/namespaces/${namespace}`, label, MERGE)).status, 200, namespace);
  }
}

async function admitsResources(t: Test, cluster: Cluster): Promise<void> {
  const pending = await cluster.request("PATCH", `${BUCKETS}/pending`, REMOVE_FINALIZERS, MERGE);
  t.equal(pending.status, 200, "a bucket that is being deleted can be changed");
  t.equal(await failedOpen(cluster), 0, "the API server calls no webhook for a last finalizer");
  for (const namespace of ["kube-system", OPTIONS.namespace, "kube-public"]) {
    const buckets = `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets`;
    t.equal((await cluster.request("POST", buckets, bucketObject({ namespace }))).status, 201, namespace);
  }
  t.equal(await failedOpen(cluster), 3, "the API server admitted each bucket after a failed call");
  t.equal((await cluster.request("PATCH", `${BUCKETS}/b1/status`, { status: { a: "b" } }, MERGE)).status, 200);
  t.equal(await failedOpen(cluster), 3, "the API server does not call the webhook for a status");
  t.equal((await cluster.request("PATCH", `${BUCKETS}/b1`, { spec: { name: "b2" } }, MERGE)).status, 200);
  t.equal(await failedOpen(cluster), 4);
  t.notMatch(
    await metrics(cluster),
    /^apiserver_admission_match_condition_evaluation_errors_total\{.*\} [1-9]/m,
    "no match condition fails",
  );
}

/** Returns how many requests the API server admitted because `/mutate/resources` did not respond. */
async function failedOpen(cluster: Cluster): Promise<number> {
  const line =
    /^apiserver_admission_webhook_fail_open_count\{name="resources\.mutate\.ack-role-resolver\.io",.*\} (\d+)$/m;
  return Number(line.exec(await metrics(cluster))?.[1] ?? 0);
}

async function metrics(cluster: Cluster): Promise<string> {
  return String((await cluster.request("GET", "/metrics")).body);
}
