import type { Test } from "tap";
import { field, stringAt, stringMap } from "../../../shared/formats/json.ts";
import { findHelm, RELEASE } from "../../real/chart/helm.ts";
import { findFlux } from "../../real/gitops/argo-cd.ts";
import { until } from "../../real/apiserver/until.ts";
import { setTimeLimit } from "../../real/time-limit.ts";
import { misappliedSelector, SELECTORS, untilCalled } from "../../real/webhook/installed-webhook.ts";
import type { Pod, PodCluster } from "../cluster.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { NAMESPACE, POD_LABELS, REPLICAS } from "../webhook/installed.ts";
import { selector } from "../webhook/selector.ts";
import { limitsTraffic } from "./network-policy.ts";
import {
  failurePolicies, hasCertificates, prepareCluster, Release, reportsProblem, restoresDeleted, rotatesLeaf,
} from "./release.ts";
import { startTraffic, type Tally, type Traffic, TRAFFIC_NAMESPACE } from "./traffic.ts";
import { usesEveryRight } from "./use-rights.ts";

const TEST_LIMIT_MS = 8 * 60_000;
const ROLE = "arn:aws:iam::111122223333:role/a";
const BUCKETS = `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${TRAFFIC_NAMESPACE}/buckets`;

withNode("a release of the chart, while a client changes objects", async (t, found) => {
  const helm = await findHelm(t);
  if (helm === null) return;
  setTimeLimit(t, TEST_LIMIT_MS);
  const archive = projectArchive(t, found.programs);
  const cluster = await startCluster(t, found);
  await cluster.loadArchive(await archive);
  await prepareCluster(cluster, TRAFFIC_NAMESPACE);
  await cluster.apply([selector(TRAFFIC_NAMESPACE, ROLE)]);
  const release = new Release(cluster, helm);
  const traffic = startTraffic(cluster);
  t.teardown(() => traffic.stop());
  const step = async (name: string, body: (t: Test, release: Release) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => {
      await body(tt, release);
      losesNothing(tt, traffic);
      // The API server can call the webhook for a moment after its configuration was deleted, and then its rights.
      if (body !== uninstalls) tt.same(traffic.reviewed.repeated, [], "no change had to be applied again");
    });
  };
  await step("helm install alone starts all Pods, and fails closed when the API server can call them", installs);
  await t.test("Flux skips the webhook configurations after the installation, and finds no drift", async (tt) => {
    await drifts(tt, release, [...WRITTEN, ...CONFIGURATIONS]);
  });
  await step("helm upgrade replaces all Pods, and keeps the failurePolicy Fail", upgrades);
  await t.test("Flux finds no drift after an upgrade", (tt) => drifts(tt, release, WRITTEN));
  await step("the NetworkPolicy allows the Pods of the webhook only the traffic that they need", limitsTraffic);
  await step("deleted Secrets of the certificates and Leases are created again", restoresDeleted);
  await step("each right in the roles of the release is used, and no request of the webhook is denied", usesEveryRight);
  await step("helm rollback to each revision ends with the failurePolicy Fail", rollsBack);
  await step("helm uninstall deletes every object of the release", uninstalls);
  await traffic.stop();
});

/** Tests that the API server has accepted every change so far, and that each kind of change continues. */
function losesNothing(t: Test, { unrelated, reviewed }: Traffic): void {
  for (const [kind, tally] of [["unrelated", unrelated], ["reviewed", reviewed]] as const) {
    t.same(tally.failures, [], `no change of ${kind} objects failed`);
    t.ok(tally.sent > 0);
    t.comment(`${kind}: ${describe(tally)}`);
  }
}

function describe({ sent, failures, slowest: { request, durationMs } }: Tally): string {
  return `${sent} requests, ${failures.length} failed, slowest ${durationMs} ms (${request})`;
}

async function installs(t: Test, release: Release): Promise<void> {
  t.match(await release.install(["accessReviews=true"]), "As soon as the webhook is ready, ");
  t.ok(await until(async () => await failsClosed(release)), "without a second command");
  await hasCertificates(t, release.cluster);
  await reviews(t, release.cluster);
  await reportsProblem(t, release.cluster);
  await rotatesLeaf(t, release.cluster);
}

async function failsClosed({ cluster }: Release): Promise<boolean> {
  return (await failurePolicies(cluster)).join() === "Fail,Ignore";
}

/** Tests that all Pods are ready and that the API server calls them. */
async function reviews(t: Test, cluster: PodCluster): Promise<void> {
  const areReady = (pods: readonly Pod[]): boolean => pods.length === REPLICAS && pods.every((pod) => pod.isReady);
  await cluster.untilPods(NAMESPACE, POD_LABELS, areReady);
  await untilCalled(cluster.api);
  const denied = await cluster.api.request("POST", SELECTORS, misappliedSelector("malformed"));
  t.equal(denied.status, 422);
  t.match(stringAt(denied.body, "message"), /^admission webhook .* IRS-16 spec\.unknownField: /);
  const bucket = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b1" }, spec: {} };
  const created = await cluster.api.request("POST", `${BUCKETS}?dryRun=All`, bucket);
  t.equal(created.status, 201);
  const annotations = stringMap(field(field(created.body, "metadata"), "annotations"));
  t.equal(annotations.get("ack-role-resolver.io/role-arn"), ROLE);
}

async function upgrades(t: Test, release: Release): Promise<void> {
  const uids = async (): Promise<string[]> => (await release.cluster.pods(NAMESPACE, POD_LABELS)).map(({ uid }) => uid);
  const before = await uids();
  t.match(await release.upgrade(["settings.check={ACK-09=deny}"]), "are denied (failurePolicy: Fail)");
  t.same(await failurePolicies(release.cluster), ["Fail", "Ignore"]);
  await reviews(t, release.cluster);
  t.notOk((await uids()).some((uid) => before.includes(uid)), "all Pods are new");
  t.match(await release.test(), /Phase: +Succeeded/);
  // The new leader continues the Events of the old leader.
  await rotatesLeaf(t, release.cluster);
}

/** What programs write often, and Flux skips. */
const WRITTEN = ["ConfigMap ack-role-resolver-pending-writes: excluded"];
/** What Flux skips until the first upgrade. */
const CONFIGURATIONS = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
  .map((kind) => `${kind} ack-role-resolver: excluded`);

/** Tests that Flux finds only what it skips, and the number of replicas that a user changes. */
async function drifts(t: Test, release: Release, skipped: readonly string[]): Promise<void> {
  const flux = await findFlux(t);
  if (flux === null) return;
  const { cluster } = release;
  const drift = async (): Promise<readonly string[]> => {
    const texts = await flux.driftOf({
      kubeconfig: cluster.api.kubeconfig, name: RELEASE, namespace: NAMESPACE, manifest: await release.manifest(),
    });
    return texts.map(String).toSorted();
  };
  t.same(await drift(), skipped);
  // Flux reads the object twice, and also finds what a rollout changes meanwhile.
  const scale = async (replicas: number): Promise<void> => {
    const deployment = ["deployment", CERTIFICATES, "-n", NAMESPACE];
    await cluster.kubectl(["scale", ...deployment, `--replicas=${replicas}`]);
    await cluster.kubectl(["rollout", "status", ...deployment, "--timeout=60s"]);
  };
  await scale(2);
  t.same(await drift(), [`Deployment ${CERTIFICATES}: /spec/replicas`, ...skipped].toSorted());
  await scale(1);
}

const CERTIFICATES = "ack-role-resolver-certificates";

async function rollsBack(t: Test, release: Release): Promise<void> {
  for (const revision of [1, 2]) {
    await release.rollback(revision);
    t.ok(await until(async () => await failsClosed(release)), `revision ${revision}`);
    await reviews(t, release.cluster);
  }
}

async function uninstalls(t: Test, release: Release): Promise<void> {
  await release.uninstall();
  t.same(await failurePolicies(release.cluster), []);
  await release.cluster.untilPods(NAMESPACE, POD_LABELS, (pods) => pods.length === 0);
  const kinds = "deployment,service,configmap,secret,serviceaccount,pdb,networkpolicy,clusterrole,clusterrolebinding,"
    + "role,rolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding";
  const labels = ["--all-namespaces", "-l", "app.kubernetes.io/name=ack-role-resolver", "-o", "name"];
  t.equal(await release.cluster.kubectl(["get", kinds, ...labels]), "");
}
