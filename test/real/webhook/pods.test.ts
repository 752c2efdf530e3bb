import type { Test } from "tap";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { type Identity, POD_IDENTITY, WEB_IDENTITY, withEKSIdentity } from "../../fixtures/eks-identity.ts";
import { CONTROLLER, controllerPod } from "../../fixtures/pods.ts";
import { containerOf, mountsOf, sorted, variablesOf } from "../../shared/core/injected.ts";
import { objectAt } from "../../webhook/reviews.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { apply, installWebhook } from "./installed-webhook.ts";
import { type PodChanger, servePodChangers } from "./pod-changer.ts";

/** Both namespaces require the restricted Pod security standard, which the sidecar must meet. */
const RESTRICTED = { "pod-security.kubernetes.io/enforce": "restricted" };
const SIDECAR = "ack-role-resolver";
const INJECT = "ack-role-resolver.io/inject";
const KEY = "example.com/webhook";
const IDENTITIES = { web: WEB_IDENTITY, pod: POD_IDENTITY } as const;

/** The configuration `ack-role-resolver` sorts between these names. */
const PLACES = { first: "aaa", last: "zzz" } as const;
const POLICIES = ["Never", "IfNeeded"] as const;

/** Stand-ins for the identity webhook of EKS, each for Pods with one label. */
const IDENTITY_WEBHOOKS = Object.entries(IDENTITIES).flatMap(([kind, identity]) => (
  Object.entries(PLACES).flatMap(([place, prefix]) => POLICIES.map((reinvocationPolicy): PodChanger => ({
    name: `${prefix}-${kind}-${reinvocationPolicy.toLowerCase()}`, reinvocationPolicy,
    labels: { [KEY]: `${kind}-${place}-${reinvocationPolicy}` }, change: (pod) => withEKSIdentity(pod, identity),
  })))
));

/** Removes the sidecar, also after the webhook has added it again. */
const ADVERSARY: PodChanger = {
  name: "zzz-adversary", reinvocationPolicy: "IfNeeded", labels: { [KEY]: "adversary" },
  change: (pod) => ({ ...pod, spec: { ...objectAt(pod, "spec"), initContainers: [] } }),
};

const NAMESPACES = [["labeled", { [INJECT]: "true", ...RESTRICTED }], ["other", RESTRICTED]] as const;

onCluster("the injection of sidecars on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, [
    "--sidecar-image", "registry.example.com/resolver:1", "--sidecar-env", "NO_PROXY=.svc,10.0.0.1",
    "--sidecar-ca-config-map", "private-ca",
  ]);
  for (const [name, labels] of NAMESPACES) {
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name, labels } });
  }
  for (const namespace of ["labeled", "other", "default", "kube-system", "ack-role-resolver"]) {
    const account = { metadata: { name: "ack-s3-controller" } };
    await cluster.request("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, account);
  }
  await apply(cluster, await servePodChangers(t, "127.0.0.1", [...IDENTITY_WEBHOOKS, ADVERSARY]));
  await untilApplied(t, cluster);
  for (const [kind, identity] of Object.entries(IDENTITIES)) {
    await t.test(`gives the ${kind} identity only to the sidecar, before and after the webhook of EKS`, async (tt) => (
      isIndependentOfOrder(tt, cluster, kind, identity)
    ));
  }
  await t.test("injects the sidecar by the label of the Pod or of its namespace", async (tt) => byLabel(tt, cluster));
  await t.test("denies faulty Pods, and accepts its own result again", async (tt) => deniesFaults(tt, cluster));
  await t.test("while it is stopped, the API server rejects only labeled Pods", async (tt) => (
    failsWhileStopped(tt, cluster, webhook)
  ));
}, { serviceAccounts: true });

/** The API server applies new webhook configurations a moment after it stores them. */
async function untilApplied(t: Test, cluster: Cluster): Promise<void> {
  const isApplied = async ({ labels }: PodChanger): Promise<boolean> => {
    const { status, body } = await create(cluster, "other", controllerPod({ metadata: { name: "probe", labels } }));
    return status === 201 && (labels[KEY] === "adversary" || JSON.stringify(body).includes("eks.amazonaws.com"));
  };
  for (const changer of IDENTITY_WEBHOOKS) {
    t.ok(await until(async () => isApplied(changer)), changer.name);
  }
}

/** Creates a Pod as a dry run. The answer contains the Pod with all changes. */
async function create(cluster: Cluster, namespace: string, pod: JsonObject): Promise<ApiResponse> {
  const metadata = { ...objectAt(pod, "metadata"), namespace };
  return cluster.request("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, { ...pod, metadata });
}

async function created(cluster: Cluster, namespace: string, pod: JsonObject): Promise<JsonObject> {
  const { status, body } = await create(cluster, namespace, pod);
  if (status === 201 && isJsonObject(body)) return body;
  throw new Error(`status ${status}: ${stringAt(body, "message")}`);
}

const REGIONS = { "a region of its own": CONTROLLER["env"], "no region": [] } as const;

async function isIndependentOfOrder(t: Test, cluster: Cluster, kind: string, identity: Identity): Promise<void> {
  for (const [title, env] of Object.entries(REGIONS)) {
    const pods: JsonObject[] = [];
    for (const place of Object.keys(PLACES)) {
      for (const policy of POLICIES) {
        const labels = { [INJECT]: "true", [KEY]: `${kind}-${place}-${policy}` };
        const pod = await created(cluster, "other", controllerPod({ metadata: { labels }, controller: { env } }));
        const name = `${place}, ${policy}, ${title}`;
        t.notOk(mountsOf(pod, "controller").includes(identity.volume), name);
        t.ok(mountsOf(pod, SIDECAR).includes(identity.volume), name);
        const ofIdentity = Object.fromEntries(identity.variables.map((one) => [one.name, one.value]));
        t.match(variablesOf(pod, SIDECAR), { ...ofIdentity, AWS_REGION: "eu-west-1" }, name);
        t.match(variablesOf(pod, "controller"), { AWS_REGION: "eu-west-1", ...CLIENT }, name);
        t.notOk("AWS_ROLE_ARN" in variablesOf(pod, "controller"), name);
        t.ok(mountsOf(pod, SIDECAR).some((volume) => volume.startsWith(API_ACCESS)), "the token for the API server");
        const metadata = { annotations: objectAt(pod, "metadata", "annotations") };
        pods.push(withStableNames(sorted({ ...pod, metadata })));
      }
    }
    for (const pod of pods) t.same(pod, pods[0], title);
  }
}

const API_ACCESS = "kube-api-access-";

/** Replaces the random name of the volume that the API server adds to each Pod. */
function withStableNames(pod: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(pod).replaceAll(/(?<="kube-api-access-)[a-z0-9]+/g, "x"));
}

const CLIENT = {
  AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:9780/v1/credentials",
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "/run/ack-role-resolver/token",
  AWS_ENDPOINT_URL_STS: "http://127.0.0.1:9780/sts",
};

async function byLabel(t: Test, cluster: Cluster): Promise<void> {
  const hasSidecar = async (namespace: string, labels: object): Promise<boolean> => {
    const pod = await created(cluster, namespace, controllerPod({ metadata: { labels } }));
    return field(field(pod, "spec"), "initContainers") !== undefined;
  };
  t.equal(await hasSidecar("other", { [INJECT]: "true" }), true);
  t.equal(await hasSidecar("other", {}), false);
  t.equal(await hasSidecar("labeled", {}), true);
  t.equal(await hasSidecar("labeled", { [INJECT]: "true" }), true);
  t.equal(await hasSidecar("labeled", { [INJECT]: "false" }), false);
  t.equal(await hasSidecar("kube-system", { [INJECT]: "true" }), false);
  t.equal(await hasSidecar("ack-role-resolver", { [INJECT]: "true" }), false);
}

/** One fault that the API server must reach the webhook with, for each rule of the webhook and each own object. */
async function deniesFaults(t: Test, cluster: Cluster): Promise<void> {
  const labels = { [INJECT]: "true" };
  const own = await created(cluster, "other", controllerPod());
  const { metadata } = controllerPod();
  const changed = { ...objectAt(own, "spec"), initContainers: [{ ...containerOf(own, SIDECAR), command: ["sh"] }] };
  const onHost = controllerPod({ spec: { hostNetwork: true } });
  const rows: readonly (readonly [namespace: string, pod: JsonObject, message: RegExp])[] = [
    ["other", controllerPod({ metadata: { labels: { [INJECT]: "yes" } } }), /POD-01 /],
    ["other", controllerPod({ metadata: { labels: { ...labels, [KEY]: "adversary" } } }),
      /POD-04 .* another webhook removed/],
    ["default", onHost, /POD-08 /],
    ...["other", "labeled"].map((namespace) => (
      [namespace, { ...own, metadata, spec: changed }, /POD-11 .*"ack-role-resolver" has a reserved name/] as const
    )),
  ];
  for (const [namespace, pod, message] of rows) {
    t.match(await create(cluster, namespace, pod), { status: 422, body: { message } });
  }
  t.match(variablesOf(own, SIDECAR), { NO_PROXY: ".svc,10.0.0.1", NODE_EXTRA_CA_CERTS: /ca\.crt$/ });
  const again = await created(cluster, "other", { ...own, metadata });
  t.same(field(again, "spec"), field(own, "spec"), "its own result, with defaults, is not injected again");
}

async function failsWhileStopped(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop();
  const unlabeled = controllerPod({ metadata: { labels: {} } });
  const rejected = { status: 500, body: { message: /failed calling webhook/ } };
  t.match(await create(cluster, "other", controllerPod()), rejected);
  t.match(await create(cluster, "labeled", unlabeled), rejected);
  t.match(await create(cluster, "other", unlabeled), { status: 201 });
  const rejecting = controllerPod({ metadata: { labels: { [INJECT]: "false" } } });
  t.match(await create(cluster, "labeled", rejecting), { status: 201 });
  t.match(await create(cluster, "kube-system", controllerPod()), { status: 201 });
}
