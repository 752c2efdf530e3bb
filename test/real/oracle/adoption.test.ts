import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import { type CommandResult, runCommand } from "../../cli/run-command.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { gatedDeployment } from "../../fixtures/controllers.ts";
import { ACK_RUNTIME, ackProgramsIn } from "../../programs/ack-runtime.ts";
import { MOTO, wheelsIn } from "../../programs/wheels.ts";
import { bucketObject, namespaceObject, selectorObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { findPrograms } from "../find-programs.ts";
import { startMoto } from "../sdks/moto.ts";
import { apply } from "../webhook/installed-webhook.ts";
import { startACKController } from "./ack-controller.ts";
import { OWN_ACCOUNT } from "./random-rounds.ts";

const BUCKET = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets/b1";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
/** How long a controller would need at most to notice a change. */
const UNNOTICED_MS = 3_000;
const role = `arn:aws:iam::${OWN_ACCOUNT}:role/one`;
const FLAGS = ["--enable-carm=false", "--feature-gates=IAMRoleSelector=true", "--allow-unsafe-aws-endpoint-urls"];

onCluster("why reads the conditions of a controller on the runtime of ACK", async (t, cluster) => {
  const folders = await findPrograms(t, ACK_RUNTIME, MOTO);
  if (folders === null) return;
  const moto = await startMoto(t, await wheelsIn(folders[1]));
  const { controller } = ackProgramsIn(folders[0]);
  const start = async (tt: Test): Promise<unknown> => await startACKController(
    tt, controller, [...FLAGS, `--aws-endpoint-url=${moto}`], {
      KUBECONFIG: cluster.kubeconfig, AWS_REGION: "eu-west-1", AWS_EC2_METADATA_DISABLED: "true",
      AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret", AWS_ENDPOINT_URL_STS: moto,
    },
  );
  await prepare(cluster);

  await t.test("and says how to adopt a bucket that lost the finalizer of ACK", async (tt) => {
    await start(tt);
    await apply(cluster, [bucketObject({}, { spec: { name: "b1" } })]);
    tt.ok(await until(async () => await isSynced(cluster)), "the controller creates it");
    const healthy = await why(cluster);
    tt.equal(healthy.status, 0, healthy.stdout);
    tt.match(healthy.stdout, new RegExp(`exists in: account ${OWN_ACCOUNT}\n.*\n  fix: nothing is wrong\n$`));

    // What the runtime does if an AWS API rejects the creation with another role (createResource in reconciler.go).
    const unmanaged = { metadata: { finalizers: null }, spec: { name: "b1", edited: "1" } };
    await cluster.request("PATCH", BUCKET, unmanaged, MERGE);
    tt.ok(await until(async () => (await conditionsOf(cluster)).includes("ACK.Terminal=True")), "it is terminal");
    const broken = await why(cluster);
    tt.equal(broken.status, 1, broken.stdout);
    tt.match(broken.stdout, "\n  fix ACK.Terminal: status.conditions: Resource already exists: This resource already ");
    const commands = [...broken.stdout.matchAll(/^ {4,6}(kubectl .+)$/gm)].map(([, command = ""]) => command);
    tt.equal(commands.length, 2, broken.stdout);
    for (const command of commands) {
      const { code, stderr } = await cluster.shell(command, {});
      tt.equal(code, 0, `${command}: ${stderr}`);
    }
    tt.notOk(await until(async () => await isSynced(cluster), UNNOTICED_MS), "an annotation alone changes nothing");
  });

  await t.test("which is right: the restarted controller adopts it", async (tt) => {
    await start(tt);
    tt.ok(await until(async () => await isSynced(cluster)), "the controller adopts it");
    const { body } = await cluster.request("GET", BUCKET);
    tt.same(field(field(body, "metadata"), "finalizers"), ["finalizers.s3.services.k8s.aws/Bucket"]);
    const { stdout, status } = await why(cluster);
    tt.equal(status, 0, stdout);
    tt.match(stdout, "\n  fix: nothing is wrong\n");
  });
});

async function prepare(cluster: Cluster): Promise<void> {
  await cluster.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS.filter(({ spec }) => spec.names.kind === "Bucket")]);
  await apply(cluster, [
    namespaceObject("ack-system"), namespaceObject("team-a"),
    selectorObject("team-a", { arn: role, namespaceSelector: { names: ["team-a"] } }), deployment(),
  ]);
}

/** Returns the Deployment of the controller, which nothing runs here, as an API server accepts it. */
function deployment(): object {
  const labels = { app: "ack-s3" };
  const { spec, ...others } = gatedDeployment("IAMRoleSelector=true", false, { metadata: { labels } });
  return { ...others, spec: Object.assign({ selector: { matchLabels: labels } }, spec) };
}

async function why({ kubeconfig }: Cluster): Promise<CommandResult> {
  return await runCommand(["why", "bucket/b1", "-n", "team-a", "--cluster", "--kubeconfig", kubeconfig]);
}

async function isSynced(cluster: Cluster): Promise<boolean> {
  return (await conditionsOf(cluster)).includes("ACK.ResourceSynced=True");
}

/** Returns the conditions of the bucket as `TYPE=STATUS`. */
async function conditionsOf(cluster: Cluster): Promise<readonly string[]> {
  const { body } = await cluster.request("GET", BUCKET);
  const conditions = field(field(body, "status"), "conditions");
  return (Array.isArray(conditions) ? conditions : []).map((one: unknown) => (
    `${stringAt(one, "type")}=${stringAt(one, "status")}`
  ));
}
