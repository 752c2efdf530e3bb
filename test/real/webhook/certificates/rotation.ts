import { X509Certificate } from "node:crypto";
import type { Test } from "tap";
import type { Cluster } from "../../apiserver/cluster.ts";
import { until } from "../../apiserver/until.ts";
import type { ServerProcess } from "../../server-process.ts";
import { bundleOf, CONFIGURATIONS, MERGE_PATCH, SECRET, secretText } from "./objects.ts";
import { servedSerial } from "./replicas.ts";

async function request(cluster: Cluster, what: "leaf" | "ca"): Promise<void> {
  const patch = { metadata: { annotations: { "ack-role-resolver.io/rotate": what } } };
  await cluster.request("PATCH", SECRET, patch, MERGE_PATCH);
}

/** Whether all replicas serve the certificate in the Secret. */
export async function serveStored(cluster: Cluster, replicas: readonly ServerProcess[]): Promise<boolean> {
  const { serialNumber } = new X509Certificate(await secretText(cluster, "tls.crt"));
  const served = await Promise.all(replicas.map(servedSerial));
  return served.every((serial) => serial === serialNumber);
}

/** Requests a new certificate, and waits until all replicas serve it. */
export async function rotateLeaf(t: Test, cluster: Cluster, replicas: readonly ServerProcess[]): Promise<void> {
  const before = await secretText(cluster, "tls.crt");
  await request(cluster, "leaf");
  const isDone = async (): Promise<boolean> => (
    (await secretText(cluster, "tls.crt")) !== before && (await serveStored(cluster, replicas))
  );
  t.ok(await until(isDone), "all replicas serve a new certificate");
}

/** Requests a new CA, and waits until the API server trusts only the new CA. */
export async function rotateCA(t: Test, cluster: Cluster, replicas: readonly ServerProcess[]): Promise<void> {
  const before = await secretText(cluster, "ca.crt");
  await request(cluster, "ca");
  const bundles = new Set<string>();
  const isDone = async (): Promise<boolean> => {
    const ca = await secretText(cluster, "ca.crt");
    const all = await Promise.all(CONFIGURATIONS.map((path) => bundleOf(cluster, path)));
    for (const bundle of all) bundles.add(bundle);
    return ca !== before && all.every((bundle) => bundle === ca) && (await serveStored(cluster, replicas));
  };
  t.ok(await until(isDone), "the API server trusts only the new CA");
  const ca = await secretText(cluster, "ca.crt");
  t.ok(bundles.has(before + ca), "the API server trusted both CAs before the new CA signed a certificate");
  t.ok(bundles.has(ca + before), "the API server trusted both CAs after the new CA signed a certificate");
}
