import type { V1ClusterRole, V1Role } from "@kubernetes/client-node";
import {
  CONTROLLER_IDENTITY, identityPlural, INFRASTRUCTURE_GROUP, REFERRER_KINDS,
} from "../shared/contract/capa-kinds.ts";
import { knownGroups } from "../shared/contract/ack-groups.ts";
import { WEBHOOK } from "../shared/contract/installation.ts";
import {
  clusterBinding, clusterRole, namespacedRole, roleBinding, rulesOf, WRITE_EVENTS,
} from "./rights/role-objects.ts";
import type { WebhookOptions } from "./webhooks.ts";
import { lease } from "./installation-objects.ts";

/**
 * The ClusterRole that allows the webhook to patch ACK resources and clusters, and to write Events, and the Role that
 * allows it to renew its Lease.
 */
const RECONCILER_ROLE = "ack-role-resolver-reconciler";

/** The ClusterRole that allows the webhook to create the identity of `--auto-controller-identity`. */
const CONTROLLER_IDENTITY_ROLE = "ack-role-resolver-controller-identity";

type ReconcilingOptions = Pick<WebhookOptions, "namespace" | "extraGroups">;

/**
 * Returns the objects that a webhook with `--namespace` needs. RBAC cannot limit a patch to annotations, nor exclude
 * subresources from `*`. The policy for the webhook's service account denies all other changes of these objects.
 */
export function reconcilingObjects({ namespace, extraGroups }: ReconcilingOptions): readonly object[] {
  return [
    lease(WEBHOOK.lease, namespace), leaseRole(namespace), roleBinding(RECONCILER_ROLE, namespace, namespace),
    reconcilerRole(extraGroups), clusterBinding(RECONCILER_ROLE, RECONCILER_ROLE, namespace),
  ];
}

/**
 * Returns the role that allows patching the resources of every ACK group, as `resourcesRole` allows reading them, and
 * the objects that refer to CAPA identities, but no identity. The role also allows writing Events in all namespaces,
 * because an Event is in the namespace of its resource.
 */
export function reconcilerRole(extraGroups: readonly string[]): V1ClusterRole {
  return clusterRole(RECONCILER_ROLE, [
    { apiGroups: knownGroups(extraGroups), resources: ["*"], verbs: ["patch"] },
    ...rulesOf(REFERRER_KINDS, ["patch"]),
    WRITE_EVENTS,
  ]);
}

/** Returns the role that a webhook with `--auto-controller-identity` needs, and its binding. */
export function controllerIdentityObjects({ namespace }: Pick<WebhookOptions, "namespace">): readonly object[] {
  return [
    // RBAC cannot limit `create` to a name. The policy for the webhook's service account does.
    clusterRole(CONTROLLER_IDENTITY_ROLE, [{
      apiGroups: [INFRASTRUCTURE_GROUP], resources: [identityPlural(CONTROLLER_IDENTITY)], verbs: ["create"],
    }]),
    clusterBinding(CONTROLLER_IDENTITY_ROLE, CONTROLLER_IDENTITY_ROLE, namespace),
  ];
}

/** Returns the role that allows reading and renewing the Lease. */
export function leaseRole(namespace: string): V1Role {
  return namespacedRole(RECONCILER_ROLE, namespace, [{
    apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: [WEBHOOK.lease],
    verbs: ["get", "update"],
  }]);
}
