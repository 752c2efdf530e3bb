import type { RbacV1Subject, V1ObjectMeta, V1PolicyRule } from "@kubernetes/client-node";
import { CERTIFICATES, type Component, labelsOf, PRODUCT, WEBHOOK } from "../shared/core/installation.ts";
import type { RightsOptions } from "./part.ts";
import { groupsOf, kindsOf } from "./webhooks.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
export const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/** The rights to create Events, and to update their series. An Event is in the namespace of its object. */
const WRITE_EVENTS: V1PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] };

/** Returns the rules of a role: the verbs that the rows of the kinds state. */
export function rightsOf(
  roleName: string, { ackGroups = [], ...installed }: Partial<Pick<RightsOptions, "ackGroups" | "without">> = {},
): V1PolicyRule[] {
  const rights = kindsOf(installed).flatMap(({ rights: verbs, served, watch }) => {
    const granted = verbs?.[roleName];
    if (granted === undefined) return [];
    return (served?.groups ?? []).map((one) => ({ ...one, verbs: [...granted], resourceNames: watch?.names }));
  });
  const byGroup = Map.groupBy(rights, ({ group, verbs, resourceNames }) => [group, verbs, resourceNames].join(" "));
  return [...byGroup.values()].flatMap((ofGroup) => ofGroup.slice(0, 1).map(({ group, verbs, resourceNames }) => ({
    apiGroups: groupsOf(group, ackGroups),
    resources: ofGroup.flatMap(({ plurals }) => plurals).toSorted(),
    ...(resourceNames && { resourceNames: [...resourceNames] }),
    verbs,
  })));
}

const CONFIG_MAPS = { apiGroups: [""], resources: ["configmaps"] };

/** Returns the rights to read. The reader role is also for the service accounts of controllers that have a sidecar. */
export function readerRights(options: RightsOptions): object[] {
  const account = webhookAccount(options);
  return [
    // A ClusterRole, so that the bindings of sidecars in other namespaces also grant the right to the profile.
    clusterRole("reader", [
      ...rightsOf("reader"), { ...CONFIG_MAPS, resourceNames: [WEBHOOK.profile], verbs: ["list", "watch"] },
    ]),
    clusterBinding("webhook", "reader", account),
    // RBAC has no wildcard for part of a group name, and new releases of controllers add kinds
    // (docs/decisions/0007-rights-to-read-resources.md).
    ...clusterRoleWithBinding("resources", rightsOf("resources", options), account),
  ];
}

/** The webhook writes the object often. Flux would report each write as a drift. */
const WRITTEN_OFTEN = { "helm.toolkit.fluxcd.io/driftDetection": "disabled" };

/** Returns the ConfigMaps of the webhook, its rights to them, and the roles of users. */
export function commonRights(options: RightsOptions): object[] {
  const { namespace, sidecarProfile: profile } = options;
  return [
    clusterRole("events", [WRITE_EVENTS]),
    // Users bind these roles. An owner of selectors decides which role any resource in the cluster uses.
    clusterRole("selector-owner", rightsOf("selector-owner")), clusterRole("tenant", rightsOf("tenant")),
    configMap(inNamespace(WEBHOOK.profile, namespace, "webhook"), { data: profile }),
    // RBAC cannot limit the right to create ConfigMaps to one name. An apply does not change the data.
    configMap({
      name: WEBHOOK.pendingWrites, namespace, labels: labelsOf("webhook"), annotations: WRITTEN_OFTEN,
    }),
    ...roleWithBinding("pending-writes", namespace, [
      { ...CONFIG_MAPS, resourceNames: [WEBHOOK.pendingWrites], verbs: ["list", "watch", "update"] },
    ], webhookAccount(options)),
  ];
}

/** What counts the denials of the profile `observe`. */
export function observationRights(options: RightsOptions): object[] {
  const { namespace } = options;
  return [
    configMap({
      name: WEBHOOK.observedDenials, namespace, labels: labelsOf("webhook"), annotations: WRITTEN_OFTEN,
    }),
    ...roleWithBinding("observed-denials", namespace, [
      { ...CONFIG_MAPS, resourceNames: [WEBHOOK.observedDenials], verbs: ["get", "update"] },
    ], webhookAccount(options)),
  ];
}

/**
 * The rights of a webhook with `--namespace`. The programs create their Leases: helm would delete a Lease before the
 * Deployment, a Pod that still ends would create it again, and the next `helm install` would fail. RBAC cannot limit a
 * patch to annotations, nor exclude subresources from `*`. The policy for the webhook's service account denies all
 * other changes of these objects.
 */
export function reconcilingRights(options: RightsOptions): object[] {
  const { namespace } = options;
  const account = webhookAccount(options);
  return [
    ...roleWithBinding("reconciler", namespace, [{
      ...LEASES, resourceNames: [WEBHOOK.lease], verbs: ["get", "update"],
    }, { ...LEASES, verbs: ["create"] }], account),
    ...clusterRoleWithBinding("reconciler", [...rightsOf("reconciler", options), WRITE_EVENTS], account),
  ];
}

const LEASES = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };

/**
 * The account of `certs manage`, its rights and its Secrets: one for the CA, which only `certs manage` reads, and one
 * for the serving certificate, which the Pods of the webhook mount. The Pods of the webhook do not have this account: a
 * client that may patch a MutatingWebhookConfiguration can change every object that is written to the cluster. RBAC
 * cannot limit `create` to a name, and without it a deleted Secret would be missing until the next apply.
 */
export function certificateRights({ namespace }: RightsOptions): object[] {
  const account = { kind: "ServiceAccount", name: CERTIFICATES, namespace };
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  const names = [CERTIFICATES, WEBHOOK.certificate];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: inNamespace(CERTIFICATES, namespace, "certificates") },
    ...names.map((name) => (
      { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata: inNamespace(name, namespace, "certificates") }
    )),
    ...roleWithBinding("certificates", namespace, [
      { ...secrets, resourceNames: names, verbs: ["list", "watch", "update"] },
      { ...LEASES, resourceNames: [CERTIFICATES], verbs: ["get", "update"] },
      { ...secrets, verbs: ["create"] },
      // The names of EndpointSlices are generated.
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
      { ...LEASES, verbs: ["create"] },
      WRITE_EVENTS,
    ], account),
    ...clusterRoleWithBinding("ca-bundle", [{
      apiGroups: ["admissionregistration.k8s.io"],
      resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
      resourceNames: [WEBHOOK.configuration],
      verbs: ["list", "watch", "patch"],
    }], account),
  ];
}

/** Returns the rights to access reviews, which `--check ACK-09=deny` requires. */
export function accessReviewRights(options: RightsOptions): object[] {
  return clusterRoleWithBinding("access-reviews", [
    { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  ], webhookAccount(options));
}

/** Returns the whole name of a role. */
export function nameOf(role: string): string {
  return `${PRODUCT}-${role}`;
}

export function inNamespace(name: string, namespace: string, component: Component): V1ObjectMeta {
  return { name, namespace, labels: labelsOf(component) };
}

export function configMap(metadata: V1ObjectMeta, content: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata, ...content };
}

export function webhookAccount(
  { namespace, serviceAccount = WEBHOOK.serviceAccount }: Pick<RightsOptions, "namespace" | "serviceAccount">,
): RbacV1Subject {
  return { kind: "ServiceAccount", name: serviceAccount, namespace };
}

export function clusterRole(name: string, rules: readonly V1PolicyRule[]): object {
  return rbacObject("ClusterRole", { name: nameOf(name), labels: labelsOf("webhook") }, { rules });
}

export function clusterBinding(name: string, roleName: string, subject: RbacV1Subject): object {
  const roleRef = { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: nameOf(roleName) };
  const metadata = { name: nameOf(name), labels: labelsOf("webhook") };
  return rbacObject("ClusterRoleBinding", metadata, { roleRef, subjects: [subject] });
}

export function clusterRoleWithBinding(name: string, rules: readonly V1PolicyRule[], subject: RbacV1Subject): object[] {
  return [clusterRole(name, rules), clusterBinding(name, name, subject)];
}

export function namespacedRole(name: string, namespace: string, rules: readonly V1PolicyRule[]): object {
  return rbacObject("Role", inNamespace(nameOf(name), namespace, "webhook"), { rules });
}

export function roleWithBinding(
  name: string, namespace: string, rules: readonly V1PolicyRule[], subject: RbacV1Subject,
): object[] {
  const roleRef = { apiGroup: RBAC_GROUP, kind: "Role", name: nameOf(name) };
  const metadata = inNamespace(nameOf(name), namespace, "webhook");
  const binding = rbacObject("RoleBinding", metadata, { roleRef, subjects: [subject] });
  return [namespacedRole(name, namespace, rules), binding];
}

function rbacObject(kind: string, metadata: V1ObjectMeta, content: object): object {
  return { apiVersion: RBAC_VERSION, kind, metadata, ...content };
}
