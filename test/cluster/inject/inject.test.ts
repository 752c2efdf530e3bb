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
import { PAUSE_IMAGE } from "../node/containerd.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { type AWS, startAWS } from "../sidecar/aws.ts";
import { bucket, untilCreated } from "../sidecar/buckets.ts";
import { CONTROLLER, controllerArguments, NAMESPACE, POD_LABELS, PREREQUISITES } from "../sidecar/controller-pod.ts";
import { installWebhook } from "../webhook/installed.ts";
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
  const upgrade = await install(t, cluster, aws);
  await t.test("creates buckets with the roles that the webhook annotates", async (tt) => isCreated(tt, cluster));
  await t.test("uses the web identity of its service account only in the sidecar", async (tt) => (
    hasNoIdentity(tt, cluster)
  ));
  await t.test("shows the reason of a denial in the Events of the ReplicaSet", async (tt) => isDenied(tt, cluster));
  await t.test("gets no credentials of its own after an upgrade to strict, without a restart", async (tt) => (
    isClosed(tt, cluster, upgrade)
  ));
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

type Upgrade = (...values: readonly string[]) => Promise<void>;

async function install(t: Test, cluster: PodCluster, { url }: AWS): Promise<Upgrade> {
  const values = ["injection.enabled=true", `injection.args={--sts-endpoint=${url}}`];
  const upgrade = await installWebhook(t, cluster, values, SIDECAR_IMAGE);
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
  return upgrade;
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

/** Prints the status and the access key of the responses to a controller, and for a namespace without a selector. */
const ASK = `const token = require("node:fs").readFileSync("/run/ack-role-resolver/token", "utf8");
  for (const path of ["", "/namespaces/default?kind=Bucket.s3.services.k8s.aws"]) {
    const options = { headers: { authorization: token } };
    require("node:http").get("http://127.0.0.1:9780/v1/credentials" + path, options, async (response) => {
      const body = JSON.parse((await response.toArray()).join(""));
      console.log(path.length, response.statusCode, body.AccessKeyId ?? body.code);
    });
  }`;

/** Returns the two responses of the sidecar, which runs in the first Pod of the controller. */
async function answersOf(cluster: PodCluster, pod: string): Promise<readonly [own: string, unmatched: string]> {
  const ask = ["/usr/local/bin/node", "-e", ASK];
  const { stdout } = await cluster.exec(NAMESPACE, pod, "ack-role-resolver", ask);
  const [own = "", unmatched = ""] = stdout.trim().split("\n").toSorted().map((line) => line.replace(/^\d+ /, ""));
  return [own, unmatched];
}

/** A Pod whose sidecar has the flags of a version that did not follow the profile. Its program does not matter. */
const OLD_POD = {
  apiVersion: "v1", kind: "Pod", metadata: { name: "old", namespace: NAMESPACE },
  spec: {
    containers: [{ name: "controller", image: PAUSE_IMAGE, imagePullPolicy: "Never" }, {
      name: "ack-role-resolver", image: PAUSE_IMAGE, imagePullPolicy: "Never",
      args: ["sidecar", "--cluster", "--group=s3.services.k8s.aws"],
    }],
  },
};

async function isClosed(t: Test, cluster: PodCluster, upgrade: Upgrade): Promise<void> {
  const [before] = await cluster.pods(NAMESPACE, POD_LABELS);
  const name = before?.name ?? "";
  const [own, unmatched] = await answersOf(cluster, name);
  t.match(own, /^200 ASIA/);
  t.equal(unmatched, own, "the same session of the controllers' own role");
  await cluster.apply([OLD_POD]);
  await upgrade("profile=strict");
  const denial = "403 ERR_SELECTOR_UNMATCHED";
  const isUnmatched = async (): Promise<boolean> => (await answersOf(cluster, name))[1] === denial;
  t.ok(await until(isUnmatched), "no credentials for a namespace without a selector");
  const [stand] = await answersOf(cluster, name);
  t.match(stand, /^200 ASIA/);
  t.not(stand, own, "keys that are valid only at this sidecar");
  const [after] = await cluster.pods(NAMESPACE, POD_LABELS);
  t.same([after?.uid, after?.restarts], [before?.uid, before?.restarts], "nothing restarted");
  const events = ["get", "events.events.k8s.io", "-n", NAMESPACE, "--field-selector", "reason=ProfileNotFollowed"];
  const noted = ["-o", "jsonpath={.items[*].regarding.name} {.items[*].note}"];
  const isNamed = async (): Promise<boolean> => (await cluster.kubectl([...events, ...noted])).startsWith("old ");
  t.ok(await until(isNamed), "an Event names the Pod that has to be replaced");
  t.match(await cluster.kubectl([...events, ...noted]), `kubectl -n ${NAMESPACE} delete pod old`);
}
