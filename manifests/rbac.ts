import type { RbacV1Subject, V1ObjectMeta, V1PolicyRule } from "@kubernetes/client-node";
import {
  CONTROL_PLANE_GROUP, CONTROLLER_IDENTITY, identityPlural, INFRASTRUCTURE_GROUP, SERVICE_ACCOUNT_IDENTITY,
} from "../shared/core/capa-kinds.ts";
import { CLUSTER_GROUP } from "../shared/core/cluster-parts.ts";
import {
  CERTIFICATES, type Component, IDENTITY_ACCOUNTS, labelsOf, PRODUCT, WEBHOOK,
} from "../shared/core/installation.ts";
import type { RoleName } from "../shared/core/kind.ts";
import { KINDS } from "../shared/kinds.ts";
import { groupsOf, type WebhookOptions } from "./webhooks.ts";

type AccountOptions = Pick<WebhookOptions, "namespace" | "serviceAccount">;

export interface RightsOptions extends AccountOptions, Pick<WebhookOptions, "ackSystemNamespace" | "ackGroups"> {
  /** The namespace of the Secrets of static identities. */
  readonly identitySecretNamespace: string;
  /** What the sidecars learn from the ConfigMap of the profile, or a template of it. */
  readonly sidecarProfile: Readonly<Record<string, string>> | string;
}

const RBAC_GROUP = "rbac.authorization.k8s.io";
export const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/** The rights to create Events, and to update their series. An Event is in the namespace of its object. */
const WRITE_EVENTS: V1PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] };

/** Returns the rules of a role: the verbs that the rows of the kinds state. */
export function rightsOf(roleName: RoleName, ackGroups: readonly string[] = []): V1PolicyRule[] {
  const rights = KINDS.flatMap(({ rights: verbs, served, watch }) => {
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

type RightsPart =
  | "inventory" | "reconciling" | "controllerIdentity" | "certificates" | "accessReviews" | "injection"
  | "identitySecrets" | "identityRoles";

/**
 * Returns the roles, their bindings, and the objects that no right allows the programs to create themselves. Only the
 * part `inventory` is always necessary.
 */
export function rightsParts(options: RightsOptions): Readonly<Record<RightsPart, readonly object[]>> {
  const controllers = {
    apiGroup: RBAC_GROUP, kind: "Group", name: `system:serviceaccounts:${options.ackSystemNamespace}`,
  };
  return {
    inventory: inventoryRights(options), reconciling: reconcilingRights(options),
    certificates: certificateRights(options), identitySecrets: identitySecretRights(options),
    identityRoles: identityRoles(),
    // RBAC cannot limit `create` to a name. The policy for the webhook's service account does.
    controllerIdentity: clusterRoleWithBinding("controller-identity", [
      { apiGroups: [INFRASTRUCTURE_GROUP], resources: [identityPlural(CONTROLLER_IDENTITY)], verbs: ["create"] },
    ], webhookAccount(options)),
    // `--check ACK-09=deny` requires this right.
    accessReviews: clusterRoleWithBinding("access-reviews", [
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ], webhookAccount(options)),
    // Controllers can read selectors and namespaces also without this binding: their charts grant this.
    injection: [
      clusterBinding("sidecars", "reader", controllers), clusterBinding("events", "events", controllers),
      // For the Events about sidecars that do not follow the profile. RBAC cannot limit the right to labels.
      ...roleWithBinding("injected-pods", options.ackSystemNamespace, [
        { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
      ], webhookAccount(options)),
    ],
  };
}

/** The reader role is also for the service accounts of controllers that have a sidecar. */
function inventoryRights(options: RightsOptions): object[] {
  const { namespace, ackSystemNamespace, ackGroups, sidecarProfile: profile } = options;
  const account = webhookAccount(options);
  const configMaps = { apiGroups: [""], resources: ["configmaps"] };
  return [
    // A ClusterRole, so that the bindings of sidecars in other namespaces also grant the right to the profile.
    clusterRole("reader", [
      ...rightsOf("reader"), { ...configMaps, resourceNames: [WEBHOOK.profile], verbs: ["list", "watch"] },
    ]),
    clusterBinding("webhook", "reader", account),
    // RBAC has no wildcard for part of a group name, and new releases of controllers add kinds
    // (docs/decisions/0007-rights-to-read-resources.md).
    ...clusterRoleWithBinding("resources", rightsOf("resources", ackGroups), account),
    clusterRole("identities", rightsOf("identities")),
    ...roleWithBinding("carm-maps", ackSystemNamespace, rightsOf("carm-maps"), account),
    clusterRole("events", [WRITE_EVENTS]),
    // Users bind these roles. An owner of selectors decides which role any resource in the cluster uses.
    clusterRole("selector-owner", rightsOf("selector-owner")), clusterRole("tenant", rightsOf("tenant")),
    configMap(inNamespace(WEBHOOK.profile, namespace, "webhook"), { data: profile }),
    // RBAC cannot limit the right to create ConfigMaps to one name. An apply does not change the data.
    // The webhook writes it often. Flux would report each write as a drift.
    configMap({
      name: WEBHOOK.pendingWrites, namespace, labels: labelsOf("webhook"),
      annotations: { "helm.toolkit.fluxcd.io/driftDetection": "disabled" },
    }),
    ...roleWithBinding("pending-writes", namespace, [
      { ...configMaps, resourceNames: [WEBHOOK.pendingWrites], verbs: ["list", "watch", "update"] },
    ], account),
  ];
}

/**
 * The rights of a webhook with `--namespace`. The programs create their Leases: helm would delete a Lease before the
 * Deployment, a Pod that still ends would create it again, and the next `helm install` would fail. RBAC cannot limit a
 * patch to annotations, nor exclude subresources from `*`. The policy for the webhook's service account denies all
 * other changes of these objects.
 */
function reconcilingRights(options: RightsOptions): object[] {
  const { namespace, ackGroups } = options;
  const account = webhookAccount(options);
  return [
    ...roleWithBinding("reconciler", namespace, [{
      ...LEASES, resourceNames: [WEBHOOK.lease], verbs: ["get", "update"],
    }, { ...LEASES, verbs: ["create"] }], account),
    ...clusterRoleWithBinding("reconciler", [...rightsOf("reconciler", ackGroups), WRITE_EVENTS], account),
  ];
}

const LEASES = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };

/**
 * The account of `certs manage`, its rights and its Secrets: one for the CA, which only `certs manage` reads, and one
 * for the serving certificate, which the Pods of the webhook mount. The Pods of the webhook do not have this account: a
 * client that may patch a MutatingWebhookConfiguration can change every object that is written to the cluster. RBAC
 * cannot limit `create` to a name, and without it a deleted Secret would be missing until the next apply.
 */
function certificateRights({ namespace }: RightsOptions): object[] {
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

/** Users bind the Role of the sidecars. The webhook reads only the metadata of the Secrets, and their accounts. */
function identitySecretRights(options: RightsOptions): object[] {
  const { identitySecretNamespace } = options;
  const ofWebhook = rightsOf("webhook-identity-secrets");
  const accounts = inNamespace(IDENTITY_ACCOUNTS, identitySecretNamespace, "webhook");
  return [
    // RBAC cannot limit the right to create ConfigMaps to one name. An apply does not change the data.
    configMap(accounts),
    namespacedRole("identity-secrets", identitySecretNamespace, rightsOf("identity-secrets")),
    ...roleWithBinding("webhook-identity-secrets", identitySecretNamespace, ofWebhook, webhookAccount(options)),
  ];
}

/**
 * The kinds that a cluster also needs, and that refer to no identity. Source: kubernetes-sigs/cluster-api v1.10 and
 * cluster-api-provider-aws v2.10.
 */
const OTHER_CLUSTER_KINDS: Readonly<Record<string, readonly string[]>> = {
  [INFRASTRUCTURE_GROUP]: ["awsmachinetemplates", "awsmanagedclusters", "awsmanagedclustertemplates", "rosaclusters"],
  [CONTROL_PLANE_GROUP]: ["kubeadmcontrolplanetemplates"],
  [CLUSTER_GROUP]: ["machinehealthchecks"],
  "bootstrap.cluster.x-k8s.io": ["eksconfigs", "eksconfigtemplates", "kubeadmconfigs", "kubeadmconfigtemplates"],
};

/**
 * The roles of the users of CAPA, which users bind. They have no label that aggregates them to the roles `admin` or
 * `edit` of Kubernetes: everyone who has one of these could then create clusters, or use each identity.
 */
function identityRoles(): object[] {
  const ofTenant = rightsOf("identity-tenant");
  const verbs = ofTenant[0]?.verbs ?? [];
  const others = Object.entries(OTHER_CLUSTER_KINDS).map(([group, plurals]) => (
    { apiGroups: [group], resources: [...plurals], verbs }
  ));
  const own = { apiGroups: [INFRASTRUCTURE_GROUP], resources: [identityPlural(SERVICE_ACCOUNT_IDENTITY)] };
  return [
    clusterRole("identity-owner", rightsOf("identity-owner")), clusterRole("identity-user", rightsOf("identity-user")),
    // The identities of a namespace belong to it, as its ServiceAccounts do.
    clusterRole("identity-tenant", [...ofTenant, ...others, { ...own, verbs: [...verbs, "use"] }]),
  ];
}

/** Returns the whole name of a role. */
export function nameOf(role: string): string {
  return `${PRODUCT}-${role}`;
}

function inNamespace(name: string, namespace: string, component: Component): V1ObjectMeta {
  return { name, namespace, labels: labelsOf(component) };
}

function configMap(metadata: V1ObjectMeta, content: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata, ...content };
}

function webhookAccount({ namespace, serviceAccount = WEBHOOK.serviceAccount }: AccountOptions): RbacV1Subject {
  return { kind: "ServiceAccount", name: serviceAccount, namespace };
}

function clusterRole(name: string, rules: readonly V1PolicyRule[]): object {
  return rbacObject("ClusterRole", { name: nameOf(name), labels: labelsOf("webhook") }, { rules });
}

function clusterBinding(name: string, roleName: string, subject: RbacV1Subject): object {
  const roleRef = { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: nameOf(roleName) };
  const metadata = { name: nameOf(name), labels: labelsOf("webhook") };
  return rbacObject("ClusterRoleBinding", metadata, { roleRef, subjects: [subject] });
}

function clusterRoleWithBinding(name: string, rules: readonly V1PolicyRule[], subject: RbacV1Subject): object[] {
  return [clusterRole(name, rules), clusterBinding(name, name, subject)];
}

function namespacedRole(name: string, namespace: string, rules: readonly V1PolicyRule[]): object {
  return rbacObject("Role", inNamespace(nameOf(name), namespace, "webhook"), { rules });
}

function roleWithBinding(
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
