import { stringAt } from "../../../shared/formats/json.ts";
import { get } from "../../loopback-request.ts";
import { selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { bucket, buckets, patch } from "./buckets.ts";
import { apply, SELECTORS } from "./installed-webhook.ts";
import { installReplicas } from "./replicas.ts";
import { answerOf, create, grant, JANE, NAMESPACES, RBAC } from "./requests.ts";
import { startStallingProxy } from "./stalling-proxy.ts";

const SUBJECT = { apiGroup: RBAC, kind: "User", name: "jane" };
const CHECKS = ["ACK-09", "NS-02"].flatMap((id) => ["--check", `${id}=deny`]);
const STALE = /^504 .*ERR_INVENTORY_STALE: .*stalled/s;

/** Returns a selector of the namespaces of a team, with its own role. */
function ofTeam(name: string, labels: object = { team: name }): object {
  const arn = `arn:aws:iam::111122223333:role/${name}`;
  return selectorObject(name, { arn, namespaceSelector: { labelSelector: { matchLabels: labels } } });
}

async function createBucket(cluster: Cluster, namespace: string, user: RequestOptions = JANE): Promise<ApiResponse> {
  const generated = { ...bucket("x", {}, namespace), metadata: { generateName: "x-", namespace } };
  return await cluster.request("POST", buckets(namespace), generated, user);
}

onCluster("two replicas, of which the watches of one stall", async (t, cluster) => {
  const proxy = await startStallingProxy(t, cluster);
  const { replicas, use } = await installReplicas(t, cluster, CHECKS, proxy);
  const [healthy = [], stalling = []] = replicas.map((replica) => [replica]);
  const readiness = async (): Promise<{ readonly status: number; readonly text: string }> => {
    const { status, body } = await get(`http://${stalling[0]?.healthAddress}/readyz`);
    return { status, text: body };
  };
  use(stalling);
  await apply(cluster, [
    ...grant("write", [{ apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["*"] }], [SUBJECT]),
    ...grant("use", [
      { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], resourceNames: ["a"], verbs: ["use"] },
    ], [SUBJECT]),
  ]);
  for (const name of ["relabeled", "recreated", "kept"]) {
    await create(cluster, NAMESPACES, { metadata: { name, labels: { team: "a" } } });
  }
  for (const team of ["a", "b", "c"]) await create(cluster, SELECTORS, ofTeam(team));
  const isAdmitted = async (name: string): Promise<boolean> => (await createBucket(cluster, name)).status === 201;
  for (const name of ["relabeled", "recreated", "kept"]) t.ok(await until(() => isAdmitted(name)), name);

  await t.test("asks the API server once for each review that checks a right", async (tt) => {
    const before = proxy.requests.length;
    for (let i = 0; i < 10; i++) tt.equal((await createBucket(cluster, "kept")).status, 201);
    const asked = proxy.requests.slice(before).filter((one) => !one.includes("watch=true"));
    tt.same(asked, Array.from({ length: 10 }, () => `GET ${NAMESPACES}/kept`));
  });

  proxy.stall();
  await t.test("denies a role by the current labels of the namespace, at once", async (tt) => {
    use(healthy);
    tt.equal((await patch(cluster, `${NAMESPACES}/relabeled`, { metadata: { labels: { team: "b" } } })).status, 200);
    await recreate(cluster, "recreated");
    use(stalling);
    for (const name of ["relabeled", "recreated"]) {
      tt.match(answerOf(await createBucket(cluster, name)), /^(422 .*ACK-09 .*IAMRoleSelector b,|504 )/s, name);
    }
  });

  await t.test("denies every decision on a right, and is not ready, when the stall is found", async (tt) => {
    tt.ok(await until(async () => (await readiness()).status === 503), "not ready");
    const reason = new RegExp("the inventory is stale, and was last current \\d+ s ago: the watch.* stalled", "s");
    tt.match((await readiness()).text, reason);
    const isDenied = async (): Promise<boolean> => STALE.test(answerOf(await createBucket(cluster, "kept")));
    tt.ok(await until(isDenied), "a bucket in a namespace that has not changed");
    const label = { metadata: { labels: { team: "b" } } };
    tt.match(answerOf(await patch(cluster, `${NAMESPACES}/kept`, label)), STALE);
  });

  await t.test("denies a selector that overlaps on a resource that the replica has not seen", async (tt) => {
    use(healthy);
    await create(cluster, NAMESPACES, { metadata: { name: "new", labels: { team: "c" } } });
    tt.equal((await createBucket(cluster, "new", {})).status, 201);
    use(stalling);
    for (const query of ["", "?dryRun=All"]) {
      const second = await cluster.request("POST", `${SELECTORS}${query}`, ofTeam("second", { team: "c" }));
      tt.match(answerOf(second), STALE, query);
    }
  });

  await t.test("recovers, and older events do not bring an old decision back", async (tt) => {
    proxy.heal();
    const answers: string[] = [];
    const isCurrent = async (): Promise<boolean> => {
      for (const name of ["relabeled", "recreated"]) answers.push(answerOf(await createBucket(cluster, name)));
      return (await readiness()).status === 200 && (await createBucket(cluster, "kept")).status === 201;
    };
    tt.ok(await until(isCurrent), "ready again");
    tt.same(answers.filter((answer) => answer.startsWith("201")), []);
    const second = await cluster.request("POST", SELECTORS, ofTeam("second", { team: "c" }));
    tt.match(answerOf(second), /^422 .*IRS-17 .*Bucket new\//s);
    tt.equal((await cluster.request("POST", SELECTORS, ofTeam("other"))).status, 201);
  });
});

/** Deletes the namespace as Kubernetes does it, and creates it for team b. */
async function recreate(cluster: Cluster, name: string): Promise<void> {
  const { body } = await cluster.request("GET", buckets(name));
  for (const one of Array.isArray(Object(body).items) ? Object(body).items : []) {
    await cluster.request("DELETE", buckets(name, stringAt(one, "metadata", "name") ?? ""));
  }
  await cluster.request("DELETE", `${NAMESPACES}/${name}`);
  const done = { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: [] } };
  await cluster.request("PUT", `${NAMESPACES}/${name}/finalize`, done);
  await create(cluster, NAMESPACES, { metadata: { name, labels: { team: "b" } } });
}
