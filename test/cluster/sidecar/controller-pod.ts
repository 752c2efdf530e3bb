import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { PROJECT_IMAGE } from "../project-image.ts";
import type { AWS } from "./aws.ts";

const MANIFEST = path.join(import.meta.dirname, "../../../manifests/sidecar/deployment.yaml");
export const NAMESPACE = "ack-system";
export const CONTROLLER = "ack-s3-controller";
export const POD_LABELS = `app=${CONTROLLER}`;
export const CONTROLLER_IMAGE = "localhost/controller:test";
/** The role of the sidecar's own identity. */
const OWN_ROLE = "arn:aws:iam::999999999999:role/ack-s3-controller";
const CA_CONFIGMAP = "aws-ca";
const CA_DIR = "/run/aws-ca";
const IDENTITY_DIR = "/var/run/secrets/eks.amazonaws.com/serviceaccount";

interface Container {
  image: string;
  imagePullPolicy?: string;
  args?: string[];
  env?: { name: string; value: string }[];
  volumeMounts: object[];
}

/** The fields of the Deployment that the test changes. */
interface Deployment {
  readonly kind: "Deployment";
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly initContainers: readonly [Container];
        readonly containers: readonly [Container];
        readonly volumes: object[];
      };
    };
  };
}

/** Returns the objects of the manifest, with the images, the endpoints and the identity of this test. */
export async function controllerObjects(aws: AWS): Promise<readonly object[]> {
  const documents = parseAllDocuments(await readFile(MANIFEST, "utf8"));
  const objects: readonly object[] = documents.map((document): object => Object(document.toJS()));
  const deployment = objects.find(isDeployment);
  if (deployment === undefined) throw new Error(`${MANIFEST} has no Deployment`);
  const { initContainers: [sidecar], containers: [controller], volumes } = deployment.spec.template.spec;
  useLocalImages(sidecar, controller);
  useTestEndpoints(sidecar, controller, aws);
  addIdentity(sidecar, volumes);
  volumes.push({ name: "aws-ca", configMap: { name: CA_CONFIGMAP } });
  return [...PREREQUISITES, { ...CA_MAP, data: { "ca.crt": aws.ca } }, ...objects];
}

function isDeployment(object: object): object is Deployment {
  return "kind" in object && object.kind === "Deployment";
}

function useLocalImages(sidecar: Container, controller: Container): void {
  Object.assign(sidecar, { image: PROJECT_IMAGE, imagePullPolicy: "Never" });
  Object.assign(controller, { image: CONTROLLER_IMAGE, imagePullPolicy: "Never" });
}

function useTestEndpoints(sidecar: Container, controller: Container, { url }: AWS): void {
  const mount = { name: "aws-ca", mountPath: CA_DIR, readOnly: true };
  sidecar.args?.push(`--sts-endpoint=${url}`);
  sidecar.env = [{ name: "NODE_EXTRA_CA_CERTS", value: `${CA_DIR}/ca.crt` }];
  sidecar.volumeMounts.push(mount);
  // A rejected controller retries at its next reconciliation. In the tests, the SDK retries instead of the controller.
  controller.env?.push({ name: "AWS_MAX_ATTEMPTS", value: "10" });
  // ACK controllers exit with AWS_CA_BUNDLE, because they replace the HTTP client of the SDK.
  controller.env?.push({ name: "SSL_CERT_FILE", value: `${CA_DIR}/ca.crt` });
  controller.args = controllerArguments(url);
  controller.volumeMounts.push(mount);
}

/** Does the same as the EKS identity webhook, which skips the container of the annotation `skip-containers`. */
function addIdentity(sidecar: Container, volumes: object[]): void {
  const token = { path: "token", audience: "sts.amazonaws.com", expirationSeconds: 86_400 };
  volumes.push({ name: "aws-iam-token", projected: { sources: [{ serviceAccountToken: token }] } });
  sidecar.volumeMounts.push({ name: "aws-iam-token", mountPath: IDENTITY_DIR, readOnly: true });
  sidecar.env?.push(
    { name: "AWS_ROLE_ARN", value: OWN_ROLE },
    { name: "AWS_WEB_IDENTITY_TOKEN_FILE", value: `${IDENTITY_DIR}/token` },
  );
}

/** Returns what a chart of ACK adds to the arguments to find roles by selectors, and the service at a URL. */
export function controllerArguments(url: string): string[] {
  return ["--enable-carm=false", "--feature-gates=IAMRoleSelector=true", `--aws-endpoint-url=${url}`];
}

const CA_MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: CA_CONFIGMAP, namespace: NAMESPACE } };
const RBAC = "rbac.authorization.k8s.io";

/** What the chart of a controller contains: its service account and its rights. */
export const PREREQUISITES: readonly object[] = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: CONTROLLER, namespace: NAMESPACE } },
  {
    apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name: CONTROLLER },
    rules: [
      { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["get", "list", "watch", "patch"] },
      { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets/status"], verbs: ["patch"] },
      { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "watch"] },
      { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], verbs: ["get", "list", "watch"] },
    ],
  },
  {
    apiVersion: `${RBAC}/v1`, kind: "ClusterRoleBinding", metadata: { name: CONTROLLER },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: CONTROLLER },
    subjects: [{ kind: "ServiceAccount", name: CONTROLLER, namespace: NAMESPACE }],
  },
];
