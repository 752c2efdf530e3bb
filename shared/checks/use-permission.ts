import { identityKindOf, identityPlural, INFRASTRUCTURE_GROUP } from "../contract/capa-kinds.ts";
import type { IdentityReference } from "../model/identity.ts";

/** Returns the RBAC rule that permits the use of the selector. */
export function selectorUseRule(selector: string): string {
  return `apiGroups: [services.k8s.aws], resources: [iamroleselectors], resourceNames: [${selector}], verbs: [use]`;
}

/** Returns a fix that grants the RBAC rule to the requester in the namespace. */
export function useFix(rule: string, namespace: string): string {
  return `create a Role in namespace ${namespace} with the rule ${rule}, `
    + "and a RoleBinding in that namespace that grants it to the requester";
}

/** Returns a fix that grants the RBAC rule to the requester in every namespace, also in one that does not exist yet. */
export function useEverywhereFix(rule: string): string {
  return `create a ClusterRole with the rule ${rule}, `
    + "and a ClusterRoleBinding that grants it to the requester";
}

/** Returns the RBAC rule that permits the use of the identity. Null stands for any identity. */
export function identityUseRule(reference: IdentityReference | null): string {
  const kind = reference === null ? null : identityKindOf(reference.kind);
  const resources = kind === null ? "KINDS" : identityPlural(kind);
  const name = reference?.name ?? "NAME";
  return `apiGroups: [${INFRASTRUCTURE_GROUP}], resources: [${resources}], resourceNames: [${name}], verbs: [use]`;
}
