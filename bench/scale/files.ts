import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Makes 20,000 files: 13 for each namespace. */
export const NAMESPACES = 1_538;
const SELECTORS_PER_TEAM = 4;
const SELECTORS_PER_NAMESPACE = 2;
const RESOURCES_PER_NAMESPACE = 10;
const ACCOUNT = "111122223333";

/**
 * Writes a Git repository with the manifests of a large platform. Each team has two namespaces, `prod` and `staging`.
 * Every namespace has ten resources. Label selectors select the namespaces: half of the namespaces have one selector
 * for all kinds, and the others have three selectors for different kinds.
 */
export function writePlatform(folder: string, namespaces: number): void {
  for (let i = 0; i < namespaces; i++) {
    const team = path.join(folder, "teams", `ns-${i}`);
    mkdirSync(team, { recursive: true });
    writeFileSync(path.join(team, "namespace.yaml"), namespace(i));
    for (let j = 0; j < RESOURCES_PER_NAMESPACE; j++) writeFileSync(path.join(team, `res-${j}.yaml`), resource(i, j));
  }
  const selectors = path.join(folder, "selectors");
  mkdirSync(selectors, { recursive: true });
  for (let i = 0; i < namespaces * SELECTORS_PER_NAMESPACE; i++) {
    writeFileSync(path.join(selectors, `s-${i}.yaml`), selector(i));
  }
}

/** Writes a change of the platform: every hundredth selector uses another role. */
export function writeChange(folder: string, namespaces: number): void {
  mkdirSync(folder, { recursive: true });
  for (let i = 0; i < namespaces * SELECTORS_PER_NAMESPACE; i += 100) {
    writeFileSync(path.join(folder, `s-${i}.yaml`), selector(i).replace(":role/ack/", ":role/ack/v2/"));
  }
}

/** The environments of a team, in the order of its namespaces. In `prod`, each kind has a selector of its own. */
const ENVIRONMENTS = ["prod", "staging"] as const;

function teamOf(namespaceIndex: number): string {
  return `team-${Math.floor(namespaceIndex / ENVIRONMENTS.length)}`;
}

function environmentOf(namespaceIndex: number): string {
  return ENVIRONMENTS[namespaceIndex % ENVIRONMENTS.length] ?? "";
}

function namespace(i: number): string {
  return `apiVersion: v1
kind: Namespace
metadata:
  name: ns-${i}
  labels:
    team: ${teamOf(i)}
    env: ${environmentOf(i)}
    pod-security.kubernetes.io/enforce: restricted
  annotations:
    services.k8s.aws/default-region: eu-west-1
`;
}

/** The API groups and kinds of the resources. Each has a selector in `prod`. */
const KINDS = [
  { group: "s3.services.k8s.aws", kind: "Bucket" },
  { group: "dynamodb.services.k8s.aws", kind: "Table" },
  { group: "sqs.services.k8s.aws", kind: "Queue" },
] as const;

function selector(i: number): string {
  const team = Math.floor(i / SELECTORS_PER_TEAM);
  const type = KINDS[i % SELECTORS_PER_TEAM];
  const types = type === undefined ? "" : `  resourceTypeSelector:
  - group: ${type.group}
    version: v1alpha1
    kind: ${type.kind}
`;
  return `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata:
  name: s-${i}
spec:
  arn: arn:aws:iam::${ACCOUNT}:role/ack/team-${team}-${type?.kind.toLowerCase() ?? "all"}
  namespaceSelector:
    names: []
    labelSelector:
      matchLabels:
        team: team-${team}
        env: ${type === undefined ? "staging" : "prod"}
${types}`;
}

/** One of the selectors. */
export const SELECTOR = selector(0);

/** Returns a resource as `kubectl get -o yaml` prints it. One of 100 resources is not synced. */
function resource(namespaceIndex: number, j: number): string {
  const { group, kind } = KINDS[j % KINDS.length] ?? KINDS[0];
  const name = `${kind.toLowerCase()}-${j}`;
  const isSynced = (namespaceIndex * RESOURCES_PER_NAMESPACE + j) % 100 !== 0;
  const account = teamOf(namespaceIndex);
  return `apiVersion: ${group}/v1alpha1
kind: ${kind}
metadata:
  name: ${name}
  namespace: ns-${namespaceIndex}
  labels:
    app.kubernetes.io/name: shop
    app.kubernetes.io/component: ${name}
    app.kubernetes.io/managed-by: Helm
  annotations:
    services.k8s.aws/deletion-policy: retain
    meta.helm.sh/release-name: shop
    meta.helm.sh/release-namespace: ns-${namespaceIndex}
spec:
${specOf(kind, `${account}-${environmentOf(namespaceIndex)}-${name}`)}status:
  ackResourceMetadata:
    arn: "arn:aws:${group.split(".")[0]}:eu-west-1:${ACCOUNT}:${account}-${name}"
    ownerAccountID: "${ACCOUNT}"
    region: eu-west-1
  conditions:
  - type: ACK.ResourceSynced
    status: "${isSynced ? "True" : "False"}"
    lastTransitionTime: "2026-01-01T00:00:00Z"
    message: ${isSynced ? "Resource synced successfully" : "'Access denied: s3:PutBucketPolicy # retrying'"}
`;
}

function specOf(kind: (typeof KINDS)[number]["kind"], name: string): string {
  return { Bucket: bucketSpec, Table: tableSpec, Queue: queueSpec }[kind](name);
}

function bucketSpec(name: string): string {
  return `  name: ${name}
  createBucketConfiguration:
    locationConstraint: eu-west-1
  encryption:
    rules:
    - applyServerSideEncryptionByDefault:
        sseAlgorithm: aws:kms
        kmsMasterKeyID: alias/shop
      bucketKeyEnabled: true
  lifecycle:
    rules:
    - id: expire # keeps 30 days
      status: Enabled
      expiration: {days: 30}
      filter:
        prefix: logs/
  policy: |
    {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*"}]}
  tagging:
    tagSet: [{key: team, value: shop}]
`;
}

function tableSpec(name: string): string {
  return `  tableName: ${name}
  billingMode: PAY_PER_REQUEST
  attributeDefinitions:
  - attributeName: id
    attributeType: S
  - attributeName: createdAt
    attributeType: N
  keySchema:
  - attributeName: id
    keyType: HASH
  - attributeName: createdAt
    keyType: RANGE
  continuousBackups:
    pointInTimeRecoveryEnabled: true
  sseSpecification:
    enabled: true
    sseType: KMS
    kmsMasterKeyID: alias/shop
  tags:
  - key: team
    value: shop
`;
}

function queueSpec(name: string): string {
  return `  queueName: ${name}
  delaySeconds: "0"
  maximumMessageSize: "262144"
  messageRetentionPeriod: "345600"
  visibilityTimeout: "30"
  fifoQueue: "false"
  kmsMasterKeyID: alias/shop
  redrivePolicy: >-
    {"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:${ACCOUNT}:${name}-dead",
    "maxReceiveCount": 5}
  tags:
    team: shop
    env: "prod"
`;
}
