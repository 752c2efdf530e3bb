import type { V1ClusterRole } from "@kubernetes/client-node";
import { SELECTOR_GROUP } from "../../shared/decisions/kubernetes/kinds.ts";
import { clusterRole, READ } from "./role-objects.ts";

/** The verb `deletecollection` is missing: one request could delete every selector. */
const WRITE = ["create", "update", "patch", "delete"];

/**
 * Returns the role for the users who manage IAMRoleSelectors. Such a user decides which role any resource in the
 * cluster uses, so the manifests contain no binding of the role.
 */
export function selectorOwnerRole(): V1ClusterRole {
  return clusterRole("ack-role-resolver-selector-owner", [
    { apiGroups: [SELECTOR_GROUP], resources: ["iamroleselectors"], verbs: [...READ, ...WRITE] },
  ]);
}

/**
 * Returns the role for the users who manage ACK resources in their namespaces. The role allows them to read the
 * selectors. The manifests contain no binding of the role.
 */
export function tenantRole(): V1ClusterRole {
  return clusterRole("ack-role-resolver-tenant", [
    { apiGroups: [SELECTOR_GROUP], resources: ["iamroleselectors"], verbs: READ },
  ]);
}
