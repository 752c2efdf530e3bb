import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import { type Clock, systemClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import { connectKubernetes } from "../../shared/inventory/cluster/kubeconfig.ts";
import { ClusterSource } from "../../shared/inventory/cluster/source.ts";
import { ackCRD } from "../fixtures/ack-crds.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";

const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
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
  const source = new ClusterSource({ runtime: "ack", api: gate, clock: HASTY_CLOCK });
  t.teardown(() => source.stop());
  const loaded = source.start();
  await t.test("is not loaded by a cluster that has no IAMRoleSelector kind", async (tt) => isNotLoaded(tt, source));
  await t.test("is loaded as soon as the kind is there", async (tt) => {
    await cluster.installCRDs([iamRoleSelectorCRD("ack"), ackCRD("s3.services.k8s.aws", "Bucket", "buckets")]);
    await loaded;
    tt.match(source.status, { loaded: true, fault: null });
  });
  await t.test("sees objects come, change and go", async (tt) => seesChanges(tt, cluster, source));
  await t.test("goes on over a killed API server", async (tt) => outlivesRestart(tt, cluster, source));
  await t.test("lists again when its version is too old, and drops what is gone", async (tt) => listsAgain(tt, { cluster, source, gate }));
  await t.test("names what an account may not list", async (tt) => namesForbidden(tt, cluster));
});

/** Pauses between attempts, which are under 31 s, are a twentieth as long: what is tested is what follows them. */
const HASTY_CLOCK: Clock = {
  now: () => systemClock.now(),
  schedule: (delayMs, run) => systemClock.schedule(delayMs < 31_000 ? delayMs / 20 : delayMs, run),
};

/** Refuses every request while it is shut, as a network that is down, and writes down those that it lets through. */
class Gate implements KubernetesAPI {
  readonly #api: KubernetesAPI;
  readonly passed: string[] = [];
  shut = false;

  constructor(api: KubernetesAPI) {
    this.#api = api;
  }

  async request(request: Parameters<KubernetesAPI["request"]>[0]): ReturnType<KubernetesAPI["request"]> {
    if (this.shut) throw new Error("the gate is shut");
    this.passed.push(request.path);
    return await this.#api.request(request);
  }
}

async function isNotLoaded(t: Test, source: ClusterSource): Promise<void> {
  await becomes(source, () => source.status.fault !== null);
  t.match(source.status, { loaded: false, lastSyncMs: null, fault: /^the cluster has no IAMRoleSelector \(404 on / });
}

async function seesChanges(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  const { inventory } = source;
  await cluster.request("POST", NAMESPACES, { metadata: { name: "team-a", labels: { tier: "gold" }, annotations: { note: "é😀" } } });
  await becomes(source, () => inventory.hasNamespace("team-a"));
  t.equal(inventory.namespaceLabels("team-a").get("tier"), "gold");
  t.equal(inventory.namespaceAnnotations("team-a").get("note"), "é😀");
  await cluster.request("PATCH", `${NAMESPACES}/team-a`, { metadata: { labels: { tier: "silver" } } }, MERGE);
  await becomes(source, () => inventory.namespaceLabels("team-a").get("tier") === "silver");

  await cluster.request("POST", SELECTORS, selector("a"));
  await becomes(source, () => inventory.selectors.has("a"));
  t.match(inventory.selectors.get("a")?.resourceVersion, /^\d+$/);
  await cluster.request("POST", SELECTORS, selector("b"));
  await cluster.request("DELETE", `${SELECTORS}/b`);
  await cluster.request("POST", SELECTORS, selector("c"));
  await becomes(source, () => inventory.selectors.has("c"));
  t.same([...inventory.selectors.keys()].toSorted(), ["a", "c"]);
  t.same(inventory.kindVersions("s3.services.k8s.aws", "Bucket"), { storage: "v1alpha1", served: ["v1alpha1"] });
}

async function outlivesRestart(t: Test, cluster: Cluster, source: ClusterSource): Promise<void> {
  await cluster.stopApiserver("SIGKILL");
  await becomes(source, () => source.status.fault !== null);
  t.match(source.status, { loaded: true, fault: / cannot be followed: / });
  t.ok(source.inventory.selectors.has("a"), "the view is kept");
  await cluster.startApiserver();
  await cluster.request("POST", SELECTORS, selector("after-restart"));
  await cluster.request("DELETE", `${SELECTORS}/c`);
  await becomes(source, () => source.inventory.selectors.has("after-restart") && !source.inventory.selectors.has("c"));
  await becomes(source, () => source.status.fault === null);
  t.same([...source.inventory.selectors.keys()].toSorted(), ["a", "after-restart"]);
}

/** An API server that was started after the source's version was made does not hold it any more: the watch is answered 410. */
async function listsAgain(t: Test, { cluster, source, gate }: { readonly cluster: Cluster; readonly source: ClusterSource; readonly gate: Gate }): Promise<void> {
  gate.shut = true;
  await cluster.restartApiserver("SIGKILL");
  await becomes(source, () => source.status.fault?.includes("the gate is shut") === true);
  await cluster.request("DELETE", `${SELECTORS}/after-restart`);
  await cluster.request("POST", SELECTORS, selector("d"));
  await cluster.request("PATCH", `${NAMESPACES}/team-a`, { metadata: { labels: { tier: "bronze" } } }, MERGE);
  await cluster.restartApiserver("SIGKILL");
  t.ok(source.inventory.selectors.has("after-restart"), "nothing was seen through the gate");
  gate.passed.splice(0);
  gate.shut = false;
  await becomes(source, () => source.inventory.selectors.has("d") && source.inventory.namespaceLabels("team-a").get("tier") === "bronze");
  t.same([...source.inventory.selectors.keys()].toSorted(), ["a", "d"]);
  // Watches come first, more than one where the server answers 429 while it makes the kind's storage; then one list, and its watch if the
  // namespaces came later.
  const asked = gate.passed.filter((path) => path.startsWith(SELECTORS)).map((path) => (path.includes("watch=true") ? "watch" : "list"));
  t.match(asked.join(" "), /^(?:watch )+list(?: watch)?$/u, "it tried to resume, and listed again");
}

async function namesForbidden(t: Test, cluster: Cluster): Promise<void> {
  const source = new ClusterSource({ runtime: "ack", api: await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "jane" }) });
  const started = source.start();
  await becomes(source, () => source.status.fault?.match(/not allowed to list/gu)?.length === 3);
  t.match(source.status.fault, /^not allowed to list iamroleselectors\.services\.k8s\.aws in the whole cluster; .*the API server said: iamroleselectors\.services\.k8s\.aws is forbidden: User "jane"/u);
  const rejected = t.rejects(started, { code: "ERR_NOT_READY" });
  await source.stop();
  await rejected;
}

async function becomes(source: ClusterSource, holds: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = source.onChange(() => (holds() ? resolve() : undefined));
  if (!holds()) await promise;
  end();
}
