import type { DecisionSettings } from "./context.ts";
import { matchesPattern } from "../formats/names.ts";

export type ProtectionSettings = Pick<
  DecisionSettings,
  | "installationNamespaces" | "ackSystemNamespace" | "controllerServiceAccounts" | "controllerUsers"
  | "capaServiceAccounts" | "identitySecretNamespace"
>;

/** The namespace of the controllers of Kubernetes, and of `aws-auth`, with which EKS maps IAM roles to users. */
export const SYSTEM_NAMESPACE = "kube-system";
/** The start of the user name of a service account. The namespace and the name follow. */
export const ACCOUNT_PREFIX = "system:serviceaccount:";

/** Returns what a protected namespace belongs to, such as `ACK controllers`; null if it is not protected. */
export function ownerOfNamespace(namespace: string, settings: ProtectionSettings): string | null {
  const { installationNamespaces, ackSystemNamespace, identitySecretNamespace } = settings;
  const { controllerServiceAccounts, controllerUsers, capaServiceAccounts } = settings;
  const isIn = (account: string): boolean => account.startsWith(`${namespace}/`);
  if (installationNamespaces.includes(namespace)) return "this webhook";
  if (namespace === ackSystemNamespace || controllerServiceAccounts.some(isIn)) return "ACK controllers";
  if (controllerUsers.some((pattern) => isOfNamespace(pattern, namespace))) return "ACK controllers";
  if (namespace === identitySecretNamespace || capaServiceAccounts.some(isIn)) return "Cluster API";
  return namespace === SYSTEM_NAMESPACE ? "Kubernetes" : null;
}

/**
 * Returns whether the pattern names service accounts in the namespace. A pattern of service accounts in any namespace,
 * such as `system:serviceaccount:*:ack-s3`, names no namespace.
 */
function isOfNamespace(pattern: string, namespace: string): boolean {
  if (!pattern.startsWith(ACCOUNT_PREFIX)) return false;
  const [ofPattern = ""] = pattern.slice(ACCOUNT_PREFIX.length).split(":", 1);
  return !/^\**$/.test(ofPattern) && matchesPattern(ofPattern, namespace);
}
