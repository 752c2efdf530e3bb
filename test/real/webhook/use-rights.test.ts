import type { Test } from "tap";
import { ROLE, selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { bucket, buckets, GOLD, patch, warnings } from "./buckets.ts";
import { apply, installWebhook, SELECTORS } from "./installed-webhook.ts";
import { answerOf, create, grant, JANE, NAMESPACES, RBAC } from "./requests.ts";

const REQUIRED = "ack-role-resolver.io/selector-required";
const SILVER = { labels: { tier: "silver" } };
const SUBJECT = { apiGroup: RBAC, kind: "User", name: "jane" };
const CONTROLLER = { kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" };
const OWN = buckets("team-a", "admins");
const OTHER = buckets("team-a", "silver");
const TEAM_B = `${NAMESPACES}/team-b`;

const use = (resourceNames: readonly string[]): object => (
  { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], resourceNames, verbs: ["use"] }
);

function byTier(tier: string): object {
  const resourceLabelSelector = { matchLabels: { tier } };
  return selectorObject(tier, { arn: ROLE, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector });
}

onCluster("the verb use, with ACK-09 and NS-02, on a real API server", async (t, cluster) => {
  const flags = ["--controller-users", "ack-system/ack-s3-controller", "--check", "ACK-09=deny"];
  await installWebhook(t, cluster, [...flags, "--check", "NS-02=deny"]);
  await apply(cluster, grant("write", [
    { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["*"] },
    { apiGroups: [""], resources: ["namespaces", "namespaces/status", "namespaces/finalize"], verbs: ["*"] },
  ], [SUBJECT, CONTROLLER]));
  await apply(cluster, grant("use", [use(["gold", "env"])], [SUBJECT]));
  for (const metadata of [
    { name: "team-a" }, { name: "team-b", labels: { env: "prod" } }, { name: "empty" },
    { name: "strict", annotations: { [REQUIRED]: "true" } },
  ]) await create(cluster, NAMESPACES, { metadata });
  for (const tier of ["gold", "silver"]) await create(cluster, SELECTORS, byTier(tier));
  const ofProd = { labelSelector: { matchLabels: { env: "prod" } } };
  await create(cluster, SELECTORS, selectorObject("env", { arn: ROLE, namespaceSelector: ofProd }));
  await create(cluster, buckets("team-a"), bucket("admins"));
  await create(cluster, buckets("team-a"), bucket("silver", SILVER));
  const hasSelectors = async (): Promise<boolean> => (
    (await cluster.request("POST", `${buckets("team-a")}?dryRun=All`, bucket("probe", GOLD), JANE)).status === 201
  );
  t.ok(await until(hasSelectors), "the inventory has the selectors");
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("denies each creation of a resource whose role the user may not use", deniesCreations);
  for (const [path, message] of [[OWN, MAY_NOT_DEFAULT], [OTHER, MAY_NOT_SILVER]] as const) {
    await t.test(`denies each write of ${path}, but not to an ACK controller`, async (tt) => {
      await deniesWrites(tt, cluster, path, message);
    });
  }
  await run("denies a label change of a namespace that ends its selection", deniesLabels);
  await run("denies the removal of selector-required, also through the subresources", keepsRequirement);
  await run("a RoleBinding in the namespace of the resource grants the verb", allowsByRoleBinding);
});

const MAY_NOT_DEFAULT = new RegExp("^422 .*ACK-09 metadata: the requester may not use the controllers' own role, which "
  + String.raw`the resource use[sd].*resourceNames: \[ack-role-resolver:default\], verbs: \[use\]`, "s");
const MAY_NOT_SILVER = new RegExp("^422 .*ACK-09 metadata: the requester may not use IAMRoleSelector silver, which "
  + String.raw`select[a-z]* .*Create a Role in namespace team-a with .*resourceNames: \[silver\], verbs: \[use\]`, "s");

async function deniesCreations(t: Test, cluster: Cluster): Promise<void> {
  const all = buckets("team-a");
  const generated = { ...bucket("x"), metadata: { generateName: "x-" } };
  const headers = { "content-type": "application/apply-patch+yaml" };
  const path = `${buckets("team-a", "applied")}?fieldManager=jane`;
  for (const [message, response] of [
    [MAY_NOT_DEFAULT, await cluster.request("POST", all, bucket("plain"), JANE)],
    [MAY_NOT_SILVER, await cluster.request("POST", all, bucket("new", SILVER), JANE)],
    [MAY_NOT_DEFAULT, await cluster.request("POST", all, generated, JANE)],
    [MAY_NOT_DEFAULT, await cluster.request("PATCH", path, bucket("applied"), { ...JANE, headers })],
  ] as const) t.match(answerOf(response), message);
  for (const namespace of ["kube-system", "ack-role-resolver"]) {
    const system = await cluster.request("POST", buckets(namespace), bucket("plain", {}, namespace), JANE);
    t.match(answerOf(system), MAY_NOT_DEFAULT, namespace);
  }
  const mine = await cluster.request("POST", all, bucket("mine", GOLD), JANE);
  t.equal(mine.status, 201, answerOf(mine));
}

async function deniesWrites(t: Test, cluster: Cluster, path: string, message: RegExp): Promise<void> {
  const annotations = { "services.k8s.aws/deletion-policy": "delete" };
  t.match(answerOf(await patch(cluster, path, { spec: { acl: "public-read" } }, JANE)), message);
  t.match(answerOf(await cluster.request("DELETE", path, undefined, JANE)), message);
  t.match(answerOf(await cluster.request("DELETE", buckets("team-a"), undefined, JANE)), /^422 .*ACK-09 /s, "all");
  const changed = await patch(cluster, path, { metadata: { annotations } }, { user: "controller" });
  t.equal(changed.status, 200);
  t.notMatch(warnings(changed).join("\n"), "ACK-09 ");
}

const MAY_NOT_LEAVE = /^422 .*NS-02 metadata\.labels: the requester may not use the controllers' own role/s;

function plainNamespace(name: string): object {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: ["kubernetes"] } };
}

async function deniesLabels(t: Test, cluster: Cluster): Promise<void> {
  for (const path of [TEAM_B, `${TEAM_B}/status`]) {
    t.match(answerOf(await patch(cluster, path, { metadata: { labels: { env: "dev" } } }, JANE)), MAY_NOT_LEAVE, path);
  }
  const finalized = await cluster.request("PUT", `${TEAM_B}/finalize`, plainNamespace("team-b"), JANE);
  t.match(answerOf(finalized), MAY_NOT_LEAVE);
  const other = await patch(cluster, TEAM_B, { metadata: { labels: { cost: "7" } } }, JANE);
  t.equal(other.status, 200, answerOf(other));
}

async function keepsRequirement(t: Test, cluster: Cluster): Promise<void> {
  const strict = `${NAMESPACES}/strict`;
  const requirement = (value: string | null): object => ({ metadata: { annotations: { [REQUIRED]: value } } });
  for (const path of [strict, `${strict}/status`]) {
    const changed = await patch(cluster, path, requirement("false"), JANE);
    t.match(answerOf(changed), /^422 .*NS-17 metadata\.annotations\[ack-role-resolver\.io\/sel/s, path);
  }
  for (const path of [`${strict}/finalize`, strict]) {
    t.match(answerOf(await cluster.request("PUT", path, plainNamespace("strict"), JANE)), /NS-17 /, path);
  }
  t.equal((await patch(cluster, strict, requirement(null))).status, 200, "an administrator");
}

async function allowsByRoleBinding(t: Test, cluster: Cluster): Promise<void> {
  await apply(cluster, grant("use-more", [use(["ack-role-resolver:default", "silver"])], [SUBJECT], "team-a"));
  for (const path of [OWN, OTHER]) {
    const edit = (): Promise<ApiResponse> => patch(cluster, path, { spec: { acl: "public-read" } }, JANE);
    t.ok(await until(async () => (await edit()).status === 200), path);
    t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
  }
  const elsewhere = await cluster.request("POST", buckets("empty"), bucket("plain", {}, "empty"), JANE);
  t.match(answerOf(elsewhere), MAY_NOT_DEFAULT, "the RoleBinding applies to one namespace");
}
