import type { Test } from "tap";
import { field, stringAt, stringMap } from "../../../shared/decisions/kubernetes/json.ts";
import { misappliedSelector, SELECTORS, untilCalled } from "../../real/webhook/installed-webhook.ts";
import { formatMemory, type PodCluster } from "../cluster.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { changesWhileDown } from "./deadlock.ts";
import { DEPLOYMENT, installWebhook, NAMESPACE, POD_LABELS, REPLICAS } from "./installed.ts";
import { createSelectors, selector } from "./load.ts";

const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
const BUCKET = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b1" }, spec: {} };
const RESTARTS = 2;

withNode("two webhook replicas behind a Service", async (t, found) => {
  const archive = projectArchive(t, found.programs);
  const cluster = await startCluster(t, found);
  await cluster.loadArchive(await archive);
  await installWebhook(t, cluster);
  await t.test("policies and webhook deny faulty selectors, and the webhook annotates a bucket", async (tt) => (
    reviews(tt, cluster)
  ));
  await t.test("loses no creation of a selector during rolling restarts", async (tt) => restarts(tt, cluster));
  await t.test("while scaled to 0, blocks no change that its repair needs", async (tt) => {
    await cluster.kubectl(["scale", "deployment", DEPLOYMENT, "-n", NAMESPACE, "--replicas=0"]);
    await changesWhileDown(tt, cluster, "scaled");
    await cluster.kubectl(["scale", "deployment", DEPLOYMENT, "-n", NAMESPACE, `--replicas=${REPLICAS}`]);
    await isRestored(tt, cluster);
  });
  await t.test("while all replicas crash, blocks no change that its repair needs", async (tt) => {
    await crash(cluster);
    await changesWhileDown(tt, cluster, "crashed");
    await cluster.kubectl(["rollout", "undo", `deployment/${DEPLOYMENT}`, "-n", NAMESPACE]);
    await isRestored(tt, cluster);
  });
});

async function reviews(t: Test, cluster: PodCluster): Promise<void> {
  t.equal((await cluster.pods(NAMESPACE, POD_LABELS)).length, REPLICAS);
  const malformed = selector("bad", "arn:aws:iam::111122223333:user/jane");
  const denied = await cluster.api.request("POST", SELECTORS, malformed);
  t.equal(denied.status, 422);
  t.match(stringAt(denied.body, "message"), /ValidatingAdmissionPolicy '.*IRS-03 spec\.arn: the value is not the ARN/);
  const { body } = await cluster.api.request("POST", SELECTORS, misappliedSelector("bad"));
  t.match(stringAt(body, "message"), /admission webhook .*IRS-16 /);
  await cluster.kubectl(["create", "namespace", "team-a"]);
  const created = await cluster.api.request("POST", BUCKETS, BUCKET);
  t.equal(created.status, 201);
  const annotations = stringMap(field(field(created.body, "metadata"), "annotations"));
  t.equal(annotations.get("ack-role-resolver.io/outcome"), "default");
}

async function restarts(t: Test, cluster: PodCluster): Promise<void> {
  t.comment(`idle: ${await memoryOfReplicas(cluster)}`);
  const before = await cluster.pods(NAMESPACE, POD_LABELS);
  const rollouts = new AbortController();
  const load = createSelectors(cluster, rollouts.signal);
  for (let restart = 0; restart < RESTARTS; restart++) {
    await cluster.kubectl(["rollout", "restart", `deployment/${DEPLOYMENT}`, "-n", NAMESPACE]);
    await cluster.untilRolledOut(NAMESPACE, DEPLOYMENT);
  }
  t.comment(`under load: ${await memoryOfReplicas(cluster)}`);
  rollouts.abort();
  const { created, failures, latencies } = await load;
  const uids = new Set(before.map(({ uid }) => uid));
  const after = (await cluster.pods(NAMESPACE, POD_LABELS)).filter(({ isTerminating }) => !isTerminating);
  t.notOk(after.some(({ uid }) => uids.has(uid)), "all Pods are new");
  t.same(failures, []);
  t.ok(created > RESTARTS, "selectors were created during the restarts");
  t.comment(`${created} selectors in ${RESTARTS} restarts; p50 ${latencies.p50} ms, p99 ${latencies.p99} ms`);
}

async function memoryOfReplicas(cluster: PodCluster): Promise<string> {
  const running = (await cluster.pods(NAMESPACE, POD_LABELS)).filter(({ isTerminating }) => !isTerminating);
  const all = await Promise.all(running.map((pod) => cluster.podMemory(pod)));
  return all.map(formatMemory).join("; ");
}

/** Replaces all replicas by replicas that exit at their start. A rolling update would not stop the last old replica. */
async function crash(cluster: PodCluster): Promise<void> {
  const command = [{ op: "add", path: "/spec/template/spec/containers/0/args/-", value: "--no-such-flag" }];
  const patch = ["--type=json", `--patch=${JSON.stringify(command)}`];
  await cluster.kubectl(["scale", "deployment", DEPLOYMENT, "-n", NAMESPACE, "--replicas=0"]);
  await cluster.kubectl(["patch", "deployment", DEPLOYMENT, "-n", NAMESPACE, ...patch]);
  await cluster.kubectl(["scale", "deployment", DEPLOYMENT, "-n", NAMESPACE, `--replicas=${REPLICAS}`]);
  await cluster.untilPods(NAMESPACE, POD_LABELS, (pods) => pods.some(({ restarts: count }) => count > 0));
}

async function isRestored(t: Test, cluster: PodCluster): Promise<void> {
  await cluster.untilRolledOut(NAMESPACE, DEPLOYMENT);
  await t.resolves(untilCalled(cluster.api), "the webhook denies a malformed selector again");
}
