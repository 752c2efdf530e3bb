import type { Test } from "tap";
import { PART_KINDS } from "../../../shared/contract/cluster-parts.ts";
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

const inCluster = (cluster: string | null): object => ({ labels: { [LABEL]: cluster } });

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

const OTHER = /AC-05 .*the requester may not use AWSClusterRoleIdentity "other"/;
const EVERY = /AC-05 .*, so the requester needs the verb use on every identity/;
const OWNER = { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Machine", name: "of-b", uid: "u" };
const GONE = { apiVersion: "v1", kind: "Pod", name: "gone", uid: "00000000-0000-0000-0000-000000000000" };

async function protectsClusters(t: Test, cluster: Cluster): Promise<void> {
  for (const version of ["v1beta2", "v1beta1"]) {
    const path = pathOf("AWSCluster", "b", version);
    for (const change of [
      { spec: { region: "us-east-1" } }, { metadata: { labels: { x: "y" } } }, { metadata: inCluster(null) },
      { metadata: { annotations: { "aws.cluster.x-k8s.io/external-resource-gc": "false" } } },
      { metadata: { ownerReferences: [GONE] } },
      { spec: { identityRef: { kind: "AWSClusterRoleIdentity", name: "mine" } } },
    ]) {
      t.match(answerOf(await patch(cluster, path, change)), OTHER, JSON.stringify(change));
    }
    t.match(answerOf(await cluster.request("DELETE", `${path}?dryRun=All`, undefined, JANE)), OTHER);
    const applied = { ...awsCluster("b", "other"), apiVersion: `${GROUP}/${version}` };
    const headers = { "content-type": "application/apply-patch+yaml" };
    const options = { ...JANE, headers };
    const query = "?dryRun=All&fieldManager=jane&force=true";
    const change = { ...applied, spec: { region: "us-east-1" } };
    t.match(answerOf(await cluster.request("PATCH", path + query, change, options)), OTHER, "server-side apply");
  }
  const all = await cluster.request("DELETE", `${pathOf("AWSCluster")}?dryRun=All`, undefined, JANE);
  t.match(answerOf(all), OTHER, "deletecollection");
  const mine = pathOf("AWSCluster", "a");
  t.equal((await patch(cluster, mine, { spec: { region: "us-east-1" } })).status, 200);
  const removed = answerOf(await patch(cluster, mine, { spec: { identityRef: null } }));
  t.match(removed, /AC-05 .*may not use AWSClusterControllerIdentity "default"/);
  t.equal((await cluster.request("DELETE", `${mine}?dryRun=All`, undefined, JANE)).status, 200);
  t.equal((await patch(cluster, pathOf("AWSCluster", "b"), { metadata: { finalizers: ["a.b/c"] } })).status, 200);
}

async function protectsMachines(t: Test, cluster: Cluster, kind: string): Promise<void> {
  t.equal((await create(cluster, kind, { metadata: inCluster("a") }, JANE)).status, 201);
  const owned = { ...inCluster("a"), ownerReferences: [OWNER] };
  for (const [fields, denied] of [
    [{ metadata: inCluster("b") }, OTHER],
    [{ metadata: { ...inCluster("b"), name: undefined, generateName: "x-" } }, OTHER],
    [{ metadata: inCluster("a"), spec: { clusterName: "b" } }, OTHER],
    [{ metadata: inCluster("nobodys") }, EVERY],
    [{}, EVERY],
    [{ metadata: owned }, EVERY],
  ] as const) {
    for (const version of ["v1beta2", "v1beta1"]) {
      t.match(answerOf(await create(cluster, kind, fields, { ...JANE, version })), denied, JSON.stringify(fields));
    }
  }
  t.equal((await create(cluster, kind, { metadata: owned })).status, 201, "an administrator");
  for (const [name, owner] of [["of-a", "a"], ["of-b", "b"]] as const) {
    const object = objectOf(kind, name, { metadata: inCluster(owner) });
    t.equal((await cluster.request("POST", pathOf(kind), object)).status, 201);
  }
  const [own, foreign] = [pathOf(kind, "of-a"), pathOf(kind, "of-b")];
  t.equal((await patch(cluster, own, { spec: { x: "y" } })).status, 200);
  t.match(answerOf(await patch(cluster, own, { metadata: inCluster("b") })), OTHER, "moves to another cluster");
  t.match(answerOf(await patch(cluster, own, { metadata: inCluster(null) })), EVERY, "without the label");
  t.match(answerOf(await patch(cluster, own, { metadata: { ownerReferences: [OWNER] } })), EVERY);
  for (const change of [
    { spec: { x: "y" } }, { metadata: inCluster("a") }, { metadata: inCluster(null) },
    { metadata: { ownerReferences: [GONE] } }, { metadata: { annotations: { a: "b" } } },
  ]) {
    t.match(answerOf(await patch(cluster, foreign, change)), /AC-05 /, JSON.stringify(change));
    t.match(answerOf(await patch(cluster, pathOf(kind, "of-b", "v1beta1"), change)), /AC-05 /);
  }
  const options = { ...JANE, headers: { "content-type": "application/apply-patch+yaml" } };
  const applied = objectOf(kind, "of-b", { spec: { x: "y" } });
  t.match(answerOf(await cluster.request("PATCH", `${foreign}?dryRun=All&fieldManager=j`, applied, options)), OTHER);
  t.match(answerOf(await cluster.request("DELETE", `${foreign}?dryRun=All`, undefined, JANE)), OTHER);
  t.match(answerOf(await cluster.request("DELETE", `${pathOf(kind)}?dryRun=All`, undefined, JANE)), OTHER);
  t.equal((await cluster.request("DELETE", `${own}?dryRun=All`, undefined, JANE)).status, 200);
}

const machinesOf = (clusterName: string, kind: string): object => (
  { clusterName, template: { spec: { clusterName, infrastructureRef: { kind, name: "x" } } } }
);

async function protectsOwners(t: Test, cluster: Cluster): Promise<void> {
  for (const kind of ["Machine", "MachineSet", "MachineDeployment", "MachinePool"]) {
    const createWith = async (spec: object): Promise<string> => (
      answerOf(await create(cluster, kind, { spec }, JANE))
    );
    t.match(await createWith(machinesOf("b", "AWSMachineTemplate")), OTHER, kind);
    t.match(await createWith({ clusterName: "b", infrastructureRef: { kind: "AWSMachine" } }), OTHER, kind);
    t.match(await createWith(machinesOf("nobodys", "AWSMachineTemplate")), EVERY, kind);
    for (const spec of [machinesOf("a", "AWSMachineTemplate"), machinesOf("docker", "DockerMachineTemplate")]) {
      t.equal((await create(cluster, kind, { spec }, JANE)).status, 201, `${kind} ${JSON.stringify(spec)}`);
    }
    const object = objectOf(kind, "of-b", { spec: machinesOf("b", "AWSMachineTemplate") });
    t.equal((await cluster.request("POST", pathOf(kind), object)).status, 201);
    t.match(answerOf(await patch(cluster, pathOf(kind, "of-b"), { spec: { replicas: 0 } })), OTHER, kind);
    t.match(answerOf(await cluster.request("DELETE", `${pathOf(kind, "of-b")}?dryRun=All`, undefined, JANE)), OTHER);
  }
  const plane = { metadata: inCluster("b"), spec: { replicas: 0 } };
  t.match(answerOf(await create(cluster, "KubeadmControlPlane", plane, JANE)), OTHER);
  t.equal((await create(cluster, "KubeadmControlPlane", {}, JANE)).status, 201, "of no Cluster yet");
  const evil = { metadata: { name: "evil" }, spec: { infrastructureRef: { kind: "AWSCluster", name: "b" } } };
  t.match(answerOf(await create(cluster, "Cluster", evil, JANE)), OTHER, "names the AWSCluster of another user");
  const fresh = { metadata: { name: "new" }, spec: { infrastructureRef: { kind: "AWSCluster", name: "new" } } };
  t.equal((await create(cluster, "Cluster", fresh, JANE)).status, 201);
  t.equal((await cluster.request("POST", pathOf("Cluster"), objectOf("Cluster", "b"))).status, 201);
  t.match(answerOf(await patch(cluster, pathOf("Cluster", "b"), { spec: { paused: true } })), OTHER);
  t.match(answerOf(await cluster.request("DELETE", `${pathOf("Cluster", "b")}?dryRun=All`, undefined, JANE)), OTHER);
}

async function allowsControllers(t: Test, cluster: Cluster): Promise<void> {
  const owned = { metadata: { ...inCluster("b"), ownerReferences: [OWNER] } };
  for (const options of [CAPI, KUBEADM, CAPA]) {
    for (const kind of [...MACHINES, "Machine"]) {
      const created = await create(cluster, kind, owned, options);
      t.equal(created.status, 201, answerOf(created));
      t.equal((await patch(cluster, pathOf(kind, "of-b"), owned, options)).status, 200);
      const deleted = await cluster.request("DELETE", `${pathOf(kind, "of-b")}?dryRun=All`, undefined, options);
      t.equal(deleted.status, 200, answerOf(deleted));
    }
    const path = pathOf("AWSCluster", "b");
    const changed = await patch(cluster, path, { metadata: { labels: { x: "y" } }, spec: { region: "a" } }, options);
    t.equal(changed.status, 200, answerOf(changed));
    t.equal((await cluster.request("DELETE", `${path}?dryRun=All`, undefined, options)).status, 200);
  }
  const chosen = await cluster.request("POST", `${pathOf("AWSCluster")}?dryRun=All`, awsCluster("c", "other"), CAPI);
  t.match(answerOf(chosen), OTHER, "Cluster API needs the verb to choose an identity");
  for (const options of CLEANUP) {
    for (const kind of ["AWSCluster", ...MACHINES]) {
      const name = kind === "AWSCluster" ? "b" : "of-b";
      const deleted = await cluster.request("DELETE", `${pathOf(kind, name)}?dryRun=All`, undefined, options);
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
    t.match(answerOf(await create(cluster, kind, { metadata: inCluster("nobodys") }, JANE)), EVERY);
    t.equal((await cluster.request("DELETE", pathOf(kind, "of-b"), undefined, JANE)).status, 200);
  }
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
}
