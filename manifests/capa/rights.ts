import {
  CONTROL_PLANE_GROUP, CONTROLLER_IDENTITY, identityPlural, INFRASTRUCTURE_GROUP, SERVICE_ACCOUNT_IDENTITY,
} from "../../shared/core/capa-kinds.ts";
import { CLUSTER_GROUP } from "../../shared/capa/cluster-parts.ts";
import { IDENTITY_ACCOUNTS } from "../../shared/core/installation.ts";
import type { Part, RightsOptions } from "../part.ts";
import {
  clusterRole, clusterRoleWithBinding, configMap, inNamespace, namespacedRole, rightsOf, roleWithBinding,
  webhookAccount,
} from "../rbac.ts";
import { serviceAccountIdentityCRD } from "./identity-crd.ts";

/** The role of sidecars that serve CAPA, which users bind. */
export const IDENTITY_READER: Part = { objects: () => [clusterRole("identities", rightsOf("identities"))] };

/** The right to create the identity of `--auto-controller-identity`. */
export const CONTROLLER_IDENTITY_RIGHTS: Part = {
  isPrinted: ({ autoControllerIdentity = [] }) => autoControllerIdentity.length > 0,
  value: "and .Values.reconciling .Values.autoControllerIdentity.enabled",
  // RBAC cannot limit `create` to a name. The policy for the webhook's service account does.
  objects: (options) => clusterRoleWithBinding("controller-identity", [
    { apiGroups: [INFRASTRUCTURE_GROUP], resources: [identityPlural(CONTROLLER_IDENTITY)], verbs: ["create"] },
  ], webhookAccount(options)),
};

/** The rights to the Secrets of identities, the roles of the users of CAPA, and the definition of an identity. */
export const CAPA: readonly Part[] = [
  {
    isPrinted: ({ identitySecretNamespace = null }) => identitySecretNamespace !== null,
    value: ".Values.identitySecretNamespace", objects: identitySecretRights,
  },
  {
    isPrinted: () => false, value: ".Values.serviceAccountIdentityCRD", template: "identity-crd",
    objects: () => [keptDefinition()],
  },
  { isPrinted: () => false, value: ".Values.identityRoles", template: "identity-roles", objects: identityRoles },
];

/** Returns the definition. helm uninstall would otherwise delete the identities of all namespaces. */
function keptDefinition(): object {
  const crd = serviceAccountIdentityCRD();
  return { ...crd, metadata: { ...crd.metadata, annotations: { "helm.sh/resource-policy": "keep" } } };
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
export function identityRoles(): object[] {
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
