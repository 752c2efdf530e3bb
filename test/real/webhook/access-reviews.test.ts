import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { bucket, buckets, createObjects, patch, warnings } from "./buckets.ts";
import { installWebhook } from "./installed-webhook.ts";

const FLAGS = ["--controller-users", "ack-system/ack-s3-controller", "--check", "ACK-09=deny"];
const JANE = { user: "jane" } as const;
const SILVER = { labels: { tier: "silver" } };
const PATH = buckets("team-a", "admins");
const MAY_NOT_USE = /ACK-09 metadata: the requester may not use IAMRoleSelector silver, which selects the resource/;

onCluster("the verb use on selectors, on a real API server", async (t, cluster) => {
  await installWebhook(t, cluster, FLAGS);
  await createObjects(t, cluster);
  t.equal((await cluster.request("POST", buckets("team-a"), bucket("admins", SILVER))).status, 201);
  await t.test("denies each write by a user who may not use the selector of the resource", async (tt) =>
    deniesWrites(tt, cluster),
  );
  await t.test("does not require the verb `use` from an ACK controller", async (tt) => allowsControllers(tt, cluster));
  await t.test("a RoleBinding in the namespace of the resource grants the verb `use`", async (tt) =>
    allowsByRoleBinding(tt, cluster),
  );
});

function messageOf({ body }: ApiResponse): string | null {
  return stringAt(body, "message");
}

async function edit(cluster: Cluster): Promise<ApiResponse> {
  return await patch(cluster, PATH, { spec: { acl: "public-read" } }, JANE);
}

async function deniesWrites(t: Test, cluster: Cluster): Promise<void> {
  const edited = await edit(cluster);
  t.equal(edited.status, 422);
  t.match(messageOf(edited), MAY_NOT_USE);
  t.match(messageOf(edited), /Create a Role in namespace team-a with .*resourceNames: \[silver\], verbs: \[use\]/);
  const owner = { apiVersion: "v1", kind: "Pod", name: "gone", uid: "00000000-0000-0000-0000-000000000000" };
  const changes = [
    { annotations: { "services.k8s.aws/deletion-policy": "delete" } }, { labels: { app: "shop" } },
    { ownerReferences: [owner] },
  ];
  for (const metadata of changes) t.match(messageOf(await patch(cluster, PATH, { metadata }, JANE)), MAY_NOT_USE);
  t.match(messageOf(await cluster.request("DELETE", PATH, undefined, JANE)), MAY_NOT_USE);
}

async function allowsControllers(t: Test, cluster: Cluster): Promise<void> {
  const metadata = { annotations: { "services.k8s.aws/deletion-policy": "retain" } };
  const changed = await patch(cluster, PATH, { metadata }, { user: "controller" });
  t.equal(changed.status, 200);
  t.notOk(warnings(changed).some((line) => line.startsWith("ACK-09 ")));
}

async function allowsByRoleBinding(t: Test, cluster: Cluster): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a";
  const metadata = { name: "use-silver" };
  const rule = { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], resourceNames: ["silver"] };
  const role = { metadata, rules: [{ ...rule, verbs: ["use"] }] };
  t.equal((await cluster.request("POST", `${rbac}/roles`, role)).status, 201);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }];
  t.equal((await cluster.request("POST", `${rbac}/rolebindings`, { metadata, roleRef, subjects })).status, 201);
  t.ok(await until(async () => (await edit(cluster)).status === 200));
  t.equal((await cluster.request("DELETE", PATH, undefined, JANE)).status, 200);
}
