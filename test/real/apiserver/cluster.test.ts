import { access, readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { ACK_CRDS, ackCRD } from "../../fixtures/ack-crds.ts";
import { readEnvironment } from "../environment.ts";
import { findAssets, moduleVersion } from "./assets.ts";
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
  await t.test("is the release that the Go module requires", async (tt) => isTheRelease(tt, cluster));
  await t.test("serves our CRDs", async (tt) => servesCRDs(tt, cluster));
  await t.test("applies what kubectl sends as admin", async (tt) => appliesAsAdmin(tt, cluster));
  await t.test("forbids jane until she is granted it", async (tt) => forbidsJane(tt, cluster));
  await t.test("writes an audit event of each write before it answers", async (tt) => writesAudit(tt, cluster));
  await t.test("keeps its objects over a restart on the same port", async (tt) => keepsObjects(tt, cluster));
  await t.test("says why it did not start", async (tt) => saysWhy(tt));
  await t.test("leaves no process and no folder when it is stopped", async (tt) => leavesNothing(tt, cluster));
});

async function isTheRelease(t: Test, cluster: Cluster): Promise<void> {
  const expected = readEnvironment().kubebuilderAssets === undefined ? await moduleVersion() : /^v\d+\.\d+\.\d+/u;
  t.match(await cluster.request("GET", "/version"), { status: 200, body: { gitVersion: expected } });
  const { code, stdout, stderr } = await cluster.kubectl(["version", "-o", "json"]);
  t.same([code, stderr], [0, ""]);
  t.match(JSON.parse(stdout), { clientVersion: { gitVersion: expected }, serverVersion: { gitVersion: expected } });
}

async function servesCRDs(t: Test, cluster: Cluster): Promise<void> {
  await cluster.installCRDs([...ACK_CRDS, ackCRD("ec2.services.k8s.aws", "VPC", "vpcs", ["v1beta1", "v1alpha1"])]);
  t.match(await cluster.request("GET", "/apis/ec2.services.k8s.aws/v1beta1/vpcs"), { status: 200, body: { kind: "VPCList", items: [] } });
  t.match(await cluster.request("GET", "/apis/ec2.services.k8s.aws/v1alpha1/vpcs"), { status: 200, body: { kind: "VPCList", items: [] } });
  t.match(await cluster.request("GET", "/apis/ec2.services.k8s.aws/v1/vpcs"), { status: 404 });
  const misnamed = { ...ackCRD("s3.services.k8s.aws", "Bucket", "buckets"), metadata: { name: "bucket.s3.services.k8s.aws" } };
  await t.rejects(cluster.installCRDs([misnamed]), { message: /metadata\.name: Invalid value: .* must be spec\.names\.plural\+"\."\+spec\.group/u });
}

async function appliesAsAdmin(t: Test, cluster: Cluster): Promise<void> {
  t.same(await cluster.kubectl(["create", "namespace", "team-a"]), { code: 0, stdout: "namespace/team-a created\n", stderr: "" });
  const apply = async (object: object): Promise<unknown> => cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
  t.same(await apply(BUCKET), { code: 0, stdout: "bucket.s3.services.k8s.aws/b1 created\n", stderr: "" });
  t.same(await apply(BUCKET), { code: 0, stdout: "bucket.s3.services.k8s.aws/b1 unchanged\n", stderr: "" });
  t.match(await cluster.request("GET", `${BUCKETS}/b1`), { status: 200, body: { spec: BUCKET.spec } }, "the spec is kept whole");
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
      'Error from server (Forbidden): buckets.s3.services.k8s.aws is forbidden: User "jane" cannot list resource "buckets" ' +
      'in API group "s3.services.k8s.aws" in the namespace "team-a"\n',
  });
  await cluster.kubectl(["create", "clusterrole", "bucket-reader", "--verb=list", "--resource=buckets.s3.services.k8s.aws"]);
  await cluster.kubectl(["create", "rolebinding", "developers", "-n", "team-a", "--clusterrole=bucket-reader", "--group=developers"]);
  t.same(await cluster.kubectl(list, { user: "jane" }), { code: 0, stdout: "bucket.s3.services.k8s.aws/b1\n", stderr: "" });
  t.match(await cluster.request("GET", BUCKETS, undefined, { user: "controller" }), { status: 403 }, "the grant is to developers alone");
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

async function keepsObjects(t: Test, cluster: Cluster): Promise<void> {
  const before = await cluster.request("GET", `${BUCKETS}/b1`);
  const [etcd, apiserver] = cluster.pids;
  await cluster.stopApiserver("SIGKILL");
  t.same(cluster.pids, [etcd], "etcd runs on");
  await t.rejects(cluster.request("GET", "/readyz"), { code: "ECONNREFUSED" });
  await cluster.startApiserver();
  t.same((await cluster.request("GET", `${BUCKETS}/b1`)).body, before.body);
  await cluster.restartApiserver();
  t.same((await cluster.request("GET", `${BUCKETS}/b1`)).body, before.body);
  t.equal(cluster.pids[0], etcd);
  t.not(cluster.pids[1], apiserver);
}

async function saysWhy(t: Test): Promise<void> {
  const found = await findAssets(readEnvironment());
  if (!found.found) {
    throw new Error(found.reason);
  }
  await t.rejects(startCluster(found.assets, { apiserverFlags: ["--no-such-flag"] }), { message: /did not get ready.*unknown flag: --no-such-flag/su });
}

async function leavesNothing(t: Test, cluster: Cluster): Promise<void> {
  const { pids } = cluster;
  t.equal(pids.length, 2);
  for (const pid of pids) {
    t.ok(process.kill(pid, 0), "it runs");
  }
  await cluster.stop();
  for (const pid of pids) {
    t.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  }
  await t.rejects(access(path.dirname(cluster.kubeconfig)), { code: "ENOENT" });
}
