import { SELECTORS } from "../../shared/ack/selectors.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import { connectKubernetes } from "../../shared/api/kubeconfig.ts";
import { ClusterSource } from "../../shared/sources/cluster-source.ts";
import { ackCRD } from "../fixtures/ack-crds.ts";
import { eventually } from "../shared/sources/eventually.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { FAST_RETRY_CLOCK, onCluster } from "./apiserver/on-cluster.ts";

const SELECTORS_PATH = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const NAMESPACES = "/api/v1/namespaces";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };

const selector = (name: string): object => ({
  apiVersion: "services.k8s.aws/v1alpha1",
  kind: "IAMRoleSelector",
  metadata: { name },
  spec: { arn: `arn:aws:iam::111111111111:role/${name}`, namespaceSelector: { names: ["team-a"] } },
});

onCluster("a cluster source on a real API server", async (t, cluster) => {
  const gate = new Gate(await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "admin" }));
  const source = new ClusterSource({ runtime: "ack", api: gate, clock: FAST_RETRY_CLOCK });
  t.teardown(() => source.stop());
  const loaded = source.start();
  await t.test("the inventory is not loaded before the IAMRoleSelector kind is installed", async (tt) =>
    isNotLoaded(tt, source),
  );
  await t.test("the inventory is loaded after the IAMRoleSelector kind is installed", async (tt) => {
    await cluster.installCRDs([iamRoleSelectorCRD("ack"), ackCRD("s3.services.k8s.aws", "Bucket", "buckets")]);
    await loaded;
    tt.match(source.status, { loaded: true, fault: null });
  });
  await t.test("updates the inventory when objects are created, changed or deleted", async (tt) =>
    appliesChanges(tt, cluster, source),
  );
  await t.test("resumes watching after the API server is killed", async (tt) => survivesRestart(tt, cluster, source));
  await t.test("lists objects again if the resource version has expired, and removes deleted objects", async (tt) =>
    listsAgain(tt, { cluster, source, gate }),
  );
  await t.test("the inventory is current at most 5 s after an outage of 15 s", async (tt) => recoversSoon(tt, cluster));
  await t.test("names each kind that the user is not allowed to list", async (tt) => namesForbidden(tt, cluster));
});

/**
 * A client that simulates a network outage: while it is closed, it rejects every request. While the client is open, it
 * records all requests.
 */
class Gate implements KubernetesAPI {
  readonly #api: KubernetesAPI;
  readonly paths: string[] = [];
  closed = false;

  constructor(api: KubernetesAPI) {
    this.#api = api;
  }

  async request(request: Parameters<KubernetesAPI["request"]>[0]): ReturnType<KubernetesAPI["request"]> {
    if (this.closed) throw new Error("the gate is closed");
    this.paths.push(request.path);
    return await this.#api.request(request);
  }
}

async function isNotLoaded(t: Test, source: ClusterSource): Promise<void> {
  await eventually(source, () => source.status.fault !== null);
  t.match(source.status, {
    loaded: false,
    lastSyncMs: null,
    fault: /^the API server does not know the kind IAMRoleSelector \(404 on /,
  });
}

async function appliesChanges(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  const { inventory } = source;
  await cluster.request("POST", NAMESPACES, {
    metadata: { name: "team-a", labels: { tier: "gold" }, annotations: { note: "é😀" } },
  });
  await eventually(source, () => inventory.namespaces.has("team-a"));
  t.equal(inventory.namespaces.labelsOf("team-a").get("tier"), "gold");
  t.equal(inventory.namespaces.annotationsOf("team-a").get("note"), "é😀");
  await cluster.request("PATCH", `${NAMESPACES}/team-a`, { metadata: { labels: { tier: "silver" } } }, MERGE);
  await eventually(source, () => inventory.namespaces.labelsOf("team-a").get("tier") === "silver");

  await cluster.request("POST", SELECTORS_PATH, selector("a"));
  await eventually(source, () => inventory.of(SELECTORS).has("a"));
  t.match(inventory.of(SELECTORS).get("a")?.resourceVersion, /^\d+$/);
  await cluster.request("POST", SELECTORS_PATH, selector("b"));
  await cluster.request("DELETE", `${SELECTORS_PATH}/b`);
  await cluster.request("POST", SELECTORS_PATH, selector("c"));
  await eventually(source, () => inventory.of(SELECTORS).has("c"));
  t.same([...inventory.of(SELECTORS).keys()].toSorted(), ["a", "c"]);
  t.match(inventory.kinds.versions("s3.services.k8s.aws", "Bucket"), { storage: "v1alpha1", served: ["v1alpha1"] });
}

async function survivesRestart(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  await cluster.stopApiserver("SIGKILL");
  await eventually(source, () => source.status.fault !== null);
  t.match(source.status, { loaded: true, fault: /^cannot list or watch / });
  t.ok(source.inventory.of(SELECTORS).has("a"), "the inventory is unchanged");
  await cluster.startApiserver();
  await cluster.request("POST", SELECTORS_PATH, selector("after-restart"));
  await cluster.request("DELETE", `${SELECTORS_PATH}/c`);
  await eventually(
    source,
    () => source.inventory.of(SELECTORS).has("after-restart") && !source.inventory.of(SELECTORS).has("c"),
  );
  await eventually(source, () => source.status.fault === null);
  t.same([...source.inventory.of(SELECTORS).keys()].toSorted(), ["a", "after-restart"]);
}

const OUTAGE_MS = 15_000;
const RECOVERY_LIMIT_MS = 5_000;

/** Uses the system clock, because FAST_RETRY_CLOCK would shorten the delays that this test measures. */
async function recoversSoon(t: Test, cluster: Cluster): Promise<void> {
  const api = await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "admin" });
  const source = new ClusterSource({ runtime: "ack", api, resources: { extraGroups: [] } });
  t.teardown(() => source.stop());
  await source.start();
  const stopped = cluster.stopApiserver("SIGKILL");
  await eventually(source, () => source.status.fault !== null);
  await stopped;
  await delay(OUTAGE_MS);
  await cluster.startApiserver();
  const readyMs = Date.now();
  await cluster.request("POST", SELECTORS_PATH, selector("after-outage"));
  await eventually(source, () => source.inventory.of(SELECTORS).has("after-outage"));
  await eventually(source, () => source.status.fault === null);
  const recoveryMs = Date.now() - readyMs;
  t.ok(recoveryMs <= RECOVERY_LIMIT_MS, `the source is current ${recoveryMs} ms after the API server is ready`);
}

interface GatedSource {
  readonly cluster: Cluster;
  readonly source: ClusterSource;
  readonly gate: Gate;
}

/** After a restart, the API server answers a watch from a resource version before the restart with 410. */
async function listsAgain(t: Test, { cluster, source, gate }: GatedSource): Promise<void> {
  gate.closed = true;
  await cluster.restartApiserver("SIGKILL");
  await eventually(source, () => source.status.fault?.includes("the gate is closed") === true);
  await cluster.request("DELETE", `${SELECTORS_PATH}/after-restart`);
  await cluster.request("POST", SELECTORS_PATH, selector("d"));
  await cluster.request("PATCH", `${NAMESPACES}/team-a`, { metadata: { labels: { tier: "bronze" } } }, MERGE);
  await cluster.restartApiserver("SIGKILL");
  const before = source.inventory.of(SELECTORS);
  t.ok(before.has("after-restart"), "the inventory misses the changes while the gate is closed");
  gate.paths.splice(0);
  gate.closed = false;
  const { namespaces } = source.inventory;
  const selectors = source.inventory.of(SELECTORS);
  await eventually(source, () => selectors.has("d") && namespaces.labelsOf("team-a").get("tier") === "bronze");
  t.same([...source.inventory.of(SELECTORS).keys()].toSorted(), ["a", "d"]);
  // The source must first try to watch, and then list once. The watch can be repeated, because the API server can
  // answer 429 while it initializes the storage. The watch after the list is missing if the source has not sent it yet.
  const paths = gate.paths.filter((path) => path.startsWith(SELECTORS_PATH));
  const verbs = paths.map((path) => (path.includes("watch=true") ? "watch" : "list"));
  t.match(
    verbs.join(" "),
    /^(?:watch )+list(?: watch)?$/u,
    "the source tried to resume the watch and then listed again",
  );
}

async function namesForbidden(t: Test, cluster: Cluster): Promise<void> {
  const api = await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "jane" });
  const source = new ClusterSource({ runtime: "ack", api });
  const started = source.start();
  await eventually(source, () => source.status.fault?.match(/not allowed to list/gu)?.length === 3);
  const resource = "iamroleselectors.services.k8s.aws";
  const { fault } = source.status;
  t.ok(fault?.startsWith(`not allowed to list ${resource} in the whole cluster; `), fault ?? "no fault");
  t.match(fault, `API server message: ${resource} is forbidden: User "jane"`);
  const rejected = t.rejects(started, { code: "ERR_NOT_READY" });
  await source.stop();
  await rejected;
}
