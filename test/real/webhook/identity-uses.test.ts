import type { Test } from "tap";
import { PART_KINDS } from "../../../shared/capa/cluster-parts.ts";
import { CAPA_CRDS, PART_CRDS, REFERRER_CRDS } from "../../fixtures/capa/crds.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { apply, installWebhook } from "./installed-webhook.ts";
import { answerOf, asAccount, grant, JANE, RBAC } from "./requests.ts";

const GROUP = "infrastructure.cluster.x-k8s.io";
const LABEL = "cluster.x-k8s.io/cluster-name";
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
const CAPI = asAccount("capi-system:capi-manager");
const KUBEADM = asAccount("capi-kubeadm-control-plane-system:capi-kubeadm-control-plane-manager");
const CAPA = asAccount("capa-system:capa-controller-manager");
const CLEANUP = ["generic-garbage-collector", "namespace-controller"].map((name) => asAccount(`kube-system:${name}`));

/** The kinds of CAPA for which it uses the identity of their Cluster. */
const MACHINES = PART_KINDS.filter(({ group }) => group === GROUP).map(({ kind }) => kind);

function pathOf(kind: string, name = "", version = "v1beta2"): string {
  const { group = GROUP, plural = "awsclusters" } = PART_KINDS.find((one) => one.kind === kind) ?? {};
  return `/apis/${group}/${version}/namespaces/team-a/${plural}${name === "" ? "" : `/${name}`}`;
}

interface Fields {
  readonly metadata?: object;
  readonly spec?: object;
}

function objectOf(kind: string, name: string, { metadata = {}, spec = {} }: Fields = {}, version = "v1beta2"): object {
  const { group = GROUP } = PART_KINDS.find((one) => one.kind === kind) ?? {};
  return { apiVersion: `${group}/${version}`, kind, metadata: { name, ...metadata }, spec };
}

const inCluster = (cluster: string): object => ({ labels: { [LABEL]: cluster } });

function awsCluster(name: string, identity: string): object {
  const spec = { region: "eu-west-1", identityRef: { kind: "AWSClusterRoleIdentity", name: identity } };
  return objectOf("AWSCluster", name, { metadata: inCluster(name), spec });
}

const identity = (name: string): object => ({
  apiVersion: `${GROUP}/v1beta2`, kind: "AWSClusterRoleIdentity", metadata: { name },
  spec: {
    roleARN: `arn:aws:iam::111122223333:role/${name}`, allowedNamespaces: { list: ["team-a"] },
    sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
  },
});

const use = (name: string): object => (
  { apiGroups: [GROUP], resources: ["awsclusterroleidentities"], resourceNames: [name], verbs: ["use"] }
);
const OF_JANE = { apiGroup: RBAC, kind: "User", name: "jane" };
const WRITERS = [OF_JANE, { apiGroup: RBAC, kind: "Group", name: "system:serviceaccounts" }, ...[
  CAPI, KUBEADM, CAPA, ...CLEANUP,
].map(({ headers }) => ({ apiGroup: RBAC, kind: "User", name: headers?.["impersonate-user"] }))];

onCluster("the verb use on the identity of a cluster, for each write, on a real API server", async (t, cluster) => {
  await apply(cluster, [...CAPA_CRDS, ...REFERRER_CRDS, ...PART_CRDS]);
  const kinds = ["AWSCluster", ...PART_KINDS.map(({ kind }) => kind)];
  for (const kind of kinds) await until(async () => (await cluster.request("GET", pathOf(kind))).status === 200);
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "team-a" } });
  await apply(cluster, [
    identity("mine"), identity("other"),
    ...grant("write", [
      { apiGroups: [GROUP, "cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"], resources: ["*"], verbs: WRITE },
    ], WRITERS),
    ...grant("use-mine", [use("mine")], [OF_JANE]),
  ]);
  await installWebhook(t, cluster, ["--check", "AC-05=deny"]);
  for (const [name, used] of [["a", "mine"], ["b", "other"]] as const) {
    t.equal((await cluster.request("POST", pathOf("AWSCluster"), awsCluster(name, used))).status, 201);
  }
  const fresh = async (): Promise<boolean> => (
    (await create(cluster, "AWSMachine", { metadata: inCluster("a") }, JANE)).status === 201
  );
  t.ok(await until(fresh), "the inventory has the clusters");
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("denies each change and the deletion of a cluster of another user", protectsClusters);
  for (const kind of MACHINES) {
    await run(`denies each write of an ${kind} in a cluster of another user`, async (tt) =>
      protectsMachines(tt, cluster, kind));
  }
  await run("denies the objects of Cluster API from which its controllers create machines", protectsOwners);
  await run("allows Cluster API and CAPA, and the cleanup by Kubernetes", allowsControllers);
  await run("allows a user who has the verb on the identity", allowsUsers);
});

const WRITE = ["get", "list", "create", "update", "patch", "delete", "deletecollection"];

/** Creates the object x in a dry run. */
async function create(
  cluster: Cluster, kind: string, fields: Fields = {},
  { version = "v1beta2", ...options }: RequestOptions & { readonly version?: string } = {},
): Promise<ApiResponse> {
  const path = `${pathOf(kind, "", version)}?dryRun=All`;
  return cluster.request("POST", path, objectOf(kind, "x", fields, version), options);
}

async function patch(
  cluster: Cluster, path: string, change: object, { headers, ...options }: RequestOptions = JANE,
): Promise<ApiResponse> {
  const query = path.includes("?") ? path : `${path}?dryRun=All`;
  return cluster.request("PATCH", query, change, { ...options, headers: { ...MERGE_PATCH, ...headers } });
}

const VERSIONS = ["v1beta2", "v1beta1"];
const OTHER = /AC-05 .*the requester may not use AWSClusterRoleIdentity "other"/;
const EVERY = /AC-05 .*, so the requester needs the verb use on every identity/;
const OWNER = { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Machine", name: "of-b", uid: "u" };
const APPLY = { headers: { "content-type": "application/apply-patch+yaml" } };

/** Denies each way to change and to delete the object of the cluster of another user, in both served versions. */
async function protectsObject(t: Test, cluster: Cluster, kind: string, name: string): Promise<void> {
  for (const version of VERSIONS) {
    const path = pathOf(kind, name, version);
    const changed = { metadata: { labels: { x: "y" } } };
    t.match(answerOf(await patch(cluster, path, changed)), OTHER, `${version}: merge patch`);
    const applied = objectOf(kind, name, { metadata: { annotations: { a: "b" } } }, version);
    const query = "?dryRun=All&fieldManager=jane&force=true";
    const options = { ...JANE, ...APPLY };
    t.match(answerOf(await cluster.request("PATCH", path + query, applied, options)), OTHER, `${version}: apply`);
    t.match(answerOf(await cluster.request("DELETE", `${path}?dryRun=All`, undefined, JANE)), OTHER, version);
    t.equal((await patch(cluster, path, { metadata: { finalizers: ["a.b/c"] } })).status, 200, "its finalizers");
  }
  const all = await cluster.request("DELETE", `${pathOf(kind)}?dryRun=All`, undefined, JANE);
  t.match(answerOf(all), OTHER, "deletecollection");
}

async function protectsClusters(t: Test, cluster: Cluster): Promise<void> {
  await protectsObject(t, cluster, "AWSCluster", "b");
  const mine = pathOf("AWSCluster", "a");
  t.equal((await patch(cluster, mine, { spec: { region: "us-east-1" } })).status, 200);
  const removed = answerOf(await patch(cluster, mine, { spec: { identityRef: null } }));
  t.match(removed, /AC-05 .*may not use AWSClusterControllerIdentity "default"/);
  t.equal((await cluster.request("DELETE", `${mine}?dryRun=All`, undefined, JANE)).status, 200);
}

async function protectsMachines(t: Test, cluster: Cluster, kind: string): Promise<void> {
  t.equal((await create(cluster, kind, { metadata: inCluster("a") }, JANE)).status, 201);
  const generated = { metadata: { ...inCluster("b"), name: undefined, generateName: "x-" } };
  t.match(answerOf(await create(cluster, kind, generated, JANE)), OTHER, "generateName");
  t.match(answerOf(await create(cluster, kind, {}, JANE)), EVERY, "of no cluster");
  const owned = { metadata: { ...inCluster("a"), ownerReferences: [OWNER] } };
  t.match(answerOf(await create(cluster, kind, owned, JANE)), EVERY, "of the Machine of another cluster");
  t.equal((await create(cluster, kind, owned)).status, 201, "an administrator");
  const stored = await cluster.request("POST", pathOf(kind), objectOf(kind, "of-b", { metadata: inCluster("b") }));
  t.equal(stored.status, 201);
  await protectsObject(t, cluster, kind, "of-b");
}

const machinesOf = (clusterName: string): object => (
  { clusterName, template: { spec: { clusterName, infrastructureRef: { kind: "AWSMachineTemplate", name: "x" } } } }
);

/** The objects of Cluster API, each in the cluster of another user. */
const OWNERS: Readonly<Record<string, Fields>> = {
  ...Object.fromEntries(["Machine", "MachineSet", "MachineDeployment", "MachinePool"].map((kind) => (
    [kind, { spec: machinesOf("b") }]
  ))),
  KubeadmControlPlane: { metadata: inCluster("b"), spec: { replicas: 0 } },
  Cluster: { spec: { infrastructureRef: { kind: "AWSCluster", name: "b" } } },
};

async function protectsOwners(t: Test, cluster: Cluster): Promise<void> {
  for (const [kind, fields] of Object.entries(OWNERS)) {
    t.match(answerOf(await create(cluster, kind, fields, JANE)), OTHER, kind);
    t.equal((await cluster.request("POST", pathOf(kind), objectOf(kind, "of-b", fields))).status, 201, kind);
    await protectsObject(t, cluster, kind, "of-b");
  }
  const docker = { spec: { clusterName: "docker", infrastructureRef: { kind: "DockerMachine", name: "x" } } };
  t.equal((await create(cluster, "Machine", docker, JANE)).status, 201, "a cluster of another provider");
}

async function allowsControllers(t: Test, cluster: Cluster): Promise<void> {
  const owned = { metadata: { ...inCluster("b"), ownerReferences: [OWNER] } };
  for (const options of [CAPI, KUBEADM, CAPA]) {
    for (const kind of [...MACHINES, "Machine"]) {
      const created = await create(cluster, kind, owned, options);
      t.equal(created.status, 201, answerOf(created));
      t.equal((await patch(cluster, pathOf(kind, "of-b"), owned, options)).status, 200);
    }
    const path = pathOf("AWSCluster", "b");
    const changed = await patch(cluster, path, { metadata: { labels: { x: "y" } }, spec: { region: "a" } }, options);
    t.equal(changed.status, 200, answerOf(changed));
  }
  const chosen = await cluster.request("POST", `${pathOf("AWSCluster")}?dryRun=All`, awsCluster("c", "other"), CAPI);
  t.match(answerOf(chosen), OTHER, "Cluster API needs the verb to choose an identity");
  for (const options of [CAPI, KUBEADM, CAPA, ...CLEANUP]) {
    for (const path of [pathOf("AWSCluster", "b"), ...MACHINES.map((kind) => pathOf(kind, "of-b"))]) {
      const deleted = await cluster.request("DELETE", `${path}?dryRun=All`, undefined, options);
      t.equal(deleted.status, 200, answerOf(deleted));
    }
  }
}

async function allowsUsers(t: Test, cluster: Cluster): Promise<void> {
  await apply(cluster, grant("use-other", [use("other")], [OF_JANE], "team-a"));
  const path = pathOf("AWSCluster", "b");
  t.ok(await until(async () => (await patch(cluster, path, { spec: { region: "us-east-1" } })).status === 200));
  for (const kind of MACHINES) {
    t.equal((await create(cluster, kind, { metadata: inCluster("b") }, JANE)).status, 201);
    t.equal((await cluster.request("DELETE", pathOf(kind, "of-b"), undefined, JANE)).status, 200);
  }
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
}
