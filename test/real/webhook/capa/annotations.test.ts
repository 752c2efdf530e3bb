import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { REFERRER_KINDS, type ReferrerKind } from "../../../../shared/core/capa-kinds.ts";
import {
  field, isJsonObject, type JsonObject, stringAt, stringMap,
} from "../../../../shared/formats/json.ts";
import { CAPA_CRDS, REFERRER_CRDS } from "../../../fixtures/capa/crds.ts";
import type { ApiResponse } from "../../apiserver/api-request.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { selectorObject } from "../../../shared/objects.ts";
import { bucket, buckets, patch } from "../buckets.ts";
import { apply, installWebhook, SELECTORS } from "../installed-webhook.ts";
import { auditedPatches, OPTIONS } from "../reconciling/replicas.ts";

const PAGE = readFileSync(new URL("../../../../docs/webhook.md", import.meta.url), "utf8");
const VERSIONS = ["v1beta1", "v1beta2"];
const PREFIX = "ack-role-resolver.io/";
const API = "infrastructure.cluster.x-k8s.io/v1beta2";
const ROLE_IDENTITY = `/apis/${API}/awsclusterroleidentities/workload`;
const CLUSTERS = `/apis/${API}/namespaces/team-a/awsclusters`;
const ROLE = "arn:aws:iam::111122223333:role/workload";
const REFERENCE = { kind: "AWSClusterRoleIdentity", name: "workload" };
const CHAIN = "AWSClusterRoleIdentity/workload,AWSClusterControllerIdentity/default";
const CAPA = { "Impersonate-User": "system:serviceaccount:capa-system:capa-controller-manager" };
const MOVE_LABELS = { "clusterctl.cluster.x-k8s.io/move-hierarchy": "", "cluster.x-k8s.io/cluster-name": "c" };
const FINALIZERS = { metadata: { finalizers: ["awscluster.infrastructure.cluster.x-k8s.io"] } };

onCluster("annotations of clusters on a real API server", async (t, cluster) => {
  await apply(cluster, [...CAPA_CRDS, ...REFERRER_CRDS]);
  await until(async () => (await cluster.request("GET", CLUSTERS)).status === 200);
  await createIdentities(cluster);
  await installWebhook(t, cluster, [`--namespace=${OPTIONS.namespace}`]);
  await apply(cluster, manifestObjects("policies", OPTIONS));
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("a create adds the annotations, and changes nothing else", annotatesCreated);
  await run("the webhook does not change the writes of CAPA", leavesCAPA);
  await run("server-side apply without the annotations keeps them, and repeats without a change", repeatsApply);
  await run("the documented commands wait until the leader writes the annotations", waitsForAnnotations);
  await run("a changed identity changes the annotations, but its resource version does not", followsIdentity);
});

async function createIdentities(cluster: Cluster): Promise<void> {
  const identity = (kind: string, name: string, spec: object): object => (
    { apiVersion: API, kind: `AWSCluster${kind}Identity`, metadata: { name }, spec }
  );
  await apply(cluster, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a", labels: { team: "a" } } },
    identity("Controller", "default", { allowedNamespaces: { list: ["team-a"] } }),
    identity("Role", "workload", {
      roleARN: ROLE, sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
      allowedNamespaces: { selector: { matchLabels: { team: "a" } } },
    }),
    {
      apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "capa" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", namespace: "capa-system", name: "capa-controller-manager" }],
    },
  ]);
}

function objectOf({ group, kind, isTemplate }: ReferrerKind, version: string, metadata: object = {}): JsonObject {
  const spec = { region: "eu-west-1", identityRef: REFERENCE };
  return {
    apiVersion: `${group}/${version}`, kind, metadata: { name: `c-${version}`, ...metadata },
    spec: isTemplate ? { template: { spec } } : spec,
  };
}

function pathOf({ group, plural }: ReferrerKind, version: string): string {
  return `/apis/${group}/${version}/namespaces/team-a/${plural}`;
}

function annotationsOf(object: unknown): ReadonlyMap<string, string> {
  return stringMap(field(field(object, "metadata"), "annotations"));
}

/** Returns the spec and the labels, which the webhook must not change. */
function contentOf(object: unknown): unknown {
  return [field(object, "spec"), field(field(object, "metadata"), "labels")];
}

async function get(cluster: Cluster, path: string): Promise<JsonObject> {
  const { body } = await cluster.request("GET", path);
  return isJsonObject(body) ? body : {};
}

/** Creates an object without storing it, as CAPA, whose writes the webhook does not change. */
async function plainCreate(cluster: Cluster, path: string, object: object): Promise<ApiResponse> {
  return cluster.request("POST", `${path}?dryRun=All`, object, { headers: CAPA });
}

async function annotatesCreated(t: Test, cluster: Cluster): Promise<void> {
  for (const kind of REFERRER_KINDS) {
    for (const version of VERSIONS) {
      const object = objectOf(kind, version, { labels: MOVE_LABELS });
      const path = pathOf(kind, version);
      const plain = await plainCreate(cluster, path, object);
      t.equal(annotationsOf(plain.body).size, 0, "a create of CAPA is not changed");
      const { status, body } = await cluster.request("POST", path, object);
      t.equal(status, 201, stringAt(body, "message") ?? path);
      const annotations = annotationsOf(body);
      t.match(Object.fromEntries(annotations), {
        [`${PREFIX}outcome`]: "selected", [`${PREFIX}via`]: "identity", [`${PREFIX}role-arn`]: ROLE,
        [`${PREFIX}identity-chain`]: CHAIN, [`${PREFIX}reason`]: /provides the credentials/,
      }, `${kind.kind} ${version}`);
      t.equal(annotations.size, 5);
      t.same(contentOf(body), contentOf(plain.body), "the defaults and the labels are those of the API server");
    }
  }
  t.match(await get(cluster, `${CLUSTERS}/c-v1beta1`), { spec: { controlPlaneLoadBalancer: { scheme: /internet/ } } });
}

async function leavesCAPA(t: Test, cluster: Cluster): Promise<void> {
  const path = `${CLUSTERS}/capa`;
  const [kind] = REFERRER_KINDS;
  if (kind === undefined) throw new Error("no kind");
  const created = await cluster.request("POST", CLUSTERS, objectOf(kind, "v1beta2", { name: "capa" }), {
    headers: CAPA,
  });
  t.same([created.status, annotationsOf(created.body).size], [201, 0]);
  t.equal((await patch(cluster, path, FINALIZERS)).status, 200);
  t.equal((await cluster.request("DELETE", path)).status, 200);
  const removed = await patch(cluster, path, { metadata: { finalizers: null } });
  t.equal(removed.status, 200, "an object that is being deleted loses its finalizer");
}

/** The topology controller of Cluster API writes objects with server-side apply, first as a dry run. */
async function repeatsApply(t: Test, cluster: Cluster): Promise<void> {
  const [, kind] = REFERRER_KINDS;
  if (kind === undefined) throw new Error("no kind");
  const object = JSON.stringify(objectOf(kind, "v1beta2", { name: "topology", namespace: "team-a" }));
  const path = `${pathOf(kind, "v1beta2")}/topology`;
  const applied = async (flags: readonly string[] = []): Promise<void> => {
    const { code, stderr } = await cluster.kubectl([
      "apply", "--server-side", "--field-manager=capi-topology", ...flags, "-f", "-",
    ], { input: object });
    t.equal(code, 0, stderr);
  };
  await applied();
  const first = await get(cluster, path);
  t.equal(annotationsOf(first).get(`${PREFIX}identity-chain`), CHAIN);
  await applied(["--dry-run=server"]);
  await applied();
  const second = await get(cluster, path);
  t.same([field(second, "metadata"), field(second, "spec")], [field(first, "metadata"), field(first, "spec")]);
}

/** Runs the commands of docs/webhook.md for a cluster that CAPA wrote, and a bucket that the next selector selects. */
async function waitsForAnnotations(t: Test, cluster: Cluster): Promise<void> {
  const commands = [...PAGE.matchAll(/^kubectl (-n team-a wait .*)$/gm)].map(([, command = ""]) => command);
  t.equal(commands.length, 2);
  const prod = { apiVersion: API, kind: "AWSCluster", metadata: { name: "prod" }, spec: { identityRef: REFERENCE } };
  const created = await cluster.request("POST", buckets("team-a"), bucket("b1"));
  t.equal(annotationsOf(created.body).get(`${PREFIX}outcome`), "default");
  await cluster.request("POST", CLUSTERS, prod, { headers: CAPA });
  const waiting = commands.map((command) => cluster.kubectl(command.replaceAll("'", "").split(" ")));
  const spec = { arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: { names: ["team-a"] } };
  await cluster.request("POST", SELECTORS, selectorObject("team-a", spec));
  const results = await Promise.all(waiting);
  for (const { code, stdout, stderr } of results) t.match([code, stdout], [0, /condition met/], stderr);
}

async function followsIdentity(t: Test, cluster: Cluster): Promise<void> {
  const outcomes = async (): Promise<string[]> => {
    const paths = REFERRER_KINDS.flatMap((kind) => (
      VERSIONS.map((version) => `${pathOf(kind, "v1beta2")}/c-${version}`)
    ));
    const all = [...paths, `${CLUSTERS}/prod`, `/apis/${API}/namespaces/team-a/awsclustertemplates/topology`];
    const objects = await Promise.all(all.map((path) => get(cluster, path)));
    return objects.map((object) => annotationsOf(object).get(`${PREFIX}outcome`) ?? "none");
  };
  const before = await get(cluster, `${CLUSTERS}/c-v1beta2`);
  t.equal((await patch(cluster, ROLE_IDENTITY, { metadata: { labels: { a: "b" } } })).status, 200);
  const allow = (team: string): object => ({ metadata: { annotations: { [`${PREFIX}allow`]: "CI-07" } },
    spec: { allowedNamespaces: { selector: { matchLabels: { team } } } } });
  const changed = await patch(cluster, ROLE_IDENTITY, allow("b"));
  t.equal(changed.status, 200, stringAt(changed.body, "message") ?? "");
  const are = (outcome: string) => async (): Promise<boolean> => (await outcomes()).every((one) => one === outcome);
  t.ok(await until(are("refused")), (await outcomes()).join());
  const after = await get(cluster, `${CLUSTERS}/c-v1beta2`);
  t.match(annotationsOf(after).get(`${PREFIX}reason`), /does not allow the namespace "team-a"/);
  t.same(contentOf(after), contentOf(before));
  t.equal(field(field(after, "metadata"), "generation"), field(field(before, "metadata"), "generation"));
  t.match(JSON.stringify(field(field(after, "metadata"), "managedFields")), '"manager":"ack-role-resolver-reconciler"');
  await patch(cluster, "/api/v1/namespaces/team-a", { metadata: { labels: { team: "b" } } });
  t.ok(await until(are("selected")), "a label of the namespace");
  const patches = await auditedPatches(cluster);
  t.same(patches.filter(({ status }) => status !== 200), [], "no write is denied");
  const written = patches.length;
  const ofTopology = patches.filter(({ name }) => name === "topology").length;
  t.equal(ofTopology, 2, "each object is written once for each change of its outcome");
  await patch(cluster, ROLE_IDENTITY, { metadata: { labels: { a: "c" } } });
  await patch(cluster, "/api/v1/namespaces/team-a", { metadata: { labels: { other: "x" } } });
  // A scan follows each change, also the change of this identity. Its cluster is then the only one that is written.
  const [kind] = REFERRER_KINDS;
  if (kind === undefined) throw new Error("no kind");
  await cluster.request("POST", CLUSTERS, objectOf(kind, "v1beta2", { name: "late" }), { headers: CAPA });
  const isLate = async (): Promise<boolean> => annotationsOf(await get(cluster, `${CLUSTERS}/late`)).size === 5;
  t.ok(await until(isLate), "the leader annotates what CAPA wrote");
  t.same((await auditedPatches(cluster)).slice(written).map(({ name }) => name), ["late"]);
}

