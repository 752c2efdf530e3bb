import type { Test } from "tap";
import { ACK_ADOPTED_RESOURCE_CRD, adoptedBucket } from "../../fixtures/ack-adopted-resource-crd.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { patch } from "./buckets.ts";
import { apply } from "./installed-webhook.ts";
import { answerOf, create, grant, JANE, NAMESPACES, RBAC } from "./requests.ts";

export const ADOPTED = "/apis/services.k8s.aws/v1alpha1/namespaces/team-a/adoptedresources";
const ACK_41 = /^422 .*ACK-41 /s;

/** Installs the CRD, and lets the tenant jane write AdoptedResources. */
export async function prepareAdoptions(cluster: Cluster): Promise<void> {
  await cluster.installCRDs([ACK_ADOPTED_RESOURCE_CRD]);
  for (const name of ["team-a", "team-b"]) await create(cluster, NAMESPACES, { metadata: { name } });
  const resources = ["adoptedresources", "adoptedresources/status"];
  const rule = { apiGroups: ["services.k8s.aws"], resources, verbs: ["*"] };
  await apply(cluster, grant("adopter", [rule], [{ apiGroup: RBAC, kind: "User", name: "jane" }]));
}

/** An AdoptedResource cannot create a resource in another namespace, by no kind of write. */
export async function deniesOtherNamespaces(t: Test, cluster: Cluster): Promise<void> {
  const evil = adoptedBucket({ namespace: "team-b" });
  t.match(answerOf(await cluster.request("POST", ADOPTED, evil, JANE)), ACK_41);
  t.match(answerOf(await cluster.request("POST", ADOPTED, evil)), ACK_41, "as a member of system:masters");
  const headers = { "content-type": "application/apply-patch+yaml" };
  const applied = `${ADOPTED}/adopted?fieldManager=jane`;
  t.match(answerOf(await cluster.request("PATCH", applied, evil, { ...JANE, headers })), ACK_41, "server-side apply");
  const waived = adoptedBucket({ namespace: "team-b" }, { annotations: { "ack-role-resolver.io/allow": "ACK-41" } });
  t.match(answerOf(await cluster.request("POST", ADOPTED, waived, JANE)), /ACK-41 .*WAIVER-01 /s);
  t.equal((await cluster.request("POST", `${ADOPTED}?dryRun=All`, waived)).status, 201, "an administrator");
}

/** An AdoptedResource that jane may create cannot be redirected later, also while a finalizer holds it. */
export async function deniesRedirection(t: Test, cluster: Cluster, own: JsonObject): Promise<void> {
  const created = await cluster.request("POST", ADOPTED, own, JANE);
  t.equal(created.status, 201, answerOf(created));
  const path = `${ADOPTED}/adopted`;
  const redirect = { spec: { kubernetes: { metadata: { namespace: "team-b" } } } };
  const attempt = async (): Promise<string> => answerOf(await patch(cluster, path, redirect, JANE));
  t.match(await attempt(), ACK_41);
  const finalizers = ["example.com/hold"];
  t.equal((await patch(cluster, path, { metadata: { finalizers } }, JANE)).status, 200, "a finalizer");
  t.equal((await patch(cluster, `${path}/status`, { ...redirect, status: { a: "b" } }, JANE)).status, 200, "a status");
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
  t.match(await attempt(), ACK_41, "while it is being deleted");
  t.equal((await patch(cluster, path, { metadata: { finalizers: null } }, JANE)).status, 200);
}
