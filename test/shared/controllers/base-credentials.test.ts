import type { JsonObject } from "../../../shared/formats/json.ts";
import { readControllers } from "../../../shared/controllers/controller-deployment.ts";
import { controllerDeployment } from "../../fixtures/controllers.ts";
import { testRows } from "../rows.ts";

const ROLE = "arn:aws:iam::999900001111:role/ack-s3";
const ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "ack-s3", namespace: "ack-system" } };
const annotated = (role: string): JsonObject => (
  { ...ACCOUNT, metadata: { ...ACCOUNT.metadata, annotations: { "eks.amazonaws.com/role-arn": role } } }
);
const association = (namespace: string, serviceAccount: string): JsonObject => ({
  apiVersion: "eks.services.k8s.aws/v1alpha1", kind: "PodIdentityAssociation",
  metadata: { name: "a", namespace: "eks" },
  spec: { clusterName: "prod", namespace, serviceAccount, roleARN: "arn:aws:iam::1:role/x" },
});

type Input = readonly [parts: Parameters<typeof controllerDeployment>[0], ...objects: readonly JsonObject[]];

/** Returns what the SDK uses, the role, and what it ignores. */
function linesOf([parts, ...objects]: Input): string[] {
  return readControllers([controllerDeployment(parts), ...objects], "ack-system").controllers.flatMap((
    { credentials: { used, roleARN, ignored } },
  ) => [used, String(roleARN), ...ignored]);
}

const KEYS = [
  { name: "AWS_ACCESS_KEY_ID", valueFrom: { secretKeyRef: { name: "s", key: "id" } } },
  { name: "AWS_SECRET_ACCESS_KEY", valueFrom: { secretKeyRef: { name: "s", key: "secret" } } },
];
const FILE = { name: "AWS_SHARED_CREDENTIALS_FILE", value: "/var/run/secrets/aws/credentials" };
const OF_ACCOUNT = "the role of service account ack-system/ack-s3 (eks.amazonaws.com/role-arn)";
const NODE = "EKS Pod Identity or the role of the node, which the cluster does not show";
const SKIP = { annotations: { "eks.amazonaws.com/skip-containers": "controller,x\nother" } };
const ENDPOINT = { name: "AWS_CONTAINER_CREDENTIALS_FULL_URI", value: "http://127.0.0.1:9780/v1/credentials" };
const SIDECAR = { initContainers: [{ name: "ack-role-resolver", image: "r", args: ["sidecar"] }] };

testRows("returns the credentials that the SDK finds first, and those that it ignores", linesOf, [
  ["an annotated service account", [{}, annotated(ROLE)], OF_ACCOUNT, ROLE],
  ["a value that is not a role", [{}, annotated("ack-s3")], OF_ACCOUNT, "null"],
  ["static keys before a service account and a profile", [{ env: [...KEYS, FILE] }, annotated(ROLE)],
    "static keys in AWS_ACCESS_KEY_ID", "null", OF_ACCOUNT, "the profile in AWS_SHARED_CREDENTIALS_FILE"],
  ["a service account before the Secret of aws.credentials", [{ env: [FILE] }, annotated(ROLE)],
    OF_ACCOUNT, ROLE, "the profile in AWS_SHARED_CREDENTIALS_FILE"],
  ["the Secret of aws.credentials", [{ env: [FILE] }, ACCOUNT], "the profile in AWS_SHARED_CREDENTIALS_FILE", "null"],
  ["half of a static key, and an empty variable",
    [{ env: [...KEYS.slice(0, 1), { name: "AWS_PROFILE", value: "" }] }, ACCOUNT], NODE, "null"],
  ["a web identity in the manifest", [{
    env: [{ name: "AWS_WEB_IDENTITY_TOKEN_FILE", value: "/t" }, { name: "AWS_ROLE_ARN", value: ROLE }],
  }, ACCOUNT], "the web identity in AWS_WEB_IDENTITY_TOKEN_FILE", ROLE],
  ["a web identity without a role", [{ env: [{ name: "AWS_WEB_IDENTITY_TOKEN_FILE", value: "/t" }] }, ACCOUNT],
    "the web identity in AWS_WEB_IDENTITY_TOKEN_FILE", "null"],
  ["a container that the identity webhook skips", [{ metadata: SKIP, env: [ENDPOINT] }, annotated(ROLE)],
    "the endpoint in AWS_CONTAINER_CREDENTIALS_FULL_URI", "null"],
  ["the same with a sidecar, which uses the role",
    [{ metadata: SKIP, env: [ENDPOINT], spec: SIDECAR }, annotated(ROLE)], OF_ACCOUNT, ROLE],
  ["a label that requests a sidecar",
    [{ metadata: { ...SKIP, labels: { "ack-role-resolver.io/inject": "true" } } }, annotated(ROLE)], OF_ACCOUNT, ROLE],
  ["a service account that was not read", [{ spec: { serviceAccountName: "x" } }, annotated(ROLE)],
    `${NODE}, unless service account ack-system/x, which was not read, has a role`, "null"],
  ["no service account", [{ spec: { serviceAccountName: null } }],
    `${NODE}, unless service account ack-system/default, which was not read, has a role`, "null"],
  ["variables of another object, and an association that may be of another cluster", [
    { container: { envFrom: [{ secretRef: { name: "s" } }] } }, annotated(ROLE), association("ack-system", "ack-s3"),
  ],
    `${OF_ACCOUNT}, unless envFrom sets static keys, or PodIdentityAssociation eks/a is of this cluster`, "null"],
  ["an association of another service account, and one without", [
    {}, annotated(ROLE), association("ack-system", "x"), { ...association("", ""), spec: {} },
  ], OF_ACCOUNT, ROLE],
]);
