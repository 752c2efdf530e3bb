import process from "node:process";
import { type Test } from "tap";
import { makeAuthority } from "../../../../certs/make.ts";
import { stringAt } from "../../../../shared/decisions/kubernetes/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import type { ServerProcess } from "../../server-process.ts";
import { setTimeLimit } from "../../time-limit.ts";
import type { Balancer } from "./balancer.ts";
import { startLoad } from "./load.ts";
import {
  bundleOf, CONFIGURATIONS, installReplicas, metricsOf, NAMESPACE, read, SECRET, secretText, servedSerial,
} from "./replicas.ts";
import { MERGE_PATCH, rotateCA, rotateLeaf, serveStored } from "./rotation.ts";

/** The number of admissions during the rotations. For a longer run, start this file with another number. */
const ADMISSIONS = Number(process.argv[2] ?? 1_000);
const MS_PER_ADMISSION = 60;
const EVENTS = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
const EVENT_REASONS = [
  "CABundleRestored", "CARotated", "CertificateIssued", "CertificatesCreated", "CertificatesRestored",
];
const JSON_PATCH = { headers: { "content-type": "application/json-patch+json" } };

type Replicas = readonly [ServerProcess, ServerProcess];

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

async function repairsSecret(t: Test, cluster: Cluster, replicas: Replicas): Promise<void> {
  const before = JSON.stringify((await read(cluster, SECRET))["data"]);
  const served = await Promise.all(replicas.map(servedSerial));
  const garbage = Buffer.from("garbage").toString("base64");
  await cluster.request("PATCH", SECRET, { data: { "tls.crt": garbage, "ca.key": garbage } }, MERGE_PATCH);
  t.same(await Promise.all(replicas.map(servedSerial)), served);
  const isRepaired = async (): Promise<boolean> => JSON.stringify((await read(cluster, SECRET))["data"]) === before;
  t.ok(await until(isRepaired), "the leader wrote the certificates again");
  t.same(await Promise.all(replicas.map(servedSerial)), served);
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

async function replacesLeader(t: Test, cluster: Cluster, replicas: Replicas, balancer: Balancer): Promise<void> {
  const leads = async (one: ServerProcess): Promise<boolean> => (
    (await metricsOf(one)).includes("\nack_role_resolver_webhook_certificate_leader 1")
  );
  const [leader, other] = (await leads(replicas[0])) ? replicas : replicas.toReversed();
  if (leader === undefined || other === undefined) throw new Error("no replica");
  t.notOk(await leads(other), "only one replica leads");
  balancer.backends = [other.address];
  await leader.stop("SIGKILL");
  t.ok(await until(() => leads(other)), "the other replica renews the certificates");
  await rotateLeaf(t, cluster, [other]);
}

onCluster("two replicas share the certificates in a Secret", async (t, cluster) => {
  setTimeLimit(t, 3 * 60_000 + ADMISSIONS * MS_PER_ADMISSION);
  const { replicas, balancer } = await installReplicas(t, cluster);
  t.ok(await serveStored(cluster, replicas), "both replicas serve the certificate in the Secret");
  const keys = await Promise.all(["tls.key", "ca.key"].map((key) => secretText(cluster, key)));
  await t.test("lose no admission while 10 certificates and 2 CAs are rotated", async (tt) =>
    losesNoAdmission(tt, cluster, replicas, balancer));
  await t.test("restore the caBundle when another program changes it", async (tt) => restoresBundle(tt, cluster));
  await t.test("repair an invalid Secret, and serve the previous certificate meanwhile", async (tt) =>
    repairsSecret(tt, cluster, replicas));
  await t.test("write Events about the Secret", async (tt) => writesEvents(tt, cluster));
  await t.test("elect another leader when the leader is killed", async (tt) =>
    replacesLeader(tt, cluster, replicas, balancer));

  keys.push(await secretText(cluster, "tls.key"), await secretText(cluster, "ca.key"));
  const secrets = keys.flatMap((pem) => pem.split("\n").slice(1, 4));
  const texts = [...replicas.map(({ log }) => JSON.stringify(log)), JSON.stringify(await read(cluster, EVENTS))];
  t.notOk(texts.some((text) => secrets.some((secret) => text.includes(secret))), "no key is in a log or an Event");
});
