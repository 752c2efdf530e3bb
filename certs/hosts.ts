import { readFile } from "node:fs/promises";
import { WEBHOOK } from "../shared/core/installation.ts";

/** The file in which Kubernetes tells a Pod its namespace. */
const NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/** Returns the name that the API server calls: the first DNS name of the webhook's Service. */
function serviceHost(namespace: string): string {
  return `${WEBHOOK.service.name}.${namespace}.svc`;
}

/** Returns the DNS names of the webhook's Service in the namespace. */
export function serviceHosts(namespace: string): readonly string[] {
  return [serviceHost(namespace), `${serviceHost(namespace)}.cluster.local`];
}

/** Returns the DNS name or IP address of a URL, without the brackets of IPv6. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
}

/**
 * Returns the names for which a certificate of --tls-dir must be valid: the host of --url, else the name that the API
 * server calls if the webhook runs in a Pod, else none.
 */
export async function verifiedHosts(
  url: string | null, namespaceFile = NAMESPACE_FILE,
): Promise<readonly string[]> {
  if (url !== null) return [hostOf(url)];
  const namespace = await podNamespace(namespaceFile);
  return namespace === null ? [] : [serviceHost(namespace)];
}

/** Returns the namespace of the Pod in which the webhook runs, or null if it runs outside a Pod. */
export async function podNamespace(namespaceFile = NAMESPACE_FILE): Promise<string | null> {
  const namespace = (await readFile(namespaceFile, "utf8").catch(() => "")).trim();
  return namespace === "" ? null : namespace;
}
