import { CARM_MAPS } from "../../shared/carm/map-store.ts";
import { RESOURCES } from "../../shared/ack/resources.ts";
import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import type { ACKResource } from "../../shared/core/ack-resource.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import { connectKubernetes } from "../../shared/api/kubeconfig.ts";
import { loadCluster } from "../../shared/sources/load-cluster.ts";
import { ClusterSource } from "../../shared/sources/cluster-source.ts";
import { ackCRD } from "../fixtures/ack-crds.ts";
import { bucketObject } from "../shared/objects.ts";
import { eventually } from "../shared/sources/eventually.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { FAST_RETRY_CLOCK, onCluster } from "./apiserver/on-cluster.ts";

const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/default/buckets";
const QUEUES = "/apis/sqs.services.k8s.aws/v1alpha1/namespaces/default/queues";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const BUCKET = ackCRD("s3.services.k8s.aws", "Bucket", "buckets");
const QUEUE = ackCRD("sqs.services.k8s.aws", "Queue", "queues");
const MANY = 600;

onCluster("the resources of a real API server", async (t, cluster) => {
  await cluster.installCRDs([iamRoleSelectorCRD("ack"), BUCKET]);
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  await createBuckets(t, cluster);
  const api = new Recorder(await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "admin" }));
  const carmMaps = { namespace: "ack-system", isRequired: true };
  const source = new ClusterSource({
    runtime: "ack", api, clock: FAST_RETRY_CLOCK, resources: { extraGroups: [] }, carmMaps,
  });
  t.teardown(() => source.stop());
  await source.start();
  await t.test("lists 600 complete buckets in two pages", async (tt) => listsPages(tt, source, api));
  await t.test("updates the inventory when a controller writes a status", async (tt) =>
    appliesStatus(tt, cluster, source),
  );
  await t.test("loads the CARM maps but no other ConfigMap", async (tt) => loadsMaps(tt, cluster, source));
  await t.test("updates the inventory when an ACK kind is installed or removed", async (tt) =>
    followsKinds(tt, cluster, source),
  );
  await t.test("updates the inventory when the stored version of an ACK kind changes", async (tt) =>
    followsVersions(tt, cluster, source),
  );
  await t.test("loadCluster reads the whole cluster once", async (tt) => loadsOnce(tt, cluster));
});

/** Records the requested paths. */
class Recorder implements KubernetesAPI {
  readonly #api: KubernetesAPI;
  readonly paths: string[] = [];

  constructor(api: KubernetesAPI) {
    this.#api = api;
  }

  async request(request: Parameters<KubernetesAPI["request"]>[0]): ReturnType<KubernetesAPI["request"]> {
    this.paths.push(request.path);
    return await this.#api.request(request);
  }
}

async function createBuckets(t: Test, cluster: Cluster): Promise<void> {
  const items = Array.from({ length: MANY }, (_, i) => {
    const name = `b-${i}`;
    return bucketObject({ name, namespace: "default", labels: { n: String(i) } }, { spec: { name } });
  });
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { code, stderr } = await cluster.kubectl(["create", "-f", "-"], { input });
  t.same([code, stderr], [0, ""]);
}

function named({ inventory }: ClusterSource, name: string): ACKResource | undefined {
  return [...inventory.of(RESOURCES).all()].find((resource) => resource.name === name);
}

async function listsPages(t: Test, source: ClusterSource, { paths }: Recorder): Promise<void> {
  t.match(source.status, { loaded: true, fault: null });
  t.equal(source.inventory.of(RESOURCES).size, MANY);
  t.match(named(source, "b-599"), {
    group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket", namespace: "default",
    labels: new Map([["n", "599"]]), created: false,
  });
  t.match(paths.filter((path) => path.includes("/buckets?limit")), [/\?limit=500$/u, /\?limit=500&continue=.+$/u]);
}

async function appliesStatus(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  const ackResourceMetadata = { arn: "arn:aws:s3:::b-0", ownerAccountID: "111122223333", region: "eu-west-1" };
  const { status } = await cluster.request(
    "PATCH",
    `${BUCKETS}/b-0/status`,
    { status: { ackResourceMetadata } },
    MERGE,
  );
  t.equal(status, 200);
  await eventually(source, () => named(source, "b-0")?.created === true);
  t.match(named(source, "b-0"), {
    status: { ownerAccountID: "111122223333", region: "eu-west-1" },
    created: true,
    deleting: false,
  });
  await cluster.request(
    "PATCH",
    `${BUCKETS}/b-0`,
    { metadata: { finalizers: ["finalizers.s3.services.k8s.aws/Bucket"] } },
    MERGE,
  );
  await cluster.request("DELETE", `${BUCKETS}/b-0`);
  await eventually(source, () => named(source, "b-0")?.deleting === true);
  await cluster.request("PATCH", `${BUCKETS}/b-0`, { metadata: { finalizers: null } }, MERGE);
  await eventually(source, () => named(source, "b-0") === undefined);
  t.equal(source.inventory.of(RESOURCES).size, MANY - 1);
}

async function loadsMaps(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  const maps = "/api/v1/namespaces/ack-system/configmaps";
  t.equal(source.inventory.of(CARM_MAPS).data("ack-system", "ack-role-account-map"), null);
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "ack-system" } });
  await cluster.request("POST", maps, { metadata: { name: "other" }, data: { a: "b" } });
  await cluster.request("POST", maps, {
    metadata: { name: "ack-role-account-map" },
    data: { "111122223333": "arn:aws:iam::111122223333:role/a" },
  });
  await eventually(source, () => source.inventory.of(CARM_MAPS).data("ack-system", "ack-role-account-map") !== null);
  t.same(
    [...(source.inventory.of(CARM_MAPS).data("ack-system", "ack-role-account-map") ?? [])],
    [["111122223333", "arn:aws:iam::111122223333:role/a"]],
  );
  t.equal(source.inventory.of(CARM_MAPS).data("ack-system", "other"), null);
}

async function followsKinds(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  await cluster.installCRDs([QUEUE]);
  await cluster.request("POST", QUEUES, {
    apiVersion: "sqs.services.k8s.aws/v1alpha1",
    kind: "Queue",
    metadata: { name: "q" },
    spec: {},
  });
  await eventually(source, () => named(source, "q") !== undefined);
  t.match(source.status, { loaded: true });
  t.same([...source.inventory.unlisted(RESOURCES)], []);
  await cluster.request("DELETE", `${DEFINITIONS}/queues.sqs.services.k8s.aws`);
  await eventually(
    source,
    () => named(source, "q") === undefined && source.inventory.kinds.versions("sqs.services.k8s.aws", "Queue") === null,
  );
  t.equal(source.inventory.of(RESOURCES).size, MANY - 1);
  await eventually(source, () => source.status.fault === null);
}

async function followsVersions(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  await cluster.installCRDs([ackCRD("s3.services.k8s.aws", "Bucket", "buckets", ["v1", "v1alpha1"])]);
  await eventually(source, () => named(source, "b-1")?.version === "v1");
  t.equal(source.inventory.of(RESOURCES).size, MANY - 1);
  t.match(source.inventory.kinds.versions("s3.services.k8s.aws", "Bucket"), {
    storage: "v1",
    served: ["v1", "v1alpha1"],
  });
}

async function loadsOnce(t: Test, cluster: Cluster): Promise<void> {
  let objects = 0;
  const loaded = await loadCluster({
    runtime: "ack",
    api: await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "admin" }),
    resources: { extraGroups: [] },
    carmMaps: { namespace: "ack-system", isRequired: false },
    collect: (object) => (stringAt(object, "metadata", "name") === "b-3" ? object : null),
    onProgress: (progress) => { objects = progress.objects; },
  });
  t.equal(loaded.inventory.of(RESOURCES).size, MANY - 1);
  t.equal(loaded.inventory.includes(CARM_MAPS), true);
  t.match(loaded.objects, [{ apiVersion: "s3.services.k8s.aws/v1", kind: "Bucket", metadata: { name: "b-3" } }]);
  t.type(field(loaded.objects[0], "spec"), "object", "the loaded objects are complete");
  t.ok(objects >= MANY);
}
