// The names in the random inventories. The alphabets are small, so that objects often refer to each other.

export const ACCOUNTS = ["111122223333", "444455556666", "777788889999"] as const;
export const CONTROLLER_ACCOUNT = "777788889999";
export const TEAMS = ["team-a", "team-b", "team-c", "payments", "sandbox"] as const;
export const CLUSTER_NAMESPACES = ["capi-one", "capi-two"] as const;
/** The Namespace `ending` is Terminating. */
export const NAMESPACES = [...TEAMS, "ending", "ack-system", "kube-system", ...CLUSTER_NAMESPACES] as const;
export const REGIONS = ["eu-west-1", "us-east-1"] as const;

export interface ResourceKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
}

export const RESOURCE_KINDS: readonly ResourceKind[] = [
  { group: "s3.services.k8s.aws", kind: "Bucket", plural: "buckets" },
  { group: "sqs.services.k8s.aws", kind: "Queue", plural: "queues" },
  { group: "dynamodb.services.k8s.aws", kind: "Table", plural: "tables" },
  { group: "iam.services.k8s.aws", kind: "Role", plural: "roles" },
  { group: "kms.services.k8s.aws", kind: "Key", plural: "keys" },
];

export const INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io";
export const CONTROL_PLANE = "controlplane.cluster.x-k8s.io";
export const CLUSTER_GROUP = "cluster.x-k8s.io";
export const ROLE_IDENTITIES = ["hub", "workload", "team-a", "deep", "lost"] as const;
export const IDENTITIES = [
  "controller", "static/s", ...ROLE_IDENTITIES.map((name) => `role/${name}`), "account/test",
] as const;
/** The names of clusters, and of the objects that belong to them. */
export const CLUSTERS = ["prod", "dev", "blue"] as const;

/** Returns the account that most resources of the namespace use. */
export function accountOf(namespace: string): string {
  return namespace === "team-b" || namespace === "payments" ? ACCOUNTS[1] : ACCOUNTS[0];
}

export function roleIn(account: string, name: string): string {
  return `arn:aws:iam::${account}:role/${name}`;
}

const SERVICE_ACCOUNT = "system:serviceaccount:";
const AUTHENTICATED = ["system:authenticated"];

interface UserInfo {
  readonly username: string;
  readonly groups: readonly string[];
}

function serviceAccount(namespace: string, name: string): UserInfo {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, ...AUTHENTICATED];
  return { username: `${SERVICE_ACCOUNT}${namespace}:${name}`, groups };
}

/** Who sends a review. Some settings name the waiver user and the ACK controller, others do not. */
export const USERS = {
  tenant: { username: "alice@example.com", groups: ["team-a", ...AUTHENTICATED], uid: "u-alice" },
  admin: { username: "kubernetes-admin", groups: ["system:masters", ...AUTHENTICATED] },
  waiver: { username: "platform@example.com", groups: AUTHENTICATED },
  deployer: serviceAccount("argocd", "argocd-application-controller"),
  ack: serviceAccount("ack-system", "ack-s3-controller"),
  eks: { username: "arn:aws:sts::777788889999:assumed-role/AmazonEKSCapability/ack", groups: AUTHENTICATED },
  capa: serviceAccount("capa-system", "capa-controller-manager"),
  capi: serviceAccount("capi-system", "capi-manager"),
  namespaces: serviceAccount("kube-system", "namespace-controller"),
  collector: serviceAccount("kube-system", "generic-garbage-collector"),
  anonymous: {},
} as const;
export type User = keyof typeof USERS;
