import path from "node:path";
import type { Test } from "tap";
import { stringify } from "yaml";
import { manifestObjects } from "../../../manifests/render.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { CHART, findHelm, type Helm, NAMESPACE, objectsIn, RELEASE } from "../chart/helm.ts";
import { startProgram } from "../server-process.ts";
import { bundlesOf, CONFIGURATIONS, read, SERVING } from "../webhook/certificates/objects.ts";
import { apply, certificateFolder, MANIFEST_OPTIONS, startWebhook, untilCalled } from "../webhook/installed-webhook.ts";
import { type ArgoCD, findArgoCD, type Managed, readGitOps, valuesOf } from "./argo-cd.ts";

const CLI = path.join(import.meta.dirname, "../../../cli/main.ts");
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/ack-role-resolver-webhook`;

onCluster("Argo CD with the Application of manifests/gitops", async (t, cluster) => {
  const helm = await findHelm(t);
  const argoCD = await findArgoCD(t);
  if (helm === null || argoCD === null) return;
  await cluster.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS]);
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: MANIFEST_OPTIONS.ackSystemNamespace } });
  const targets = await rendered(t, helm);
  const titles = targets.map((one) => `${stringAt(one, "kind")} ${stringAt(one, "metadata", "name")}`);
  const answers = await argoCD(targets.map((target) => ({ target, live: target })));
  t.same(titles.filter((_, index) => answers[index]?.wave !== 0), [
    "MutatingWebhookConfiguration ack-role-resolver", "ValidatingWebhookConfiguration ack-role-resolver",
  ], "all other objects must be healthy first");
  t.same(titles.filter((_, index) => answers[index]?.excluded === true), [], "Argo CD applies every object");
  const inWave = (wave: number): readonly JsonObject[] => (
    targets.filter((_, index) => answers[index]?.excluded === false && answers[index]?.wave === wave)
  );
  await t.test("finds no difference after the programs have written their fields", async (tt) => {
    await applyWaves(tt, cluster, inWave(0), inWave(1));
    await differsNowhere(tt, argoCD, await managedBy(cluster, [...inWave(0), ...inWave(1)]));
  });
  await t.test("finds no difference in what the webhook has completed", async (tt) => {
    await installWebhook(tt, cluster);
    // As the sync option Validate=false: kubectl would reject a selector that is complete only after the webhook.
    await apply(cluster, COMPLETED, ["--validate=false"]);
    const managed = await managedBy(cluster, COMPLETED);
    const [, selector, bucket] = managed;
    if (bucket === undefined) throw new Error("the bucket is missing");
    tt.notSame(selector?.live["spec"], selector?.target["spec"], "the webhook has completed the selector");
    tt.match(JSON.stringify(bucket.live), `"ack-role-resolver.io/role-arn":"${ROLE}"`);
    await differsNowhere(tt, argoCD, managed);
  });
});

const ROLE = "arn:aws:iam::111122223333:role/a";

/** A namespace, and a selector and a resource that are written as a user of Argo CD writes them. */
const COMPLETED: readonly JsonObject[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "orders", labels: { team: "a" } } },
  {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "orders" },
    spec: {
      arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: { team: "a" } } },
      resourceTypeSelector: [{ group: "s3.services.k8s.aws" }, { group: "dynamodb.services.k8s.aws", kind: "Table" }],
    },
  },
  {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "orders" },
    spec: { name: "b", tagging: { tagSet: [{ key: "a", value: "b" }] } },
  },
];

async function rendered(t: Test, helm: Helm): Promise<readonly JsonObject[]> {
  const values = valuesOf(await readGitOps("argocd-application.yaml"));
  const folder = t.testdir({ "values.yaml": stringify(values) });
  const { code, stdout, stderr } = await helm([
    "template", RELEASE, CHART, "--namespace", NAMESPACE, "--kube-version", "1.35.0",
    "--values", path.join(folder, "values.yaml"),
  ]);
  t.same([code, stderr], [0, ""]);
  // Argo CD does not run the hooks of `helm test`.
  return objectsIn(stdout).filter((one) => stringAt(one, "metadata", "annotations", "helm.sh/hook") === null);
}

/** Applies each wave, and waits until `certs manage` has done for it what the webhook needs. */
async function applyWaves(
  t: Test, cluster: Cluster, first: readonly object[], second: readonly object[],
): Promise<void> {
  await apply(cluster, first, []);
  const flags = ["--namespace", NAMESPACE, "--health-listen", "127.0.0.1:0"];
  const access = ["--kubeconfig", cluster.kubeconfig, "--context", "certificates"];
  const manager = await startProgram("certs manage", [CLI, "certs", "manage", ...flags, ...access]);
  t.teardown(() => manager.stop("SIGKILL"));
  const hasCertificate = async (): Promise<boolean> => (
    stringAt(await read(cluster, SERVING), "data", "tls.crt") !== null
  );
  t.ok(await until(hasCertificate), "the webhook can start before its configurations exist");
  await apply(cluster, second, []);
  const areTrusted = async (): Promise<boolean> => (
    (await Promise.all(CONFIGURATIONS.map((one) => bundlesOf(cluster, one)))).every(([text = ""]) => text !== "")
  );
  t.ok(await until(areTrusted), "certs manage has written the caBundles");
}

/** Replaces the webhook configurations by those of a replica that runs on this machine. */
async function installWebhook(t: Test, cluster: Cluster): Promise<void> {
  const { dir, ca } = await certificateFolder(t);
  const { address } = await startWebhook(t, cluster, dir, ["--namespace", NAMESPACE]);
  const hasLease = async (): Promise<boolean> => (
    stringAt(await read(cluster, LEASE), "spec", "holderIdentity") !== null
  );
  t.ok(await until(hasLease), "the webhook has created its Lease");
  for (const one of CONFIGURATIONS) await cluster.request("DELETE", one);
  await apply(cluster, manifestObjects("webhooks", { ...MANIFEST_OPTIONS, caBundle: ca, url: `https://${address}` }));
  await untilCalled(cluster);
}

/** Returns each object with what the API server has stored. */
async function managedBy(cluster: Cluster, targets: readonly JsonObject[]): Promise<readonly Managed[]> {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: targets });
  const { code, stdout, stderr } = await cluster.kubectl(["get", "-o", "json", "-f", "-"], { input });
  if (code !== 0) throw new Error(stderr);
  const items: unknown = field(JSON.parse(stdout), "items");
  const stored = Array.isArray(items) ? items.filter(isJsonObject) : [];
  return targets.map((target, index) => ({ target, live: stored[index] ?? {} }));
}

async function differsNowhere(t: Test, argoCD: ArgoCD, managed: readonly Managed[]): Promise<void> {
  const answers = await argoCD(managed);
  for (const [index, { live, predicted }] of answers.entries()) {
    const { target } = managed[index] ?? {};
    t.same(live, predicted, `${stringAt(target, "kind")} ${stringAt(target, "metadata", "name")}`);
  }
}
