import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { ROLE, selectorObject } from "../../shared/decisions/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { bucket, buckets, patch } from "./buckets.ts";
import { apply, installWebhook, SELECTORS } from "./installed-webhook.ts";

const NAMESPACES = "/api/v1/namespaces";
const TEAM_A = `${NAMESPACES}/team-a`;
const JANE = { user: "jane" } as const;
const REQUIRED = "ack-role-resolver.io/selector-required";
const GOLD = { labels: { tier: "gold" } };
const RBAC = "rbac.authorization.k8s.io";

/** Returns a ClusterRole of the user jane, and its binding in all namespaces or in one. */
function grant(name: string, rules: readonly object[], namespace?: string): object[] {
  const subjects = [{ apiGroup: RBAC, kind: "User", name: "jane" }];
  const kind = namespace === undefined ? "ClusterRoleBinding" : "RoleBinding";
  return [
    { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name }, rules },
    {
      apiVersion: `${RBAC}/v1`, kind, metadata: { name, namespace }, subjects,
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
    },
  ];
}

const use = (resourceNames: readonly string[]): object => (
  { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], resourceNames, verbs: ["use"] }
);

/** The selector gold selects by a label of the resource, and the selector env by a label of the namespace. */
const OBJECTS = [
  selectorObject("gold", {
    arn: ROLE, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: { matchLabels: { tier: "gold" } },
  }),
  selectorObject("env", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } }),
].map((selector) => [SELECTORS, selector] as const);

onCluster("the controllers' own role on a real API server, with ACK-09 and NS-02", async (t, cluster) => {
  await installWebhook(t, cluster, ["--check", "ACK-09=deny", "--check", "NS-02=deny"]);
  await apply(cluster, grant("jane", [
    { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["*"] },
    { apiGroups: [""], resources: ["namespaces", "namespaces/status", "namespaces/finalize"], verbs: ["*"] },
    use(["gold", "env"]),
  ]));
  const namespaces = [
    { name: "team-a" }, { name: "team-b", labels: { env: "prod" } }, { name: "empty" },
    { name: "strict", annotations: { [REQUIRED]: "true" } },
  ].map((metadata) => [NAMESPACES, { metadata }] as const);
  for (const [path, object] of [...namespaces, ...OBJECTS, [buckets("team-a"), bucket("admins")] as const]) {
    t.equal((await cluster.request("POST", path, object)).status, 201, JSON.stringify(object));
  }
  const hasSelectors = async (): Promise<boolean> => (
    (await cluster.request("POST", `${buckets("team-a")}?dryRun=All`, bucket("probe", GOLD), JANE)).status === 201
  );
  t.ok(await until(hasSelectors), "the inventory has the selectors");
  await t.test("denies each write of a resource that uses this role", async (tt) => deniesWrites(tt, cluster));
  await t.test("denies a label change of a namespace that ends its selection", async (tt) => deniesLabels(tt, cluster));
  await t.test("denies the removal of selector-required, also through the subresources of the namespace", async (tt) =>
    keepsRequirement(tt, cluster));
  await t.test("allows a user who has the verb `use` on ack-role-resolver:default", async (tt) => grants(tt, cluster));
});

function messageOf({ body }: ApiResponse): string {
  return stringAt(body, "message") ?? "";
}

const MAY_NOT_USE = /ACK-09 metadata: the requester may not use the controllers' own role, which the resource use[sd]/;

async function deniesWrites(t: Test, cluster: Cluster): Promise<void> {
  const created = await cluster.request("POST", buckets("team-a"), bucket("plain"), JANE);
  t.equal(created.status, 422);
  t.match(messageOf(created), MAY_NOT_USE);
  t.match(messageOf(created), /resourceNames: \[ack-role-resolver:default\], verbs: \[use\]/);
  const elsewhere = await cluster.request("POST", buckets("empty"), bucket("plain", {}, "empty"), JANE);
  t.match(messageOf(elsewhere), MAY_NOT_USE, "a namespace without a selector");
  const generated = { metadata: { name: undefined, generateName: "x-" } };
  const ofName = await cluster.request("POST", buckets("team-a"), { ...bucket("x"), ...generated }, JANE);
  t.match(messageOf(ofName), MAY_NOT_USE, "generateName");
  const path = buckets("team-a", "mine");
  t.equal((await cluster.request("POST", buckets("team-a"), bucket("mine", GOLD), JANE)).status, 201);
  const labels = await patch(cluster, path, { metadata: { labels: { tier: null } } }, JANE);
  t.match(messageOf(labels), MAY_NOT_USE, "a removed label");
  const input = JSON.stringify(bucket("mine"));
  const headers = { "content-type": "application/apply-patch+yaml" };
  const admins = buckets("team-a", "admins");
  const applied = await cluster.request(
    "PATCH", `${buckets("team-a", "applied")}?fieldManager=jane`, JSON.parse(input.replaceAll("mine", "applied")),
    { ...JANE, headers },
  );
  t.match(messageOf(applied), MAY_NOT_USE, "server-side apply");
  t.match(messageOf(await patch(cluster, admins, { spec: { acl: "public-read" } }, JANE)), MAY_NOT_USE);
  t.match(messageOf(await patch(cluster, admins, { metadata: GOLD }, JANE)), MAY_NOT_USE, "the stored resource");
  t.match(messageOf(await cluster.request("DELETE", admins, undefined, JANE)), MAY_NOT_USE);
  const collection = await cluster.request("DELETE", buckets("team-a"), undefined, JANE);
  t.match(messageOf(collection), MAY_NOT_USE, "deletecollection");
}

const MAY_NOT_LEAVE = /NS-02 metadata\.labels: the requester may not use the controllers' own role/;

async function deniesLabels(t: Test, cluster: Cluster): Promise<void> {
  for (const subresource of ["", "/status"]) {
    const path = `${NAMESPACES}/team-b${subresource}`;
    for (const env of [null, "dev"]) {
      const changed = await patch(cluster, path, { metadata: { labels: { env } } }, JANE);
      t.match(messageOf(changed), MAY_NOT_LEAVE, `${path} ${env}`);
    }
  }
  const finalized = await cluster.request("PUT", `${NAMESPACES}/team-b/finalize`, plainNamespace("team-b"), JANE);
  t.match(messageOf(finalized), MAY_NOT_LEAVE);
  const other = await patch(cluster, `${NAMESPACES}/team-b`, { metadata: { labels: { cost: "7" } } }, JANE);
  t.equal(other.status, 200, messageOf(other));
}

function plainNamespace(name: string): object {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: ["kubernetes"] } };
}

async function keepsRequirement(t: Test, cluster: Cluster): Promise<void> {
  const strict = `${NAMESPACES}/strict`;
  const requirement = (value: string | null): object => ({ metadata: { annotations: { [REQUIRED]: value } } });
  for (const subresource of ["", "/status"]) {
    for (const value of [null, "false", "True", ""]) {
      const changed = await patch(cluster, `${strict}${subresource}`, requirement(value), JANE);
      t.match(messageOf(changed), /NS-17 metadata\.annotations\[ack-role-resolver\.io\/selector-req/, `${value}`);
    }
  }
  for (const path of [`${strict}/finalize`, strict]) {
    t.match(messageOf(await cluster.request("PUT", path, plainNamespace("strict"), JANE)), /NS-17 /, path);
  }
  const set = await patch(cluster, TEAM_A, requirement("true"), JANE);
  t.equal(set.status, 200, messageOf(set));
  t.equal((await patch(cluster, TEAM_A, requirement(null))).status, 200, "an administrator");
}

async function grants(t: Test, cluster: Cluster): Promise<void> {
  await apply(cluster, grant("use-default", [use(["ack-role-resolver:default"])], "team-a"));
  const edit = async (): Promise<ApiResponse> => (
    patch(cluster, buckets("team-a", "admins"), { spec: { acl: "public-read" } }, JANE)
  );
  t.ok(await until(async () => (await edit()).status === 200));
  t.equal((await cluster.request("POST", buckets("team-a"), bucket("plain"), JANE)).status, 201);
  const elsewhere = await cluster.request("POST", buckets("empty"), bucket("plain", {}, "empty"), JANE);
  t.match(messageOf(elsewhere), MAY_NOT_USE, "the RoleBinding applies to one namespace");
  t.equal((await cluster.request("DELETE", buckets("team-a", "plain"), undefined, JANE)).status, 200);
  t.equal((await cluster.request("DELETE", `${NAMESPACES}/empty`, undefined, JANE)).status, 200, "a namespace");
}
