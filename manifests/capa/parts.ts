import {
  CAPA_VERSION, CONTROL_PLANE_GROUP, CONTROLLER_IDENTITY, identityPlural, INFRASTRUCTURE_GROUP,
  SERVICE_ACCOUNT_IDENTITY,
} from "../../shared/core/capa-kinds.ts";
import { CLUSTER_GROUP } from "../../shared/capa/cluster-parts.ts";
import { IDENTITY_ACCOUNTS } from "../../shared/core/installation.ts";
import type { Part, RightsOptions } from "../part.ts";
import {
  clusterRole, clusterRoleWithBinding, configMap, inNamespace, namespacedRole, rightsOf, roleWithBinding,
  webhookAccount,
} from "../rbac.ts";
import { EXPIRATION_LIMITS, MAX_AUDIENCES } from "../../shared/capa/role-session.ts";
import { DURATION_LIMITS, STS_AUDIENCE } from "../../shared/core/session.ts";
import { ARN_LENGTH } from "../../shared/formats/arn.ts";
import { type CRD, definition } from "../crds.ts";

/** The rights to identities and their Secrets, the roles of the users of CAPA, and the definition of an identity. */
export const CAPA: readonly Part[] = [
  // The role of sidecars that serve CAPA, which users bind.
  { value: ".Values.capa.enabled", objects: () => [clusterRole("identities", rightsOf("identities"))] },
  {
    isPrinted: ({ autoControllerIdentity = [] }) => autoControllerIdentity.length > 0,
    value: "and .Values.reconciling .Values.autoControllerIdentity.enabled",
    // RBAC cannot limit `create` to a name. The policy for the webhook's service account does.
    objects: (options) => clusterRoleWithBinding("controller-identity", [
      { apiGroups: [INFRASTRUCTURE_GROUP], resources: [identityPlural(CONTROLLER_IDENTITY)], verbs: ["create"] },
    ], webhookAccount(options)),
  },
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

/** The schema of the field `spec`. The fields are those of CAPA's proposal "Single Controller Multitenancy". */
const IDENTITY_SPEC = {
  type: "object",
  description: "A role that clusters in the namespace of the identity can use. The role is assumed with a token of the "
    + "ServiceAccount that has the same name and namespace (AssumeRoleWithWebIdentity).",
  required: ["roleARN"],
  properties: {
    roleARN: {
      type: "string", minLength: ARN_LENGTH.min, maxLength: ARN_LENGTH.max,
      description: "The ARN of the IAM role: arn:PARTITION:iam::ACCOUNT:role/PATH/NAME.",
    },
    sessionName: { type: "string", maxLength: 64, description: "The name of the role session." },
    durationSeconds: {
      type: "integer", format: "int32", minimum: DURATION_LIMITS.min, maximum: DURATION_LIMITS.max,
      description: "The duration of the role session.",
    },
    inlinePolicy: { type: "string", maxLength: 2048, description: "A session policy as JSON text." },
    policyARNs: {
      type: "array", maxItems: 10, items: { type: "string", maxLength: 2048 },
      description: "The ARNs of managed session policies.",
    },
    audiences: {
      type: "array", minItems: 1, maxItems: MAX_AUDIENCES, items: { type: "string", minLength: 1, maxLength: 255 },
      default: [STS_AUDIENCE], description: "The audiences of the token.",
    },
    expirationSeconds: {
      type: "integer", format: "int64", minimum: EXPIRATION_LIMITS.min, default: 86_400,
      description: "The lifetime of the token.",
    },
  },
} as const;

/** Returns the CustomResourceDefinition of AWSServiceAccountIdentity, a kind that shipped CAPA does not have. */
export function serviceAccountIdentityCRD(): CRD<object> {
  const schema = {
    type: "object",
    description: "The credentials of an IAM role that trusts a ServiceAccount of the same name and namespace.",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" }, spec: IDENTITY_SPEC,
    },
  };
  const kind = SERVICE_ACCOUNT_IDENTITY;
  const names = { kind, plural: identityPlural(kind), category: "cluster-api" };
  return definition(INFRASTRUCTURE_GROUP, names, "Namespaced", { name: CAPA_VERSION, schema, role: ".spec.roleARN" });
}
