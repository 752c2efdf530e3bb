import { X509Certificate } from "node:crypto";
import { stringAt } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { until } from "../apiserver/until.ts";
import { NAMESPACE } from "../chart/helm.ts";
import {
  CONFIGURATIONS, ISSUED, JSON_PATCH, MERGE_PATCH, read, secretText,
} from "../webhook/certificates/objects.ts";
import { mountSecret } from "./mounted-secret.ts";

const CERTIFICATE = `/apis/cert-manager.io/v1/namespaces/${NAMESPACE}/certificates/ack-role-resolver-webhook-tls`;
export const CA_SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/ack-role-resolver-webhook-ca`;
const GARBAGE = Buffer.from("garbage").toString("base64");

/** Adds the condition that `cmctl renew` adds. The API server rejects it while the Certificate has it already. */
export async function renew(cluster: Cluster): Promise<void> {
  const value = {
    type: "Issuing", status: "True", reason: "ManuallyTriggered", message: "",
    lastTransitionTime: new Date().toISOString(),
  };
  const patch = [{ op: "add", path: "/status/conditions/-", value }];
  const isAdded = async (): Promise<boolean> => (
    (await cluster.request("PATCH", `${CERTIFICATE}/status`, patch, JSON_PATCH)).status === 200
  );
  if (!(await until(isAdded))) throw new Error("the API server rejected the condition");
}

/** Changes the certificate in the Secret, and mounts the Secret before cert-manager repairs it. */
export async function invalidate(cluster: Cluster, dir: string): Promise<void> {
  const { body } = await cluster.request("PATCH", ISSUED, { data: { "tls.crt": GARBAGE } }, MERGE_PATCH);
  await mountSecret(dir, body);
}

/** Deletes the CA, waits for another one, and renews the certificate until the new CA has signed it. */
export async function replaceCA(cluster: Cluster): Promise<void> {
  const before = await secretText(cluster, "ca.crt", ISSUED);
  const encoded = Buffer.from(before).toString("base64");
  await cluster.request("DELETE", CA_SECRET);
  const isIssued = async (): Promise<boolean> => (
    ![null, "", encoded].includes(stringAt(await read(cluster, CA_SECRET), "data", "tls.crt"))
  );
  if (!(await until(isIssued))) throw new Error("cert-manager issued no CA");
  const hasSigned = async (): Promise<boolean> => {
    const serial = await storedSerial(cluster);
    await renew(cluster);
    await until(async () => ![serial, null].includes(await storedSerial(cluster)));
    return (await secretText(cluster, "ca.crt", ISSUED)) !== before;
  };
  if (!(await until(hasSigned))) throw new Error("the new CA signed no certificate");
}

/** Returns the serial number of the certificate in the Secret. Returns null if the Secret has no certificate. */
export async function storedSerial(cluster: Cluster): Promise<string | null> {
  const pem = await secretText(cluster, "tls.crt", ISSUED);
  return pem.startsWith("-----BEGIN") ? new X509Certificate(pem).serialNumber : null;
}

/** Returns the caBundle of every webhook in both configurations, as PEM. */
export async function bundles(cluster: Cluster): Promise<readonly string[]> {
  const configurations = await Promise.all(CONFIGURATIONS.map((path) => read(cluster, path)));
  const webhooks = configurations.flatMap(({ webhooks: all }) => (Array.isArray(all) ? all : []));
  return webhooks.map((webhook: unknown) => (
    Buffer.from(stringAt(webhook, "clientConfig", "caBundle") ?? "", "base64").toString("utf8")
  ));
}
