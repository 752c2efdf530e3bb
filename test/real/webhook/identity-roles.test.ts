import { identityRoles, serviceAccountIdentityCRD } from "../../../manifests/capa/parts.ts";
import { nameOf } from "../../../manifests/rbac.ts";
import { CAPA_CRDS, PART_CRDS, REFERRER_CRDS } from "../../fixtures/capa/crds.ts";
import { clusterObject, identityObject, INFRASTRUCTURE, roleIdentity } from "../../shared/capa-objects.ts";
import type { RequestOptions } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { apply, installWebhook } from "./installed-webhook.ts";
import { answerOf, RBAC } from "./requests.ts";

const ROLES = `/apis/${INFRASTRUCTURE}/v1beta2/awsclusterroleidentities`;
const inNamespace = (namespace: string, plural: string, group = INFRASTRUCTURE): string => (
  `/apis/${group}/v1beta2/namespaces/${namespace}/${plural}`
);
const as = (user: string): RequestOptions => ({ headers: { "impersonate-user": user } });

/** Binds a role in the namespace, or in the whole cluster. */
function binding(role: string, user: string, namespace?: string): object {
  return {
    apiVersion: `${RBAC}/v1`, kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: { name: `${user}-${role}`, namespace }, subjects: [{ apiGroup: RBAC, kind: "User", name: user }],
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: nameOf(role) },
  };
}

const USED = clusterObject("new", "role/shared", "team-a");
const MACHINE = {
  apiVersion: `${INFRASTRUCTURE}/v1beta2`, kind: "AWSMachineTemplate", metadata: { name: "new" }, spec: {},
};
const OWN = identityObject("AWSServiceAccountIdentity", "new", { roleARN: "arn:aws:iam::111122223333:role/own" });

/**
 * A request of a dry run, and the statuses for the administrator, the platform team and the tenant of team-a: 403
 * without the right, 422 without the verb `use`, and 404 with the right to a kind that is not installed.
 */
type Row = readonly [what: string, method: "POST" | "DELETE", path: string, body: object | undefined, statuses: string];

const TABLE: readonly Row[] = [
  ["create an AWSClusterRoleIdentity", "POST", ROLES, roleIdentity("new"), "201 403 403"],
  ["delete an AWSClusterRoleIdentity", "DELETE", `${ROLES}/unused`, undefined, "200 403 403"],
  ["delete all AWSClusterRoleIdentities", "DELETE", ROLES, undefined, "403 403 403"],
  ["create an AWSServiceAccountIdentity", "POST", inNamespace("team-a", "awsserviceaccountidentities"), OWN,
    "201 201 201"],
  ["create a cluster", "POST", inNamespace("team-a", "awsclusters"), USED, "403 201 422"],
  ["create a cluster in another namespace", "POST", inNamespace("team-b", "awsclusters"), USED, "403 403 403"],
  ["create a template of machines", "POST", inNamespace("team-a", "awsmachinetemplates"), MACHINE, "403 404 404"],
  ["delete all clusters", "DELETE", inNamespace("team-a", "awsclusters"), undefined, "403 403 403"],
];
const USERS = ["administrator", "platform", "tenant"];

onCluster("the roles for users of CAPA allow what its proposal states, on a real API server", async (t, cluster) => {
  await apply(cluster, [...CAPA_CRDS, ...REFERRER_CRDS, ...PART_CRDS, serviceAccountIdentityCRD()]);
  for (const name of ["team-a", "team-b"]) {
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  for (const [, , path] of TABLE.filter(([what]) => !what.includes("template"))) {
    await until(async () => (await cluster.request("GET", path.replace(/\/unused$/, ""))).status === 200);
  }
  await apply(cluster, [
    ...identityRoles(), binding("identity-owner", "administrator"),
    ...["platform", "tenant"].map((user) => binding("identity-tenant", user, "team-a")),
    binding("identity-user", "platform", "team-a"), roleIdentity("shared"), roleIdentity("unused"),
  ]);
  await installWebhook(t, cluster, ["--check", "AC-05=deny"]);
  const created = async (): Promise<boolean> => (
    (await cluster.request("POST", `${inNamespace("team-a", "awsclusters")}?dryRun=All`, USED, as("platform"))).status
      === 201
  );
  t.ok(await until(created), "the inventory has the identity");
  for (const [what, method, path, body, expected] of TABLE) {
    const responses = await Promise.all(USERS.map((user) => (
      cluster.request(method, `${path}?dryRun=All`, body, as(user))
    )));
    const statuses = responses.map(({ status }) => status).join(" ");
    t.equal(statuses, expected, `${what}: ${responses.map(answerOf).join("; ")}`);
  }
});
