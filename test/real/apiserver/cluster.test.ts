import { access, readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { ACK_CRDS, ackCRD } from "../../fixtures/ack-crds.ts";
import { readEnvironment } from "../../programs/environment.ts";
import { assetsIn, KUBERNETES, kubernetesVersion } from "../../programs/kubernetes.ts";
import { findPrograms } from "../find-programs.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { onCluster } from "./on-cluster.ts";

const BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1",
  kind: "Bucket",
  metadata: { name: "b1", namespace: "team-a" },
  spec: { name: "b1", tagging: { tagSet: [{ key: "team", value: "a" }] } },
};
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";

onCluster("a real API server", async (t, cluster) => {
  await t.test("runs the Kubernetes version that the Go module requires", async (tt) => hasVersion(tt, cluster));
  await t.test("serves the CRDs of ACK", async (tt) => servesCRDs(tt, cluster));
  await t.test("allows the user admin to apply objects with kubectl", async (tt) => appliesAsAdmin(tt, cluster));
  await t.test("does not allow the user jane to list buckets until a role grants the permission", async (tt) =>
    forbidsJane(tt, cluster),
  );
  await t.test("writes an audit event for each write request before the response", async (tt) =>
    writesAudit(tt, cluster),
  );
  await t.test("has the same port and the same objects after a restart", async (tt) => survivesRestart(tt, cluster));
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

async function servesCRDs(t: Test, cluster: Cluster): Promise<void> {
  await cluster.installCRDs([...ACK_CRDS, ackCRD("ec2.services.k8s.aws", "VPC", "vpcs", ["v1beta1", "v1alpha1"])]);
  for (const version of ["v1beta1", "v1alpha1"]) {
    t.match(await cluster.request("GET", `/apis/ec2.services.k8s.aws/${version}/vpcs`), {
      status: 200, body: { kind: "VPCList", items: [] },
    });
  }
  t.match(await cluster.request("GET", "/apis/ec2.services.k8s.aws/v1/vpcs"), { status: 404 });
  const crd = ackCRD("s3.services.k8s.aws", "Bucket", "buckets");
  const misnamed = { ...crd, metadata: { name: "bucket.s3.services.k8s.aws" } };
  await t.rejects(cluster.installCRDs([misnamed]), {
    message: /metadata\.name: Invalid value: .* must be spec\.names\.plural\+"\."\+spec\.group/u,
  });
}

async function appliesAsAdmin(t: Test, cluster: Cluster): Promise<void> {
  t.same(await cluster.kubectl(["create", "namespace", "team-a"]), {
    code: 0, stdout: "namespace/team-a created\n", stderr: "",
  });
  const apply = async (object: object): Promise<unknown> =>
    cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
  t.same(await apply(BUCKET), { code: 0, stdout: "bucket.s3.services.k8s.aws/b1 created\n", stderr: "" });
  t.same(await apply(BUCKET), { code: 0, stdout: "bucket.s3.services.k8s.aws/b1 unchanged\n", stderr: "" });
  const stored = await cluster.request("GET", `${BUCKETS}/b1`);
  t.match(stored, { status: 200, body: { spec: BUCKET.spec } }, "the spec is complete");
  const status = { status: { ackResourceMetadata: { region: "eu-west-1" } } };
  const headers = { "content-type": "application/merge-patch+json" };
  t.match(await cluster.request("PATCH", `${BUCKETS}/b1/status`, status, { headers }), { status: 200, body: status });
}

async function forbidsJane(t: Test, cluster: Cluster): Promise<void> {
  const list = ["get", "buckets.s3.services.k8s.aws", "-n", "team-a", "-o", "name"];
  t.same(await cluster.kubectl(list, { user: "jane" }), {
    code: 1,
    stdout: "",
    stderr:
      'Error from server (Forbidden): buckets.s3.services.k8s.aws is forbidden: ' +
      'User "jane" cannot list resource "buckets" in API group "s3.services.k8s.aws" in the namespace "team-a"\n',
  });
  const role = ["bucket-reader", "--verb=list", "--resource=buckets.s3.services.k8s.aws"];
  await cluster.kubectl(["create", "clusterrole", ...role]);
  const binding = ["developers", "-n", "team-a", "--clusterrole=bucket-reader", "--group=developers"];
  await cluster.kubectl(["create", "rolebinding", ...binding]);
  t.same(await cluster.kubectl(list, { user: "jane" }), {
    code: 0, stdout: "bucket.s3.services.k8s.aws/b1\n", stderr: "",
  });
  const other = await cluster.request("GET", BUCKETS, undefined, { user: "controller" });
  t.match(other, { status: 403 }, "the role is bound to the group developers only");
}

async function writesAudit(t: Test, cluster: Cluster): Promise<void> {
  const before = await auditEvents(cluster);
  t.match(await cluster.request("DELETE", `${BUCKETS}/absent`, undefined, { user: "controller" }), { status: 403 });
  const events = (await auditEvents(cluster)).slice(before.length);
  t.match(events, [
    {
      verb: "delete",
      user: { username: "system:serviceaccount:ack-system:ack-s3-controller" },
      objectRef: { name: "absent", namespace: "team-a" },
      responseStatus: { code: 403 },
    },
  ]);
  t.equal(events.length, 1);
}

async function auditEvents(cluster: Cluster): Promise<readonly unknown[]> {
  const lines = (await readFile(cluster.auditLog, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line): unknown => JSON.parse(line));
}

async function survivesRestart(t: Test, cluster: Cluster): Promise<void> {
  const before = await cluster.request("GET", `${BUCKETS}/b1`);
  const [etcd, apiserver] = cluster.pids;
  await cluster.stopApiserver("SIGKILL");
  t.same(cluster.pids, [etcd], "etcd is still running");
  await t.rejects(cluster.request("GET", "/readyz"), { code: "ECONNREFUSED" });
  await cluster.startApiserver();
  t.same((await cluster.request("GET", `${BUCKETS}/b1`)).body, before.body);
  await cluster.restartApiserver();
  t.same((await cluster.request("GET", `${BUCKETS}/b1`)).body, before.body);
  t.equal(cluster.pids[0], etcd);
  t.not(cluster.pids[1], apiserver);
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
