import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { field, isJsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { selectorObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import type { ProgramResult } from "../../programs/run-program.ts";
import { until } from "../apiserver/until.ts";
import { startDeployed, startManager } from "../cert-manager/deployed-webhook.ts";
import { serveServices, SERVICE_FLAGS } from "../cert-manager/services.ts";
import { type Balancer, startBalancer } from "../webhook/certificates/balancer.ts";
import { emergency } from "./emergency.ts";
import { CHART, DEPLOYMENT, findHelm, NAMESPACE, objectsIn, RELEASE } from "./helm.ts";
import { describesStrict, refusesUnfitValues, warnsOfExclusions, warnsOfMissing } from "./refused-upgrades.ts";

const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1";
const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/ack-role-resolver-webhook-tls`;
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const JSON_PATCH = { headers: { "content-type": "application/json-patch+json" } };
const CREATE_NAMESPACE = ["--namespace", NAMESPACE, "--create-namespace"];

const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
/** What the endpoint slice controller writes when a Pod of the webhook is ready. */
const SLICE = {
  metadata: { name: "a1b2c", labels: { "kubernetes.io/service-name": "ack-role-resolver-webhook" } },
  addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
};

/** A cluster, and a function that runs helm with the kubeconfig of this cluster. */
interface Target {
  readonly cluster: Cluster;
  /** What the API server calls as the Service of the webhook. */
  readonly balancer: Balancer;
  readonly run: (...args: readonly string[]) => Promise<ProgramResult>;
}

// The cluster has no controllers and no nodes. So no Pod starts: the test starts `certs manage`, and writes the
// EndpointSlice of the webhook.
onCluster("a release of the chart on a real API server", async (t, cluster) => {
  const helm = await findHelm(t);
  if (helm === null) return;
  const balancer = await startBalancer(t);
  await serveServices(t, cluster, balancer);
  const target = { cluster, balancer, run: (...args: readonly string[]) => helm(args, cluster.kubeconfig) };
  const run = async (name: string, body: (t: Test, target: Target) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, target));
  };
  await cluster.installCRDs([ACK_SELECTOR_CRD]);
  await run("refuses a namespace of the controllers that does not exist", refusesMissingNamespace);
  await run("helm install blocks no change of selectors while no replica is available", installs);
  await run("helm upgrade blocks no change of selectors while no replica has been available", keepsIgnore);
  await run("the Pods of the webhook and of helm test meet the restricted Pod security standard", meetsRestricted);
  await run("certs manage denies changes while the webhook is down, as soon as it has been ready", failsWhenReady);
  await run("helm upgrade keeps this", upgrades);
  await run("helm upgrade preserves the certificates, the caBundle, and the failurePolicy during an outage", preserves);
  await run("helm rollback to a revision with Ignore is corrected by certs manage", rollsBack);
  await run("refuses values that do not fit the installed release", refusesUnfitValues);
  await run("warns of namespaces that the webhook does not review", warnsOfExclusions);
  await run("names the settings that are missing", warnsOfMissing);
  await run("describes an upgrade to strict", describesStrict);
  await run("refuses to use the Secret of the webhook's own CA with certificates.mode=files", refusesOwnSecret);
  await run("refuses to delete the right for access reviews together with the check that needs it", refusesToRevoke);
  await run("refuses a second release in the cluster, and names the first one", refusesSecond);
  await run("the emergency commands of the runbook stop all checks, and restore them", emergency);
  await run("helm uninstall deletes the webhook configurations first, and every object", uninstalls);
  await run("helm install of a webhook outside the cluster denies changes from the start", installsOutside);
}, { apiserverFlags: SERVICE_FLAGS });

const CHART_IN_NAMESPACE = [CHART, ...CREATE_NAMESPACE];

async function refusesMissingNamespace(t: Test, { cluster, run }: Target): Promise<void> {
  const { code, stderr } = await run("install", RELEASE, ...CHART_IN_NAMESPACE);
  t.equal(code, 1);
  t.match(stderr, 'ackSystemNamespace: the namespace "ack-system" does not exist; set ackSystemNamespace');
  t.match(await cluster.kubectl(["create", "namespace", "ack-system"]), { code: 0 });
}

const NOTE_IGNORE = /As soon as the webhook is ready, [^.]* \(failurePolicy: Fail\)\. Until then, only the policies /;

async function installs(t: Test, { cluster, run }: Target): Promise<void> {
  const { code, stdout, stderr } = await run("install", RELEASE, ...CHART_IN_NAMESPACE);
  t.same([code, stderr], [0, ""]);
  t.match(stdout, NOTE_IGNORE);
  t.same(await policies(cluster), ["Ignore"]);
  t.equal((await createSelector(cluster, "before")).status, 201);
}

async function keepsIgnore(t: Test, { cluster, run }: Target): Promise<void> {
  const upgrade = async (enabled: boolean): Promise<ProgramResult> => (
    await run("upgrade", RELEASE, ...CHART_IN_NAMESPACE, "--set", `injection.enabled=${enabled}`)
  );
  t.match(await upgrade(true), { code: 0, stderr: "" });
  t.same(await policies(cluster), ["Fail", "Ignore"], "the failurePolicy of the webhooks for Pods is always Fail");
  t.match(await upgrade(false), { code: 0, stdout: NOTE_IGNORE });
  t.same(await policies(cluster), ["Ignore"]);
}

async function meetsRestricted(t: Test, { cluster, run }: Target): Promise<void> {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  const namespace = `/api/v1/namespaces/${NAMESPACE}`;
  t.equal((await cluster.request("PATCH", namespace, { metadata: { labels } }, MERGE)).status, 200);
  const deployment = (await cluster.request("GET", DEPLOYMENT)).body;
  const spec = field(field(field(deployment, "spec"), "template"), "spec");
  const hooks = objectsIn((await run("get", "hooks", RELEASE, "--namespace", NAMESPACE)).stdout);
  const testPod = hooks.find((hook) => stringAt(hook, "kind") === "Pod");
  const create = async (podSpec: unknown): Promise<number> => (
    (await cluster.request("POST", `${namespace}/pods?dryRun=All`, { metadata: { name: "a" }, spec: podSpec })).status
  );
  t.same([await create(spec), await create(field(testPod, "spec"))], [201, 201]);
  t.equal(await create({ ...(isJsonObject(spec) && spec), securityContext: {} }), 403, "the API server enforces it");
}

const FAIL = ["Fail", "Ignore"];

async function failsWhenReady(t: Test, { cluster, balancer }: Target): Promise<void> {
  const manager = await startManager(t, cluster);
  const isTrusted = async (): Promise<boolean> => (
    JSON.stringify(await webhooks(cluster, "validating")).includes('"caBundle"')
  );
  t.ok(await until(isTrusted), "certs manage writes the caBundles");
  t.same(await policies(cluster), ["Ignore"], "no replica is ready yet");
  t.equal((await createSelector(cluster, "meanwhile")).status, 201);
  t.equal((await cluster.request("POST", SLICES, SLICE)).status, 201);
  const isUnreached = async (): Promise<boolean> => JSON.stringify(manager.log).includes("does not reach the webhook");
  t.ok(await until(isUnreached, 60_000), "the API server does not reach the Pod, as behind a firewall");
  t.same(await policies(cluster), ["Ignore"]);
  const webhook = await startDeployed(t, { cluster, balancer, dir: path.join(t.testdirName, "tls") });
  t.ok(await until(async () => (await policies(cluster)).join() === FAIL.join()));
  await webhook.stop();
  const denied = async (): Promise<boolean> => (await createSelector(cluster, "late")).status === 500;
  t.ok(await until(denied));
  await cluster.request("DELETE", `${SLICES}/a1b2c`);
  await manager.stop();
}

async function upgrades(t: Test, { cluster, run }: Target): Promise<void> {
  const { code, stdout, stderr } = await run("upgrade", RELEASE, ...CHART_IN_NAMESPACE);
  t.same([code, stderr], [0, ""]);
  t.match(stdout, "are denied (failurePolicy: Fail)");
  t.same(await policies(cluster), FAIL);
  const { body } = await cluster.request("GET", `${CONFIGURATIONS}/validatingwebhookconfigurations/ack-role-resolver`);
  t.notMatch(JSON.stringify(body), "fail-when-ready", "nothing is left to do");
}

async function preserves(t: Test, { cluster, run }: Target): Promise<void> {
  const configuration = `${CONFIGURATIONS}/validatingwebhookconfigurations/ack-role-resolver`;
  const caBundle = (await readFile(cluster.caFile)).toString("base64");
  const change = [{ op: "add", path: "/webhooks/0/clientConfig/caBundle", value: caBundle }];
  t.equal((await cluster.request("PATCH", configuration, change, JSON_PATCH)).status, 200);
  const changed = await cluster.request("PATCH", SECRET, { data: { "ca.crt": caBundle } }, MERGE);
  t.equal(changed.status, 200);
  t.match(await run("upgrade", RELEASE, ...CHART_IN_NAMESPACE, "--set", "replicas=3"), { code: 0, stderr: "" });
  t.same(field((await cluster.request("GET", SECRET)).body, "data"), field(changed.body, "data"));
  t.same(await policies(cluster), ["Fail", "Ignore"]);
  const [first] = await webhooks(cluster, "validating");
  t.equal(stringAt(field(first, "clientConfig"), "caBundle"), caBundle);
  t.equal(field(field((await cluster.request("GET", DEPLOYMENT)).body, "spec"), "replicas"), 3);
}

async function rollsBack(t: Test, { cluster, balancer, run }: Target): Promise<void> {
  for (const [revision, policy] of [["4", FAIL], ["1", ["Ignore"]]] as const) {
    t.match(await run("rollback", RELEASE, revision, "--namespace", NAMESPACE), { code: 0, stderr: "" });
    t.same(await policies(cluster), policy, `revision ${revision}`);
    t.ok(field(field((await cluster.request("GET", SECRET)).body, "data"), "ca.crt"), "the certificates are preserved");
  }
  const manager = await startManager(t, cluster);
  t.equal((await cluster.request("POST", SLICES, SLICE)).status, 201);
  const webhook = await startDeployed(t, { cluster, balancer, dir: path.join(t.testdirName, "tls") });
  t.ok(await until(async () => (await policies(cluster)).join() === FAIL.join()));
  await Promise.all([webhook.stop(), manager.stop()]);
}

async function refusesOwnSecret(t: Test, { run }: Target): Promise<void> {
  const values = ["certificates.mode=files", "certificates.caBundle=-----BEGIN CERTIFICATE-----"];
  const upgrade = async (...more: readonly string[]): Promise<ProgramResult> => (
    await run("upgrade", RELEASE, ...CHART_IN_NAMESPACE, "--dry-run=server", "--set", [...values, ...more].join(","))
  );
  const { code, stderr } = await upgrade();
  t.equal(code, 1);
  t.match(stderr, 'certificates.secretName: the release owns the Secret "ack-role-resolver-webhook-tls"');
  t.match(await upgrade("certificates.secretName=other"), { code: 0 });
}

async function refusesToRevoke(t: Test, { run }: Target): Promise<void> {
  const upgrade = async (...values: readonly string[]): Promise<ProgramResult> => (
    await run("upgrade", RELEASE, ...CHART_IN_NAMESPACE, ...values.flatMap((value) => ["--set", value]))
  );
  t.match(await upgrade("accessReviews=true", "settings.check={ACK-09=deny}"), { code: 0 });
  const revoke = "accessReviews=false";
  t.match(await upgrade(revoke), { code: 1, stderr: "because the installed release has ACK-09=deny;" });
  t.match(await upgrade("accessReviews=true", "settings.check={ACK-09=deny,ACK-09=off}"), { code: 0 });
  t.match(await upgrade(revoke), { code: 0 });
}

async function refusesSecond(t: Test, { run }: Target): Promise<void> {
  for (const [name, namespace] of [["second", NAMESPACE], [RELEASE, "elsewhere"]] as const) {
    const { code, stderr } = await run("install", name, CHART, "--namespace", namespace, "--create-namespace");
    t.equal(code, 1);
    t.match(stderr, "the release ack-role-resolver in the namespace ack-role-resolver has installed "
      + "ack-role-resolver in this cluster; a cluster can have one installation: upgrade that release, or uninstall it "
      + "first with `helm uninstall ack-role-resolver --namespace ack-role-resolver`");
  }
}

async function uninstalls(t: Test, { cluster, run }: Target): Promise<void> {
  const before = (await deletions(cluster)).length;
  t.match(await run("uninstall", RELEASE, "--namespace", NAMESPACE), { code: 0, stderr: "" });
  const deleted = (await deletions(cluster)).slice(before);
  const last = Math.max(...["mutating", "validating"].map((kind) => (
    deleted.indexOf(`${kind}webhookconfigurations/ack-role-resolver`)
  )));
  for (const name of ["services", "deployments", "serviceaccounts"]) {
    t.ok(last >= 0 && last < deleted.indexOf(`${name}/ack-role-resolver-webhook`), `before ${name}`);
  }
  const kinds = "deployment,service,serviceaccount,pdb,networkpolicy,clusterrole,clusterrolebinding,role,rolebinding,"
    + "validatingwebhookconfiguration,mutatingwebhookconfiguration";
  const left = await cluster.kubectl([
    "get", kinds, "--all-namespaces", "-l", "app.kubernetes.io/name=ack-role-resolver", "-o", "name",
  ]);
  t.equal(left.stdout, "");
  const admitted = async (): Promise<boolean> => (await createSelector(cluster, "after")).status === 201;
  t.ok(await until(admitted));
}

async function installsOutside(t: Test, { cluster, run }: Target): Promise<void> {
  const values = ["--set", "webhook.url=https://127.0.0.1:1", "--set-file", `webhook.caBundle=${cluster.caFile}`];
  t.match(await run("install", RELEASE, ...CHART_IN_NAMESPACE, ...values), { code: 0, stderr: "" });
  const { body } = await cluster.request("GET", `${CONFIGURATIONS}/validatingwebhookconfigurations/ack-role-resolver`);
  const stored = JSON.stringify(body);
  t.match(stored, '"url":"https://127.0.0.1:1/validate/iamroleselectors"');
  t.notMatch(stored, '"service":');
  t.equal((await cluster.request("GET", DEPLOYMENT)).status, 404);
  const create = async (): Promise<number> => (await createSelector(cluster, "outside")).status;
  t.ok(await until(async () => (await create()) === 500));
  t.match(await run("uninstall", RELEASE, "--namespace", NAMESPACE), { code: 0, stderr: "" });
  t.ok(await until(async () => (await create()) === 201));
}

/** Returns the objects that were deleted, in order, as `resource/name`. */
async function deletions(cluster: Cluster): Promise<string[]> {
  const events = (await readFile(cluster.auditLog, "utf8")).split("\n").filter((line) => line !== "");
  return events.map((line): unknown => JSON.parse(line)).filter((event) => stringAt(event, "verb") === "delete")
    .map((event) => `${stringAt(event, "objectRef", "resource")}/${stringAt(event, "objectRef", "name")}`);
}

async function createSelector(cluster: Cluster, name: string): ReturnType<Cluster["request"]> {
  // The policies of the chart deny a selector that selects every resource.
  const spec = { arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: { names: ["orders"] } };
  return await cluster.request("POST", SELECTORS, selectorObject(name, spec));
}

async function webhooks(cluster: Cluster, kind: "mutating" | "validating"): Promise<readonly unknown[]> {
  const { body } = await cluster.request("GET", `${CONFIGURATIONS}/${kind}webhookconfigurations/ack-role-resolver`);
  const all = field(body, "webhooks");
  return Array.isArray(all) ? all : [];
}

/** Returns the different failure policies in both webhook configurations, sorted. */
async function policies(cluster: Cluster): Promise<string[]> {
  const all = [...await webhooks(cluster, "mutating"), ...await webhooks(cluster, "validating")].filter(isJsonObject);
  return [...new Set(all.map((webhook) => stringAt(webhook, "failurePolicy") ?? ""))].toSorted();
}
