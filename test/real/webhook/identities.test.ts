import type { Test } from "tap";
import { stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import { CAPA_CRDS } from "../../fixtures/capa/crds.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { apply, installWebhook } from "./installed-webhook.ts";

const EFFECT_LIMIT_MS = 10_000;
const API = "infrastructure.cluster.x-k8s.io/v1beta2";
const ROLES = `/apis/${API}/awsclusterroleidentities`;
const CONTROLLERS = `/apis/${API}/awsclustercontrolleridentities`;
const STATICS = `/apis/${API}/awsclusterstaticidentities`;
const CLUSTERS = `/apis/${API}/namespaces/team-a/awsclusters`;
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };

const identity = (kind: string, name: string, spec: object, metadata: object = {}): object => (
  { apiVersion: API, kind: `AWSCluster${kind}Identity`, metadata: { name, ...metadata }, spec }
);
const role = (name: string, rest: object = {}): object => identity("Role", name, {
  roleARN: `arn:aws:iam::111122223333:role/${name}`, allowedNamespaces: { list: ["team-a"] },
  sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" }, ...rest,
});
const awsCluster = (name: string, identityRef?: object): object => (
  { apiVersion: API, kind: "AWSCluster", metadata: { name }, spec: { identityRef } }
);
const refTo = (name: string): object => ({ kind: "AWSClusterRoleIdentity", name });

onCluster("CAPA identities on a real API server", async (t, cluster) => {
  const broken = identity("Static", "broken", {
    secretRef: "a", allowedNamespaces: { selector: { matchLabels: { "-a": "b" } } },
  }, { finalizers: ["example.com/hold"] });
  await apply(cluster, CAPA_CRDS);
  await until(async () => (await cluster.request("GET", STATICS)).status === 200, EFFECT_LIMIT_MS);
  await cluster.request("POST", STATICS, broken);
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "team-a" } });
  await installWebhook(t, cluster);
  await t.test("admits CAPA's own objects", async (tt) => admitsOwnObjects(tt, cluster));
  await t.test("denies each fault of an identity, with the fix", async (tt) => deniesFaults(tt, cluster));
  await t.test("denies a cluster that moves, and the deletion of an identity in use", async (tt) => (
    deniesMoves(tt, cluster)
  ));
  await t.test("a stored identity whose selector is not valid loses its finalizer", async (tt) => {
    const patch = await cluster.request("PATCH", `${STATICS}/broken`, { metadata: { finalizers: null } }, {
      headers: MERGE_PATCH,
    });
    tt.equal(patch.status, 200);
    tt.equal((await cluster.request("DELETE", `${STATICS}/broken`)).status, 200);
  });
});

async function admitsOwnObjects(t: Test, cluster: Cluster): Promise<void> {
  const labels = { "clusterctl.cluster.x-k8s.io/move-hierarchy": "" };
  const spec = { allowedNamespaces: { list: null, selector: {} } };
  const created = await cluster.request("POST", CONTROLLERS, identity("Controller", "default", spec, { labels }));
  t.equal(created.status, 201, stringAt(created.body, "message") ?? "");
}

async function deniesFaults(t: Test, cluster: Cluster): Promise<void> {
  const applied = JSON.stringify({ spec: { allowedNamespaces: { namespaces: ["team-a"] } } });
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": applied };
  const cases: readonly (readonly [path: string, object: object, message: RegExp])[] = [
    [ROLES, identity("Role", "p", {
      roleARN: "arn:aws:iam::111122223333:role/p", allowedNamespaces: {},
      sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
    }, { annotations }), /CI-09 .*was pruned by the API server.*Use only/],
    [ROLES, role("cycle", { sourceIdentityRef: refTo("cycle") }), /CI-25 .*form a cycle: "cycle" -> "cycle"/],
    [ROLES, role("policies", { policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"] }),
      /CI-23 .*Write the restriction/],
    [ROLES, role("digits", { roleARN: "arn:aws:iam::123456789:role/a" }), /CI-20 .*not 12 digits/],
    [STATICS, identity("Static", "empty", { allowedNamespaces: { list: ["team-a"] } }), /CI-11 .*secretRef is missing/],
    [CONTROLLERS, identity("Controller", "other", {}), /CI-01 .*"other" is not default/],
  ];
  for (const [path, object, message] of cases) {
    const { status, body } = await cluster.request("POST", path, object);
    t.equal(status, 422);
    t.match(stringAt(body, "message"), message);
  }
}

async function deniesMoves(t: Test, cluster: Cluster): Promise<void> {
  t.equal((await cluster.request("POST", ROLES, role("used"))).status, 201);
  const create = async (): Promise<boolean> => (
    (await cluster.request("POST", CLUSTERS, awsCluster("c", refTo("used")))).status === 201
  );
  t.ok(await until(create, EFFECT_LIMIT_MS));
  const removed = { spec: { identityRef: { kind: "AWSClusterControllerIdentity", name: "default" } } };
  const move = await cluster.request("PATCH", `${CLUSTERS}/c`, removed, { headers: MERGE_PATCH });
  t.equal(move.status, 422);
  t.match(stringAt(move.body, "message"),
    /AC-04 .*from account 111122223333 to the account of CAPA\. Keep identityRef/);
  const denied = async (): Promise<boolean> => (
    (stringAt((await cluster.request("DELETE", `${ROLES}/used?dryRun=All`)).body, "message") ?? "").includes("CI-31")
  );
  t.ok(await until(denied, EFFECT_LIMIT_MS), "the inventory has the cluster");
}
