import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../../shared/formats/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import type { ServerProcess } from "../../server-process.ts";
import { bucket, buckets, patch } from "../buckets.ts";
import { startBalancer } from "../certificates/balancer.ts";
import { apply, certificateFolder, SELECTORS, untilCalled } from "../installed-webhook.ts";
import { create } from "../requests.ts";
import {
  auditedPatches, installRights, leads, maximumPerSecond, NAMESPACE, OPTIONS, startReplica,
} from "./replicas.ts";

/** The number of resources for which the API server calls no webhook. */
const RESOURCES = 200;
const QPS = 25;
/** In any second, one more write can start, and the time until the API server receives a write varies. */
const MAX_PER_SECOND = QPS + 2;
const PREFIX = "ack-role-resolver.io/";
/** After a change, a scan starts within 12 s. All resources are then written with the limited rate. */
const REFRESH_LIMIT_MS = 20_000 + (RESOURCES / QPS) * 2_000;

const ROLE = "arn:aws:iam::111122223333:role/team-a";
const SELECTOR = `${SELECTORS}/team-a`;

onCluster("two replicas update stale annotations", async (t, cluster) => {
  await installRights(cluster);
  await createObjects(cluster);
  const flags = ["--url=https://127.0.0.1"];
  const { dir, ca } = await certificateFolder(t);
  const replicas = [
    await startReplica(t, cluster, flags, dir), await startReplica(t, cluster, flags, dir),
  ] as const;
  await t.test("annotate what was admitted while no webhook was installed", async (tt) => (
    annotatesUnseen(tt, cluster, replicas)
  ));
  await t.test("follow a changed selector, and never write at the same time if the leader is paused", async (tt) => (
    writesAlone(tt, cluster, replicas)
  ));
  await t.test("continue when the leader is killed", async (tt) => replacesLeader(tt, replicas));
  const last = replicas[(await leads(replicas[0]).catch(() => false)) ? 0 : 1];
  await t.test("update annotations through the webhook and the policy", async (tt) => (
    writesThroughWebhook(tt, cluster, last, ca)
  ));
});

/** The outcomes of all resources of the namespace team-a, depending on the namespace that the selector names. */
const SELECTED = { spec: { namespaceSelector: { names: ["team-a"] } } };
const DEFAULT = { spec: { namespaceSelector: { names: ["elsewhere"] } } };

async function createObjects(cluster: Cluster): Promise<void> {
  await create(cluster, "/api/v1/namespaces", { metadata: { name: "team-a" } });
  await create(cluster, SELECTORS, {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "team-a" },
    spec: { arn: ROLE, ...SELECTED.spec },
  });
  const names = Array.from({ length: RESOURCES }, (_, i) => `b${i}`);
  for (let i = 0; i < RESOURCES; i += 10) {
    await Promise.all(names.slice(i, i + 10).map((name) => create(cluster, buckets("team-a"), bucket(name))));
  }
  await create(cluster, buckets("kube-system"), bucket("system", {}, "kube-system"));
  await create(cluster, buckets(NAMESPACE), bucket("own", {}, NAMESPACE));
}

/** Returns the number of buckets whose annotations have the outcome. */
async function annotatedAs(cluster: Cluster, outcome: "selected" | "default"): Promise<number> {
  return (await listed(cluster)).filter((one) => (
    stringAt(one, "metadata", "annotations", `${PREFIX}outcome`) === outcome
  )).length;
}

async function listed(cluster: Cluster, namespace = "team-a"): Promise<JsonObject[]> {
  const items = field((await cluster.request("GET", buckets(namespace))).body, "items");
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

async function annotatesUnseen(t: Test, cluster: Cluster, replicas: readonly ServerProcess[]): Promise<void> {
  const startMs = Date.now();
  const isDone = async (): Promise<boolean> => (await annotatedAs(cluster, "selected")) === RESOURCES;
  t.ok(await until(isDone, REFRESH_LIMIT_MS), `${RESOURCES} resources in ${Date.now() - startMs} ms`);
  t.ok((await leads(replicas[0] ?? fail())) !== (await leads(replicas[1] ?? fail())), "one replica leads");
  for (const namespace of ["kube-system", NAMESPACE]) {
    const isAnnotated = async (): Promise<boolean> => {
      const [one] = await listed(cluster, namespace);
      return stringAt(one, "metadata", "annotations", `${PREFIX}outcome`) === "default";
    };
    t.ok(await until(isAnnotated, REFRESH_LIMIT_MS), namespace);
  }
  const [one] = await listed(cluster);
  const managers = JSON.stringify(field(field(one, "metadata"), "managedFields"));
  t.match(managers, /"manager":"ack-role-resolver-reconciler","operation":"Update"/);
}

async function change(t: Test, cluster: Cluster, to: object): Promise<void> {
  const { status, body } = await patch(cluster, SELECTOR, to);
  t.equal(status, 200, stringAt(body, "message") ?? "");
}

function fail(): never {
  throw new Error("no replica");
}

async function writesAlone(t: Test, cluster: Cluster, replicas: readonly ServerProcess[]): Promise<void> {
  const isFirst = await leads(replicas[0] ?? fail());
  const [paused = fail(), other = fail()] = isFirst ? replicas : replicas.toReversed();
  await change(t, cluster, DEFAULT);
  await until(async () => (await annotatedAs(cluster, "default")) > 5, REFRESH_LIMIT_MS);
  paused.signal("SIGSTOP");
  const pausedMs = Date.now();
  t.ok(await until(() => leads(other)), `another replica leads after ${Date.now() - pausedMs} ms`);
  const isDone = async (): Promise<boolean> => (await annotatedAs(cluster, "default")) === RESOURCES;
  await until(async () => (await annotatedAs(cluster, "default")) > RESOURCES / 2, REFRESH_LIMIT_MS);
  const resumedMs = Date.now();
  paused.signal("SIGCONT");
  t.ok(await until(isDone, REFRESH_LIMIT_MS));
  t.equal(await leads(paused), false, "the paused replica does not lead");
  const patches = (await auditedPatches(cluster)).filter(({ atMs }) => atMs > pausedMs);
  const written = patches.filter(({ status }) => status === 200).map(({ name }) => name);
  t.equal(new Set(written).size, written.length, "no resource was written twice");
  const perSecond = maximumPerSecond(patches.filter(({ atMs }) => atMs >= resumedMs - 1_000));
  t.ok(perSecond <= MAX_PER_SECOND, `at most ${perSecond} writes in one second after the replica resumed`);
  const takenMs = patches.find(({ atMs }) => atMs > pausedMs + 1_000)?.atMs ?? 0;
  t.ok(takenMs - pausedMs > 5_000, `the next write started ${takenMs - pausedMs} ms after the pause`);
}

async function replacesLeader(t: Test, replicas: readonly ServerProcess[]): Promise<void> {
  const isFirst = await leads(replicas[0] ?? fail());
  const [leader = fail(), other = fail()] = isFirst ? replicas : replicas.toReversed();
  await leader.stop("SIGKILL");
  const killedMs = Date.now();
  t.ok(await until(() => leads(other)), `another replica leads after ${Date.now() - killedMs} ms`);
}

async function writesThroughWebhook(
  t: Test, cluster: Cluster, webhook: ServerProcess, caBundle: string,
): Promise<void> {
  const balancer = await startBalancer(t);
  balancer.backends = [webhook.address];
  await apply(cluster, manifestObjects("webhooks", { ...OPTIONS, url: `https://${balancer.address}`, caBundle }));
  const isCalled = (): Promise<boolean> => untilCalled(cluster).then(() => true, () => false);
  t.ok(await until(isCalled));
  await change(t, cluster, { metadata: { annotations: { [`${PREFIX}allow`]: "IRS-20,IRS-30,IRS-31" } }, ...SELECTED });
  const isDone = async (): Promise<boolean> => (await annotatedAs(cluster, "selected")) === RESOURCES;
  t.ok(await until(isDone, REFRESH_LIMIT_MS));
  const direct = await cluster.request("PATCH", `${buckets("team-a", "b1")}/status`, { status: { x: "y" } }, {
    user: "webhook", headers: { "content-type": "application/merge-patch+json" },
  });
  t.equal(direct.status, 403, "the rights of the webhook do not allow other changes");
}
