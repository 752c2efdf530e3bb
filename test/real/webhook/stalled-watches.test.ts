import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import { get, type LoopbackAnswer } from "../../loopback-request.ts";
import { selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { bucket, buckets, patch } from "./buckets.ts";
import { apply, SELECTORS } from "./installed-webhook.ts";
import { installReplicas } from "./replicas.ts";
import { answerOf, create, grant, JANE, NAMESPACES, RBAC } from "./requests.ts";
import { type StallingProxy, startStallingProxy } from "./stalling-proxy.ts";

const SUBJECT = { apiGroup: RBAC, kind: "User", name: "jane" };
const CHECKS = ["ACK-09", "NS-02"].flatMap((id) => ["--check", `${id}=deny`]);
const STALE = /^504 .*ERR_INVENTORY_STALE: .*(stalled|did not confirm the watch)/s;

/** Returns a selector of the namespaces of a team, with its own role. */
function ofTeam(name: string, labels: object = { team: name }): object {
  const arn = `arn:aws:iam::111122223333:role/${name}`;
  return selectorObject(name, { arn, namespaceSelector: { labelSelector: { matchLabels: labels } } });
}

async function createBucket(cluster: Cluster, namespace: string, user: RequestOptions = JANE): Promise<ApiResponse> {
  const generated = { ...bucket("x", {}, namespace), metadata: { generateName: "x-", namespace } };
  return await cluster.request("POST", buckets(namespace), generated, user);
}

interface Subject {
  readonly cluster: Cluster;
  readonly proxy: StallingProxy;
  /** Sends all later reviews to the replica whose watches can stall, or to the other one. */
  readonly use: (replica: "healthy" | "stalling") => void;
  /** Returns the response of `/readyz` of the replica whose watches can stall. */
  readonly readiness: () => Promise<LoopbackAnswer>;
}

onCluster("two replicas, of which the watches of one stall", async (t, cluster) => {
  const proxy = await startStallingProxy(t, cluster);
  const { replicas: [healthy, stalling], use } = await installReplicas(t, cluster, CHECKS, proxy);
  const subject: Subject = {
    cluster, proxy,
    use: (replica) => use([replica === "healthy" ? healthy : stalling].filter((one) => one !== undefined)),
    readiness: () => get(`http://${stalling?.healthAddress}/readyz`),
  };
  subject.use("stalling");
  await createObjects(t, cluster);
  for (const [name, body] of Object.entries({
    "asks the API server once for each review that checks a right": asksOnce,
    "denies a role by the current labels of the namespace, at once": deniesAtOnce,
    "denies every decision on a right, and is not ready, when the stall is found": deniesRights,
    "denies a selector that overlaps on a resource that the replica has not seen": deniesSelector,
    "recovers, and older events do not bring an old decision back": recovers,
  })) await t.test(name, async (tt) => body(tt, subject));
});

async function createObjects(t: Test, cluster: Cluster): Promise<void> {
  await apply(cluster, [
    ...grant("write", [{ apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["*"] }], [SUBJECT]),
    ...grant("use", [
      { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], resourceNames: ["a"], verbs: ["use"] },
    ], [SUBJECT]),
  ]);
  const names = ["relabeled", "recreated", "kept"];
  for (const name of names) await create(cluster, NAMESPACES, { metadata: { name, labels: { team: "a" } } });
  for (const team of ["a", "b", "c"]) await create(cluster, SELECTORS, ofTeam(team));
  for (const name of names) {
    t.ok(await until(async () => (await createBucket(cluster, name)).status === 201), name);
  }
}

async function asksOnce(t: Test, { cluster, proxy }: Subject): Promise<void> {
  const before = proxy.requests.length;
  for (let i = 0; i < 10; i++) t.equal((await createBucket(cluster, "kept")).status, 201);
  const asked = proxy.requests.slice(before).filter((one) => one.startsWith(`GET ${NAMESPACES}/`));
  t.same(asked, Array.from({ length: 10 }, () => `GET ${NAMESPACES}/kept`));
}

async function deniesAtOnce(t: Test, { cluster, proxy, use }: Subject): Promise<void> {
  proxy.stall();
  use("healthy");
  t.equal((await patch(cluster, `${NAMESPACES}/relabeled`, { metadata: { labels: { team: "b" } } })).status, 200);
  await recreate(cluster, "recreated");
  use("stalling");
  for (const name of ["relabeled", "recreated"]) {
    t.match(answerOf(await createBucket(cluster, name)), /^(422 .*ACK-09 .*IAMRoleSelector b,|504 )/s, name);
  }
}

async function deniesRights(t: Test, { cluster, readiness }: Subject): Promise<void> {
  t.ok(await until(async () => (await readiness()).status === 503), "not ready");
  t.match((await readiness()).body, /the inventory is stale, and was last current \d+ s ago: the watch.* stalled/s);
  const isDenied = async (): Promise<boolean> => STALE.test(answerOf(await createBucket(cluster, "kept")));
  t.ok(await until(isDenied), "a bucket in a namespace that has not changed");
  const label = { metadata: { labels: { team: "b" } } };
  t.match(answerOf(await patch(cluster, `${NAMESPACES}/kept`, label)), STALE);
}

async function deniesSelector(t: Test, { cluster, use }: Subject): Promise<void> {
  use("healthy");
  await create(cluster, NAMESPACES, { metadata: { name: "new", labels: { team: "c" } } });
  t.equal((await createBucket(cluster, "new", {})).status, 201);
  use("stalling");
  for (const query of ["", "?dryRun=All"]) {
    const second = await cluster.request("POST", `${SELECTORS}${query}`, ofTeam("second", { team: "c" }));
    t.match(answerOf(second), STALE, query);
  }
}

async function recovers(t: Test, { cluster, proxy, readiness }: Subject): Promise<void> {
  proxy.heal();
  const answers: string[] = [];
  const isCurrent = async (): Promise<boolean> => {
    for (const name of ["relabeled", "recreated"]) answers.push(answerOf(await createBucket(cluster, name)));
    return (await readiness()).status === 200 && (await createBucket(cluster, "kept")).status === 201;
  };
  t.ok(await until(isCurrent), "ready again");
  t.same(answers.filter((answer) => answer.startsWith("201")), []);
  const second = await cluster.request("POST", SELECTORS, ofTeam("second", { team: "c" }));
  t.match(answerOf(second), /^422 .*IRS-17 .*Bucket new\//s);
  t.equal((await cluster.request("POST", SELECTORS, ofTeam("other"))).status, 201);
}

/** Deletes the namespace as Kubernetes does it, and creates it for team b. */
async function recreate(cluster: Cluster, name: string): Promise<void> {
  const { body } = await cluster.request("GET", buckets(name));
  const items = field(body, "items");
  for (const one of Array.isArray(items) ? items : []) {
    await cluster.request("DELETE", buckets(name, stringAt(one, "metadata", "name") ?? ""));
  }
  await cluster.request("DELETE", `${NAMESPACES}/${name}`);
  const done = { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: [] } };
  await cluster.request("PUT", `${NAMESPACES}/${name}/finalize`, done);
  await create(cluster, NAMESPACES, { metadata: { name, labels: { team: "b" } } });
}
