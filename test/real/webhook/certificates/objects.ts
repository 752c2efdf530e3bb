import { isJsonObject, type JsonObject, stringAt } from "../../../../shared/formats/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";

export const NAMESPACE = "ack-role-resolver";
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
/** The Secret that contains the CA. */
export const SECRET = `${SECRETS}/ack-role-resolver-certificates`;
/** The Secret of cert-manager, which they mount with this mode. */
export const ISSUED = `${SECRETS}/ack-role-resolver-webhook-cert-manager`;
/** The Secret that the Pods of the webhook mount. */
export const SERVING = `${SECRETS}/ack-role-resolver-webhook-tls`;
export const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/ack-role-resolver-certificates`;
export const CONFIGURATIONS = ["mutating", "validating"].map((kind) => (
  `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/ack-role-resolver`
));
export const MERGE_PATCH = { headers: { "content-type": "application/merge-patch+json" } };
export const JSON_PATCH = { headers: { "content-type": "application/json-patch+json" } };

export async function read(cluster: Cluster, path: string): Promise<JsonObject> {
  const { body } = await cluster.request("GET", path);
  return isJsonObject(body) ? body : {};
}

/** Returns an entry of a Secret as text. Default: of the Secret that contains the CA. */
export async function secretText(cluster: Cluster, key: string, path = SECRET): Promise<string> {
  return Buffer.from(stringAt(await read(cluster, path), "data", key) ?? "", "base64").toString("utf8");
}

/** Returns the different caBundles of all webhooks in a configuration, as PEM. */
export async function bundlesOf(cluster: Cluster, path: string): Promise<string[]> {
  const { webhooks } = await read(cluster, path);
  const texts = (Array.isArray(webhooks) ? webhooks : []).map((one) => stringAt(one, "clientConfig", "caBundle") ?? "");
  return [...new Set(texts)].map((text) => Buffer.from(text, "base64").toString("utf8"));
}

/** Returns the caBundle of the first webhook in a configuration, as PEM. */
export async function bundleOf(cluster: Cluster, path: string): Promise<string> {
  const [first = ""] = await bundlesOf(cluster, path);
  return first;
}
