import { generateKeyPairSync } from "node:crypto";
import process from "node:process";
import type { Test } from "tap";
import { makeAuthority, makeCertificates } from "../../../../certs/make.ts";
import { stringAt } from "../../../../shared/formats/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import type { ServerProcess } from "../../server-process.ts";
import { setTimeLimit } from "../../time-limit.ts";
import type { Balancer } from "./balancer.ts";
import { startLoad } from "./load.ts";
import {
  bundleOf, CONFIGURATIONS, JSON_PATCH, LEASE, MERGE_PATCH, NAMESPACE, read, SECRET, secretText, SERVING,
} from "./objects.ts";
import { installReplicas, metricsOf, type Replicas, servedSerial, startManager } from "./replicas.ts";
import { rotateCA, rotateLeaf, serveStored } from "./rotation.ts";

/** The number of admissions during the rotations. For a longer run, start this file with another number. */
const ADMISSIONS = Number(process.argv[2] ?? 1_000);
const MS_PER_ADMISSION = 60;
const EVENTS = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
const EVENT_REASONS = [
  "CABundleRestored", "CABundleSet", "CARotated", "CertificateIssued", "CertificatesCreated", "CertificatesRestored",
  "ServingCertificateRestored",
];

async function losesNoAdmission(t: Test, cluster: Cluster, replicas: Replicas, balancer: Balancer): Promise<void> {
  const load = await startLoad(cluster, balancer);
  for (let count = 1; count <= 10; count += 1) {
    await rotateLeaf(t, cluster, replicas);
    if (count % 5 === 0) await rotateCA(t, cluster, replicas);
    const share = (ADMISSIONS * count) / 10;
    t.ok(await until(async () => load.viaAPIServer.admitted >= share, 60_000 + share * MS_PER_ADMISSION));
  }
  await load.stop();
  t.same(load.viaAPIServer.failures, [], `the API server admitted ${load.viaAPIServer.admitted} changes`);
  t.same(load.direct.failures, [], `the webhook answered ${load.direct.admitted} reviews on new connections`);
}

async function restoresBundle(t: Test, cluster: Cluster): Promise<void> {
  const now = new Date();
  const other = await makeAuthority({ names: ["a"], now, notAfter: new Date(now.getTime() + 86_400_000) });
  const value = Buffer.from(other.cert).toString("base64");
  const bundles = async (): Promise<string> => (
    JSON.stringify(await Promise.all(CONFIGURATIONS.map((path) => bundleOf(cluster, path))))
  );
  const before = await bundles();
  const startMs = Date.now();
  const patch = [{ op: "add", path: "/webhooks/0/clientConfig/caBundle", value }];
  await Promise.all(CONFIGURATIONS.map((path) => cluster.request("PATCH", path, patch, JSON_PATCH)));
  t.ok(await until(async () => (await bundles()) === before), `restored after ${Date.now() - startMs} ms`);
}

async function repairsSecrets(t: Test, cluster: Cluster, replicas: Replicas): Promise<void> {
  const data = async (): Promise<string> => (
    JSON.stringify([(await read(cluster, SECRET))["data"], (await read(cluster, SERVING))["data"]])
  );
  const before = await data();
  const isRepaired = async (): Promise<boolean> => (await data()) === before;
  const served = await Promise.all(replicas.map(servedSerial));
  const garbage = Buffer.from("garbage").toString("base64");
  await cluster.request("PATCH", SECRET, { data: { "tls.crt": garbage, "ca.key": garbage } }, MERGE_PATCH);
  t.same(await Promise.all(replicas.map(servedSerial)), served);
  t.ok(await until(isRepaired), "the certificates are written again");
  await cluster.request("PATCH", SERVING, { data: { "tls.crt": garbage, "ca.key": garbage } }, MERGE_PATCH);
  t.ok(await until(isRepaired), "the serving Secret contains only the certificate again");
  for (const path of [SECRET, SERVING]) {
    await cluster.request("DELETE", path);
    t.ok(await until(isRepaired, 60_000), `${path} was created again`);
  }
  const uid = stringAt(await read(cluster, LEASE), "metadata", "uid");
  await cluster.request("DELETE", LEASE);
  const isNew = async (): Promise<boolean> => {
    const created = stringAt(await read(cluster, LEASE), "metadata", "uid");
    return created !== null && created !== uid;
  };
  t.ok(await until(isNew), "the Lease was created again");
  t.same(await Promise.all(replicas.map(servedSerial)), served);
}

/** Writes CAs of an attacker to the Secret, with and without the right name constraints, and an EC pair. */
async function publishesNoOther(t: Test, cluster: Cluster): Promise<void> {
  const now = new Date();
  const lifetime = { now, notAfter: new Date(now.getTime() + 86_400_000) };
  const evil = await makeAuthority({ names: ["127.0.0.1"], ...lifetime });
  const { ca: unconstrained } = await makeCertificates({ hosts: ["127.0.0.1"], now });
  const ec = generateKeyPairSync("ec", {
    namedCurve: "P-256", publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const versions = async (): Promise<unknown[]> => Promise.all(CONFIGURATIONS.map(async (path) => (
    stringAt(await read(cluster, path), "metadata", "resourceVersion")
  )));
  const data = async (): Promise<string> => JSON.stringify((await read(cluster, SECRET))["data"]);
  const [before, published, own] = [await data(), await versions(), await secretText(cluster, "ca.crt")];
  const attacks: readonly Readonly<Record<string, string>>[] = [
    { "previous-ca.crt": unconstrained }, { "previous-ca.crt": evil.cert }, { "ca.crt": own + evil.cert },
    { "next-ca.crt": evil.cert, "next-ca.key": evil.key }, { "ca.crt": evil.cert, "ca.key": evil.key },
    { "next-ca.crt": evil.cert, "next-ca.key": ec.privateKey },
  ];
  for (const texts of attacks) {
    const written = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, btoa(text)]));
    await cluster.request("PATCH", SECRET, { data: written }, MERGE_PATCH);
    t.ok(await until(async () => (await data()) === before), `${Object.keys(texts).join(", ")}: restored`);
  }
  t.same(await versions(), published, "no configuration was written");
}

async function writesEvents(t: Test, cluster: Cluster): Promise<void> {
  const missing = async (): Promise<string[]> => {
    const { items } = await read(cluster, EVENTS);
    const reasons = new Set(Array.isArray(items) ? items.map((item: unknown) => stringAt(item, "reason")) : []);
    return EVENT_REASONS.filter((reason) => !reasons.has(reason));
  };
  await until(async () => (await missing()).length === 0);
  t.same(await missing(), []);
}

async function replacesLeader(t: Test, cluster: Cluster, replicas: Replicas, leader: ServerProcess): Promise<void> {
  const leads = async (one: ServerProcess): Promise<boolean> => (
    (await metricsOf(one)).includes("\nack_role_resolver_certificates_leader 1")
  );
  const other = await startManager(t, cluster);
  t.ok(await leads(leader));
  t.notOk(await leads(other), "only one process leads");
  await leader.stop("SIGKILL");
  t.ok(await until(() => leads(other)), "the other process renews the certificates");
  await rotateLeaf(t, cluster, replicas);
}

onCluster("two replicas serve the certificate that `certs manage` maintains", async (t, cluster) => {
  setTimeLimit(t, 5 * 60_000 + ADMISSIONS * MS_PER_ADMISSION);
  const { manager, replicas, balancer } = await installReplicas(t, cluster);
  t.ok(await serveStored(cluster, replicas), "both replicas serve the certificate in the Secret");
  const keys = await Promise.all(["tls.key", "ca.key"].map((key) => secretText(cluster, key)));
  await t.test("lose no admission while 10 certificates and 2 CAs are rotated", async (tt) =>
    losesNoAdmission(tt, cluster, replicas, balancer));
  await t.test("the caBundle is restored when another program changes it", async (tt) => restoresBundle(tt, cluster));
  await t.test("invalid and deleted objects are restored, and the replicas serve meanwhile", async (tt) =>
    repairsSecrets(tt, cluster, replicas));
  await t.test("a CA that another program writes to the Secret is never published", async (tt) =>
    publishesNoOther(tt, cluster));
  await t.test("write Events about the Secret", async (tt) => writesEvents(tt, cluster));
  await t.test("another process takes over when the leader is killed", async (tt) =>
    replacesLeader(tt, cluster, replicas, manager));

  keys.push(await secretText(cluster, "tls.key"), await secretText(cluster, "ca.key"));
  const secrets = keys.flatMap((pem) => pem.split("\n").slice(1, 4));
  const logs = [manager, ...replicas].map(({ log }) => JSON.stringify(log));
  const texts = [...logs, JSON.stringify(await read(cluster, EVENTS))];
  t.notOk(texts.some((text) => secrets.some((secret) => text.includes(secret))), "no key is in a log or an Event");
});
