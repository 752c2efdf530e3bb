import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { CAPA_CRDS } from "../../fixtures/capa/crds.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { apply, installWebhook } from "./installed-webhook.ts";

const GROUP = "infrastructure.cluster.x-k8s.io";
const API = `${GROUP}/v1beta2`;
const CLUSTERS = `/apis/${API}/namespaces/team-a/awsclusters`;
const RBAC = "rbac.authorization.k8s.io";
const JANE = { user: "jane" } as const;

const role = (name: string): object => ({
  apiVersion: API, kind: "AWSClusterRoleIdentity", metadata: { name },
  spec: {
    roleARN: `arn:aws:iam::111122223333:role/${name}`, allowedNamespaces: { list: ["team-a"] },
    sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
  },
});
const controller = {
  apiVersion: API, kind: "AWSClusterControllerIdentity", metadata: { name: "default" },
  spec: { allowedNamespaces: { list: ["team-a"] } },
};
const awsCluster = (name: string, identity: string): object => ({
  apiVersion: API, kind: "AWSCluster", metadata: { name },
  spec: { identityRef: { kind: "AWSClusterRoleIdentity", name: identity } },
});

/** Returns a Role in namespace team-a, and its binding to the user jane. */
function grant(name: string, rule: object): object[] {
  const metadata = { name, namespace: "team-a" };
  const subjects = [{ apiGroup: RBAC, kind: "User", name: "jane" }];
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: [{ apiGroups: [GROUP], ...rule }] },
    {
      apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, subjects,
      roleRef: { apiGroup: RBAC, kind: "Role", name },
    },
  ];
}

onCluster("the verb use on CAPA identities, on a real API server", async (t, cluster) => {
  await apply(cluster, CAPA_CRDS);
  await until(async () => (await cluster.request("GET", CLUSTERS)).status === 200);
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "team-a" } });
  await apply(cluster, [
    controller, role("mine"), role("other"),
    ...grant("write-clusters", { resources: ["awsclusters"], verbs: ["*"] }),
    ...grant("use-mine", { resources: ["awsclusterroleidentities"], resourceNames: ["mine"], verbs: ["use"] }),
  ]);
  await installWebhook(t, cluster, ["--check", "AC-05=deny"]);
  await t.test("allows and denies by the identity", async (tt) => allowsOnlyUse(tt, cluster));
  await t.test("a RoleBinding in the namespace of the cluster grants the verb", async (tt) => grantsUse(tt, cluster));
});

function messageOf({ body }: ApiResponse): string {
  return stringAt(body, "message") ?? "";
}

async function change(cluster: Cluster, name: string, patch: object): Promise<ApiResponse> {
  const headers = { "content-type": "application/merge-patch+json" };
  return await cluster.request("PATCH", `${CLUSTERS}/${name}`, patch, { ...JANE, headers });
}

const useOf = (identity: object): object => ({ spec: { identityRef: identity } });

async function allowsOnlyUse(t: Test, cluster: Cluster): Promise<void> {
  const created = await cluster.request("POST", CLUSTERS, awsCluster("c", "mine"), JANE);
  t.equal(created.status, 201, messageOf(created));
  const denied = await cluster.request("POST", CLUSTERS, awsCluster("d", "other"), JANE);
  t.equal(denied.status, 422);
  t.match(messageOf(denied), /AC-05 spec\.identityRef: the requester may not use AWSClusterRoleIdentity "other"/);
  t.match(messageOf(denied), /Create a Role in namespace team-a with .*resourceNames: \[other\], verbs: \[use\]/);
  const removed = await change(cluster, "c", { spec: { identityRef: null } });
  t.match(messageOf(removed), /AC-05 .*may not use AWSClusterControllerIdentity "default"/);
  t.equal((await change(cluster, "c", { spec: { region: "eu-west-1" } })).status, 200);
  t.equal((await cluster.request("POST", CLUSTERS, awsCluster("admins", "other"))).status, 201, "an administrator");
  const edited = await change(cluster, "admins", { spec: { region: "eu-west-1" } });
  t.match(messageOf(edited), /AC-05 .*may not use AWSClusterRoleIdentity "other"/, "the identity stays the same");
}

async function grantsUse(t: Test, cluster: Cluster): Promise<void> {
  const other = { kind: "AWSClusterRoleIdentity", name: "other" };
  t.match(messageOf(await change(cluster, "c", useOf(other))), /AC-05 /);
  await apply(cluster, grant("use-other", {
    resources: ["awsclusterroleidentities"], resourceNames: ["other"], verbs: ["use"],
  }));
  t.ok(await until(async () => (await change(cluster, "c", useOf(other))).status === 200));
}
