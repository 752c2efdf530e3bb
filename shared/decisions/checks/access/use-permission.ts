import { identityKindOf, identityPlural, INFRASTRUCTURE_GROUP } from "../../identities/kinds.ts";
import type { IdentityReference } from "../../identities/identity.ts";

/** Returns the RBAC rule that permits the use of the selector. */
export function useRule(selector: string): string {
  return `apiGroups: [services.k8s.aws], resources: [iamroleselectors], resourceNames: [${selector}], verbs: [use]`;
}

/** Returns a fix that permits the requester to use the selector in the namespace. */
export function useFix(selector: string, namespace: string): string {
  return `create a Role in namespace ${namespace} with the rule ${useRule(selector)}, `
    + "and a RoleBinding in that namespace that grants it to the requester";
}

/**
 * Returns a fix that permits the requester to use the selector in every namespace, including namespaces that do not
 * exist yet.
 */
export function useEverywhereFix(selector: string): string {
  return `create a ClusterRole with the rule ${useRule(selector)}, `
    + "and a ClusterRoleBinding that grants it to the requester";
}

/** Returns the RBAC rule that permits the use of the identity. Null stands for any identity. */
export function identityUseRule(reference: IdentityReference | null): string {
  const kind = reference === null ? null : identityKindOf(reference.kind);
  const resources = kind === null ? "KINDS" : identityPlural(kind);
  const name = reference?.name ?? "NAME";
  return `apiGroups: [${INFRASTRUCTURE_GROUP}], resources: [${resources}], resourceNames: [${name}], verbs: [use]`;
}

/** Returns a fix that permits the requester to use the identity in the namespace. */
export function identityUseFix(reference: IdentityReference, namespace: string): string {
  return `create a Role in namespace ${namespace} with the rule ${identityUseRule(reference)}, `
    + "and a RoleBinding in that namespace that grants it to the requester";
}
