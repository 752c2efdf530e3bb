import { access } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { readEnvironment } from "../../programs/environment.ts";
import { assetsIn, KUBERNETES, kubernetesVersion } from "../../programs/kubernetes.ts";
import { findPrograms } from "../find-programs.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { onCluster } from "./on-cluster.ts";

onCluster("a real API server", async (t, cluster) => {
  await t.test("runs the Kubernetes version that the Go module requires", async (tt) => hasVersion(tt, cluster));
  await t.test("reports why the API server did not start", async (tt) => reportsStartError(tt));
  await t.test("leaves no process and no folder after stop()", async (tt) => cleansUp(tt, cluster));
});

async function hasVersion(t: Test, cluster: Cluster): Promise<void> {
  const expected = readEnvironment().kubebuilderAssets === undefined ? await kubernetesVersion() : /^v\d+\.\d+\.\d+/u;
  t.match(await cluster.request("GET", "/version"), { status: 200, body: { gitVersion: expected } });
  const { code, stdout, stderr } = await cluster.kubectl(["version", "-o", "json"]);
  t.same([code, stderr], [0, ""]);
  t.match(JSON.parse(stdout), { clientVersion: { gitVersion: expected }, serverVersion: { gitVersion: expected } });
}

async function reportsStartError(t: Test): Promise<void> {
  const folders = await findPrograms(t, KUBERNETES);
  if (folders === null) return;
  await t.rejects(startCluster(assetsIn(folders[0]), { apiserverFlags: ["--no-such-flag"] }), {
    message: /is not ready.*unknown flag: --no-such-flag/su,
  });
}

async function cleansUp(t: Test, cluster: Cluster): Promise<void> {
  const { pids } = cluster;
  t.equal(pids.length, 2);
  for (const pid of pids) {
    t.ok(process.kill(pid, 0), "the process is running");
  }
  await cluster.stop();
  for (const pid of pids) {
    t.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  }
  await t.rejects(access(path.dirname(cluster.kubeconfig)), { code: "ENOENT" });
}
