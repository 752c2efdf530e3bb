import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { field, stringAt } from "../../../../shared/decisions/kubernetes/json.ts";
import { OPENREPORTS_CRDS } from "../../../fixtures/openreports-crds.ts";
import { selectorObject } from "../../../shared/decisions/objects.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { bucket, buckets } from "../buckets.ts";
import { apply, SELECTORS } from "../installed-webhook.ts";
import { installRights, metric, OPTIONS, startReplica } from "./replicas.ts";

const GROUP = "/apis/openreports.io/v1alpha1";
const REPORT = `${GROUP}/namespaces/team-a/reports/ack-role-resolver`;
const CLUSTER_REPORT = `${GROUP}/clusterreports/ack-role-resolver`;

onCluster("the leader writes the problems of each namespace as a report", async (t, cluster) => {
  await installRights(cluster);
  await cluster.installCRDs(OPENREPORTS_CRDS);
  await apply(cluster, manifestObjects("rbac", { ...OPTIONS, policyReports: true }));
  await cluster.kubectl(["create", "namespace", "team-a"]);
  await cluster.request("POST", buckets("team-a"), bucket("b1"));
  for (const name of ["gold", "silver"]) await createSelector(cluster, name);
  const replica = await startReplica(t, cluster, ["--policy-reports"]);

  await t.test("a conflict, and the overlap of its selectors", async (tt) => {
    tt.ok(await until(async () => (await failures(cluster, REPORT)) === 1));
    tt.match((await cluster.request("GET", REPORT)).body, {
      results: [{ policy: "SelectorConflict", result: "fail", resources: [{ kind: "Bucket", name: "b1" }] }],
    });
    const isReported = async (): Promise<boolean> => (await cluster.request("GET", CLUSTER_REPORT)).status === 200;
    tt.ok(await until(isReported));
    tt.match((await cluster.request("GET", CLUSTER_REPORT)).body, { summary: { warn: 2 } });
  });
  await t.test("deletes both reports when the problems are solved", async (tt) => {
    await cluster.request("DELETE", `${SELECTORS}/silver`);
    for (const path of [REPORT, CLUSTER_REPORT]) await isDeleted(tt, cluster, path);
  });
  t.equal(await metric(replica, 'reports_total{outcome="failed"}'), null, "no request failed");
});

async function createSelector(cluster: Cluster, name: string): Promise<void> {
  const spec = { arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: { names: ["team-a"] } };
  const { status, body } = await cluster.request("POST", SELECTORS, selectorObject(name, spec));
  if (status !== 201) throw new Error(stringAt(body, "message") ?? String(status));
}

async function failures(cluster: Cluster, path: string): Promise<unknown> {
  return field(field((await cluster.request("GET", path)).body, "summary"), "fail");
}

async function isDeleted(t: Test, cluster: Cluster, path: string): Promise<void> {
  t.ok(await until(async () => (await cluster.request("GET", path)).status === 404), path);
}
