import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import tap from "tap";
import { makeClients } from "../../certs/clients.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { installWebhook } from "./installed-webhook.ts";
import { createPairBuckets, forge, pairSelector, tryCreate } from "./selector-pairs.ts";

const NAME = "kube-apiserver-webhooks";
const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-client-"));
tap.teardown(() => rm(folder, { recursive: true }));
const caFile = path.join(folder, "ca.crt");
const configuration = path.join(folder, "admission.json");

/**
 * Writes the files that docs/webhook.md describes. With these files, the API server presents a client certificate to
 * each webhook.
 */
async function writeAPIServerFiles(): Promise<void> {
  const { ca, pairs: [client] } = await makeClients(NAME);
  const data = (pem = ""): string => Buffer.from(pem).toString("base64");
  const user = { "client-certificate-data": data(client?.cert), "client-key-data": data(client?.key) };
  const kubeConfigFile = path.join(folder, "kubeconfig.json");
  const webhooks = {
    apiVersion: "apiserver.config.k8s.io/v1", kind: "WebhookAdmissionConfiguration", kubeConfigFile,
  };
  const plugins = ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook"].map((name) => (
    { name, configuration: webhooks }
  ));
  await writeFile(caFile, ca);
  await writeFile(kubeConfigFile, JSON.stringify({ apiVersion: "v1", kind: "Config", users: [{ name: "*", user }] }));
  await writeFile(configuration, JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration", plugins,
  }));
}

await writeAPIServerFiles();

onCluster("a webhook that accepts only the client certificate of the API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, ["--client-ca-file", caFile, "--client-name", NAME]);
  await createPairBuckets(t, cluster, 0);
  await t.test("rejects clients other than the API server during the TLS handshake", async (tt) => {
    await tt.rejects(forge(webhook, pairSelector("last", "last"), "DELETE"));
    tt.match((await tryCreate(cluster, "thief", "last")).body, { message: /IRS-17/ });
  });
}, { apiserverFlags: [`--admission-control-config-file=${configuration}`] });
