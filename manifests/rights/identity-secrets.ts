import type { V1Role } from "@kubernetes/client-node";
import { WEBHOOK } from "../installation.ts";
import { LIST, namespacedRole, roleBinding } from "./role-objects.ts";
import { identitySecretsRole } from "./sidecars.ts";

/** The Role that allows the webhook to list the Secrets in the namespace of `--identity-secret-namespace`. */
const WEBHOOK_SECRETS_ROLE = `${WEBHOOK.serviceAccount}-identity-secrets`;

/**
 * Returns the objects that allow sidecars to read the Secrets of static identities, and the webhook to check their
 * metadata. Users bind the Role of the sidecars.
 */
export function identitySecretObjects(
  { namespace, secretNamespace }: { readonly namespace: string; readonly secretNamespace: string },
): object[] {
  const webhookBinding = roleBinding(WEBHOOK_SECRETS_ROLE, secretNamespace, namespace);
  return [identitySecretsRole(secretNamespace), webhookSecretsRole(secretNamespace), webhookBinding];
}

/** The webhook requests only metadata, but RBAC cannot limit the right to list Secrets to their metadata. */
function webhookSecretsRole(namespace: string): V1Role {
  return namespacedRole(WEBHOOK_SECRETS_ROLE, namespace, [{ apiGroups: [""], resources: ["secrets"], verbs: LIST }]);
}
