import type { Test } from "tap";
import { field, stringAt, stringMap } from "../../../shared/formats/json.ts";
import { misappliedSelector, SELECTORS, untilCalled } from "../../real/webhook/installed-webhook.ts";
import type { PodCluster } from "../cluster.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { changesWhileDown } from "./deadlock.ts";
import { DEPLOYMENT, installWebhook, NAMESPACE, POD_LABELS, REPLICAS } from "./installed.ts";
import { selector } from "./selector.ts";

const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
const BUCKET = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b1" }, spec: {} };

withNode("two webhook replicas behind a Service", async (t, found) => {
  const archive = projectArchive(t, found.programs);
  const cluster = await startCluster(t, found);
  await cluster.loadArchive(await archive);
  await installWebhook(t, cluster);
  await t.test("policies and webhook deny faulty selectors, and the webhook annotates a bucket", async (tt) => (
    reviews(tt, cluster)
  ));
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
  t.match(stringAt(denied.body, "message"), /admission webhook .*IRS-03 spec\.arn: .* is not the ARN of an IAM role/);
  const { body } = await cluster.api.request("POST", SELECTORS, misappliedSelector("bad"));
  t.match(stringAt(body, "message"), /admission webhook .*IRS-16 /);
  await cluster.kubectl(["create", "namespace", "team-a"]);
  const created = await cluster.api.request("POST", BUCKETS, BUCKET);
  t.equal(created.status, 201);
  const annotations = stringMap(field(field(created.body, "metadata"), "annotations"));
  t.equal(annotations.get("ack-role-resolver.io/outcome"), "default");
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
