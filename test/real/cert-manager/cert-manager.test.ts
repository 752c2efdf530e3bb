import { X509Certificate } from "node:crypto";
import path from "node:path";
import type { Test } from "tap";
import { field, isJsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { CERT_MANAGER } from "../../programs/cert-manager.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import type { ProgramResult } from "../../programs/run-program.ts";
import { until } from "../apiserver/until.ts";
import { CHART, findHelm, NAMESPACE, objectsIn, RELEASE } from "../chart/helm.ts";
import { findPrograms } from "../find-programs.ts";
import type { ServerProcess } from "../server-process.ts";
import { type Balancer, startBalancer } from "../webhook/certificates/balancer.ts";
import { type Load, startLoad } from "../webhook/certificates/load.ts";
import { ISSUED, read, SECRET, secretText, SERVING } from "../webhook/certificates/objects.ts";
import { servedSerial } from "../webhook/certificates/replicas.ts";
import { SERVICE_NAME, startDeployed, startManager } from "./deployed-webhook.ts";
import { mountSecret } from "./mounted-secret.ts";
import { certManagerCRDs, startCertManager } from "./program.ts";
import { bundles, CA_SECRET, invalidate, renew, replaceCA, storedSerial } from "./replacements.ts";
import { serveServices, SERVICE_FLAGS } from "./services.ts";

/** The number of admissions on each connection path before and after a certificate is replaced. */
const ADMISSIONS = 5;

interface Installation {
  readonly cluster: Cluster;
  readonly helm: (...args: readonly string[]) => Promise<ProgramResult>;
  readonly balancer: Balancer;
  /** The folder of the certificate of the webhook. */
  readonly dir: string;
}

// The cluster has no nodes. So the test runs the webhook with the arguments of the Deployment, and writes its files.
onCluster("the chart with a certificate of cert-manager", async (t, cluster) => {
  const helm = await findHelm(t);
  const folders = helm === null ? null : await findPrograms(t, CERT_MANAGER);
  if (folders === null || helm === null) return;
  const [certManager] = folders;
  await cluster.installCRDs([ACK_SELECTOR_CRD, ...await certManagerCRDs(certManager)]);
  await startCertManager(t, cluster, certManager, NAMESPACE);
  const balancer = await startBalancer(t);
  await serveServices(t, cluster, balancer);
  const run = (...args: readonly string[]): Promise<ProgramResult> => (
    helm([...args, "--namespace", NAMESPACE], cluster.kubeconfig)
  );
  const installation = { cluster, helm: run, balancer, dir: path.join(t.testdirName, "tls") };
  await t.test("the API server stores every field of the Certificates and Issuers", async (tt) =>
    installs(tt, installation));
  await t.test("cert-manager issues the certificate, and injects its CA into every webhook", async (tt) =>
    issues(tt, installation));
  const webhook = await startDeployed(t, installation);
  await t.test("no admission is lost while helm upgrades and cert-manager replaces the certificate", async (tt) =>
    losesNoAdmission(tt, installation, webhook));
  await t.test("helm uninstall deletes the Secrets of cert-manager, so that another mode can follow", async (tt) =>
    uninstalls(tt, installation));
  await t.test("helm upgrade changes the mode, in both directions", async (tt) => changesMode(tt, installation));
}, { apiserverFlags: SERVICE_FLAGS });

async function installs(t: Test, { cluster, helm }: Installation): Promise<void> {
  t.match(await cluster.kubectl(["create", "namespace", "ack-system"]), { code: 0 });
  const mode = ["--set", "certificates.mode=cert-manager"];
  // No program of this installation may set Fail later.
  const fails = { code: 0, stderr: "", stdout: /are denied \(failurePolicy: Fail\)/ };
  t.match(await helm("install", RELEASE, CHART, "--create-namespace", ...mode), fails);
  const installed = objectsIn((await helm("get", "manifest", RELEASE)).stdout)
    .filter(({ apiVersion }) => apiVersion === "cert-manager.io/v1");
  t.equal(installed.length, 4);
  for (const object of installed) {
    const [kind, name] = [stringAt(object, "kind") ?? "", stringAt(object, "metadata", "name")];
    const url = `/apis/cert-manager.io/v1/namespaces/${NAMESPACE}/${kind.toLowerCase()}s/${name}`;
    t.same((await read(cluster, url))["spec"], field(object, "spec"), `${kind} ${name}`);
  }
}

async function issues(t: Test, { cluster }: Installation): Promise<void> {
  t.ok(await until(async () => (await secretText(cluster, "tls.crt", ISSUED)) !== ""));
  const [leaf, ca] = [await secretText(cluster, "tls.crt", ISSUED), await secretText(cluster, "ca.crt", ISSUED)];
  const certificate = new X509Certificate(leaf);
  t.ok(certificate.verify(new X509Certificate(ca).publicKey));
  t.equal(certificate.checkHost(SERVICE_NAME), SERVICE_NAME);
  const isInjected = async (): Promise<boolean> => (await bundles(cluster)).every((bundle) => bundle === ca);
  t.ok(await until(isInjected), `all ${(await bundles(cluster)).length} webhooks`);
}

async function losesNoAdmission(t: Test, installation: Installation, webhook: ServerProcess): Promise<void> {
  const { cluster, helm, balancer } = installation;
  const load = await startLoad(cluster, balancer, { workers: 2, servername: SERVICE_NAME });
  t.match(await helm("upgrade", RELEASE, CHART, "--reuse-values"), { code: 0, stdout: /failurePolicy: Fail/u });
  const ca = await secretText(cluster, "ca.crt", ISSUED);
  const causes = {
    "a renewal": () => renew(cluster),
    "a deleted Secret": () => cluster.request("DELETE", ISSUED),
    "an invalid Secret": () => invalidate(cluster, installation.dir),
    "a new CA": () => replaceCA(cluster),
  };
  for (const [cause, replace] of Object.entries(causes)) {
    await t.test(`after ${cause}`, async (tt) => {
      await replacesCertificate(tt, installation, { webhook, load, replace });
    });
  }
  await load.stop();
  t.same(load.viaAPIServer.failures, [], `the API server admitted ${load.viaAPIServer.admitted} changes`);
  t.same(load.direct.failures, [], `the webhook answered ${load.direct.admitted} reviews on new connections`);
  const newCA = await secretText(cluster, "ca.crt", ISSUED);
  t.not(newCA, ca);
  t.ok((await bundles(cluster)).every((bundle) => bundle === ca + newCA), "every caBundle contains both CAs");
}

interface Replacement {
  readonly webhook: ServerProcess;
  readonly load: Load;
  readonly replace: () => Promise<unknown>;
}

/** Replaces the certificate, and mounts the new one later, as the kubelet does. */
async function replacesCertificate(t: Test, installation: Installation, replacement: Replacement): Promise<void> {
  const { cluster, dir } = installation;
  const { webhook, load, replace } = replacement;
  const served = await servedSerial(webhook);
  await replace();
  const isReplaced = async (): Promise<boolean> => ![served, null].includes(await storedSerial(cluster));
  t.ok(await until(isReplaced), "cert-manager issues another certificate");
  const ca = await secretText(cluster, "ca.crt", ISSUED);
  const isTrusted = async (): Promise<boolean> => (await bundles(cluster)).every((bundle) => bundle.includes(ca));
  t.ok(await until(isTrusted), "every caBundle contains its CA");
  await untilAdmitted(t, load);
  t.equal(await servedSerial(webhook), served, "the webhook serves the previous certificate meanwhile");
  await mountSecret(dir, await read(cluster, ISSUED));
  const stored = await storedSerial(cluster);
  t.ok(await until(async () => (await servedSerial(webhook)) === stored), "the webhook serves the new one");
  await untilAdmitted(t, load);
}

/** Waits until the load has admitted some more changes. */
async function untilAdmitted(t: Test, { viaAPIServer, direct }: Load): Promise<void> {
  const results = [viaAPIServer, direct].map((result) => ({ result, share: result.admitted + ADMISSIONS }));
  const isDone = async (): Promise<boolean> => results.every(({ result, share }) => result.admitted >= share);
  t.ok(await until(isDone));
}

async function uninstalls(t: Test, { cluster, helm }: Installation): Promise<void> {
  t.match(await helm("uninstall", RELEASE), { code: 0, stderr: "" });
  const kinds = "secret,certificate,issuer,validatingwebhookconfiguration,mutatingwebhookconfiguration";
  const left = await cluster.kubectl(["get", kinds, "--all-namespaces", "-o", "name"]);
  t.same([left.code, left.stdout], [0, ""]);
  const requests = field(await read(cluster, `/apis/cert-manager.io/v1/certificaterequests`), "items");
  const owners = [requests].flat().map((request) => field(field(request, "metadata"), "ownerReferences"));
  const isOwned = owners.map((owner) => isJsonObject([owner].flat()[0]));
  t.same([...new Set(isOwned)], [true], "the garbage collector deletes the other objects");
  t.match(await helm("install", RELEASE, CHART), { code: 0, stderr: "" });
}

async function changesMode(t: Test, installation: Installation): Promise<void> {
  const { cluster, helm } = installation;
  const exist = async (...paths: readonly string[]): Promise<readonly boolean[]> => (
    await Promise.all(paths.map(async (one) => (await cluster.request("GET", one)).status === 200))
  );
  const isTrusted = async (secret: string): Promise<boolean> => {
    const [ca, all] = [await secretText(cluster, "ca.crt", secret), await bundles(cluster)];
    return ca !== "" && all.every((bundle) => bundle.includes(ca));
  };
  const serves = async (tt: Test, name: string, secret: string): Promise<void> => {
    tt.ok(await until(() => isTrusted(secret)), "every caBundle contains the CA");
    const webhook = await startDeployed(tt, { ...installation, dir: path.join(t.testdirName, name) });
    await webhook.stop();
  };
  const manager = await startManager(t, cluster);
  await t.test("self-signed", (tt) => serves(tt, "self-signed", SERVING));
  await manager.stop();
  t.match(await helm("upgrade", RELEASE, CHART, "--set", "certificates.mode=cert-manager"), { code: 0, stderr: "" });
  await t.test("cert-manager", (tt) => serves(tt, "cert-manager", ISSUED));
  t.same(await exist(SERVING, SECRET, ISSUED), [false, false, true], "the keys of the mode before are deleted");
  t.match(await helm("upgrade", RELEASE, CHART, "--set", "certificates.mode=self-signed"), { code: 0, stderr: "" });
  await startManager(t, cluster);
  await t.test("and back", (tt) => serves(tt, "back", SERVING));
  t.same(await exist(SERVING, SECRET, ISSUED, CA_SECRET), [true, true, false, false]);
}
