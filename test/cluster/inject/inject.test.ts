import path from "node:path";
import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { WEB_IDENTITY, withEKSIdentity } from "../../fixtures/eks-identity.ts";
import { ACK_RUNTIME, ackProgramsIn } from "../../programs/ack-runtime.ts";
import { buildArchive } from "../../programs/images.ts";
import { MOTO, wheelsIn } from "../../programs/wheels.ts";
import { findPrograms } from "../../real/find-programs.ts";
import { until } from "../../real/apiserver/until.ts";
import { servePodChangers } from "../../real/webhook/pod-changer.ts";
import type { PodCluster } from "../cluster.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { type AWS, startAWS } from "../sidecar/aws.ts";
import { bucket, untilCreated } from "../sidecar/buckets.ts";
import { CONTROLLER, controllerArguments, NAMESPACE, POD_LABELS, PREREQUISITES } from "../sidecar/controller-pod.ts";
import { DEPLOYMENT, installWebhook, NAMESPACE as WEBHOOK_NAMESPACE } from "../webhook/installed.ts";
import { selector } from "../webhook/selector.ts";

const CA_FILE = "/etc/aws-ca.crt";
/** The image of this checkout, which trusts the CA of the test. */
const SIDECAR_IMAGE = "localhost/ack-role-resolver-with-ca:test";
/** The webhook derives the API group from this name. */
const CONTROLLER_IMAGE = "localhost/aws-controllers-k8s/s3-controller:test";
const INJECT = "ack-role-resolver.io/inject";
const TEAM_A = "arn:aws:iam::111111111111:role/team-a";
const TEAM_B = "arn:aws:iam::222222222222:role/team-b";

withNode("a controller that is only labeled", async (t, found) => {
  const folders = await findPrograms(t, MOTO, ACK_RUNTIME);
  if (folders === null) return;
  const archive = projectArchive(t, found.programs);
  const cluster = await startCluster(t, found);
  const aws = await startAWS(t, await wheelsIn(folders[0]), cluster.hostAddress);
  const { controller } = ackProgramsIn(folders[1]);
  await loadImages(t, cluster, { ca: aws.ca, archive: await archive, controller });
  await install(t, cluster, aws);
  await t.test("creates buckets with the roles that the webhook annotates", async (tt) => isCreated(tt, cluster));
  await t.test("uses the web identity of its service account only in the sidecar", async (tt) => (
    hasNoIdentity(tt, cluster)
  ));
  await t.test("shows the reason of a denial in the Events of the ReplicaSet", async (tt) => isDenied(tt, cluster));
});

interface Sources {
  /** The PEM certificate of the CA of STS and S3. */
  readonly ca: string;
  /** The OCI archive of this checkout. */
  readonly archive: string;
  /** The path of the controller program. */
  readonly controller: string;
}

async function loadImages(t: Test, cluster: PodCluster, { ca, archive, controller }: Sources): Promise<void> {
  const context = t.testdir({
    "ca.crt": ca,
    Containerfile: `ARG BASE\nFROM \${BASE}\nCOPY ca.crt ${CA_FILE}\nENV NODE_EXTRA_CA_CERTS=${CA_FILE}\n`,
  });
  const target = path.join(path.dirname(archive), "with-ca.tar");
  const containerfile = path.join(context, "Containerfile");
  const build = { BASE: `oci-archive:${archive}` };
  await buildArchive({ name: SIDECAR_IMAGE, context, containerfile, build }, target);
  await cluster.loadArchive(target);
  const files = { "/controller": controller, [CA_FILE]: path.join(context, "ca.crt") };
  await cluster.loadImage({ name: CONTROLLER_IMAGE, files, entrypoint: ["/controller"] });
}

async function install(t: Test, cluster: PodCluster, { url }: AWS): Promise<void> {
  await installWebhook(t, cluster, ["injection.enabled=true"], SIDECAR_IMAGE);
  const variable = `ACK_ROLE_RESOLVER_SIDECAR_ARGS=--sts-endpoint=${url}`;
  await cluster.kubectl(["set", "env", `deployment/${DEPLOYMENT}`, "-n", WEBHOOK_NAMESPACE, variable]);
  await cluster.untilRolledOut(WEBHOOK_NAMESPACE, DEPLOYMENT);
  // On EKS, the identity webhook runs after this webhook, because the API server sorts the configurations by name.
  const labels = { app: CONTROLLER };
  const ofEKS = {
    name: "pod-identity-webhook", labels, reinvocationPolicy: "IfNeeded",
    change: (pod: Parameters<typeof withEKSIdentity>[0]) => withEKSIdentity(pod, WEB_IDENTITY),
  } as const;
  await cluster.apply(await servePodChangers(t, cluster.hostAddress, [ofEKS]));
  for (const name of ["team-a", "team-b"]) await cluster.kubectl(["create", "namespace", name]);
  await cluster.apply([selector("team-a", TEAM_A), selector("team-b", TEAM_B)]);
  await cluster.apply([...PREREQUISITES, deployment(CONTROLLER, url)]);
  await cluster.untilRolledOut(NAMESPACE, CONTROLLER);
}

/** Returns the Deployment of a controller without a sidecar. Its Pods have the label of the injection. */
function deployment(name: string, url: string, more: readonly object[] = []): object {
  const variables = { AWS_REGION: "eu-west-1", SSL_CERT_FILE: CA_FILE };
  const controller = {
    name: "controller", image: CONTROLLER_IMAGE, imagePullPolicy: "Never", args: controllerArguments(url),
    env: Object.entries(variables).map(([key, value]) => ({ name: key, value })),
  };
  return {
    apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name, [INJECT]: "true" } },
        spec: { serviceAccountName: CONTROLLER, containers: [controller, ...more] },
      },
    },
  };
}

/** No selector selects the bucket in the namespace `default`. The web identity of the sidecar is WEB_IDENTITY. */
async function isCreated(t: Test, cluster: PodCluster): Promise<void> {
  for (const [namespace, session, role] of [
    ["team-a", "111111111111/team-a", TEAM_A], ["team-b", "222222222222/team-b", TEAM_B],
    ["default", "999999999999/ack-s3-controller", null],
  ] as const) {
    await cluster.apply([bucket(namespace, "bucket")]);
    t.equal(await untilCreated(cluster, namespace, "bucket"), session);
    const get = ["get", "bucket", "bucket", "-n", namespace, "-o", "json"];
    const stored: unknown = JSON.parse(await cluster.kubectl(get));
    t.equal(stringAt(stored, "metadata", "annotations", "ack-role-resolver.io/role-arn"), role);
  }
}

async function hasNoIdentity(t: Test, cluster: PodCluster): Promise<void> {
  const [pod] = await cluster.pods(NAMESPACE, POD_LABELS);
  const names = async (container: string): Promise<string> => {
    const list = `{.spec['containers','initContainers'][?(@.name=="${container}")].env[*].name}`;
    return cluster.kubectl(["get", "pod", pod?.name ?? "", "-n", NAMESPACE, "-o", `jsonpath=${list}`]);
  };
  t.notMatch(await names("controller"), /AWS_ROLE_ARN|WEB_IDENTITY/);
  t.match(await names("ack-role-resolver"), /AWS_ROLE_ARN.*AWS_WEB_IDENTITY_TOKEN_FILE/);
}

async function isDenied(t: Test, cluster: PodCluster): Promise<void> {
  await cluster.apply([deployment("two-containers", "https://localhost", [{ name: "proxy", image: "proxy:1" }])]);
  const events = ["get", "events", "-n", NAMESPACE, "--field-selector", "reason=FailedCreate", "-o", "json"];
  const isShown = async (): Promise<boolean> => (await cluster.kubectl(events)).includes("POD-02");
  t.ok(await until(isShown));
  t.match(await cluster.kubectl(events), "Set the annotation ack-role-resolver.io/inject-container");
}
