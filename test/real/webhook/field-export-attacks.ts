import type { Test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_FIELD_EXPORT_CRD, type ExportTarget, fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { objectAt } from "../../webhook/reviews.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { patch } from "./buckets.ts";
import { apply } from "./installed-webhook.ts";
import { answerOf, grant, JANE, RBAC } from "./requests.ts";

/** Returns the path of the FieldExports of a namespace. */
export function exportsOf(namespace: string): string {
  return `/apis/services.k8s.aws/v1alpha1/namespaces/${namespace}/fieldexports`;
}

/** Installs the CRD, and lets the tenant jane write FieldExports in team-a, ack-system and ack-role-resolver. */
export async function prepareAttacks(cluster: Cluster): Promise<void> {
  await cluster.installCRDs([ACK_FIELD_EXPORT_CRD]);
  for (const name of ["team-a", "team-b", "ack-s3", "ack-system", "ack-role-resolver", "capa-system"]) {
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  const rule = { apiGroups: ["services.k8s.aws"], resources: ["fieldexports", "fieldexports/status"], verbs: ["*"] };
  await apply(cluster, grant("exporter", [rule], [{ apiGroup: RBAC, kind: "User", name: "jane" }]));
}

const MAP = { kind: "configmap", name: "ack-role-account-map", key: "evil" };
const HARMLESS = { kind: "configmap", name: "mine", key: "arn" };

/** The targets that no installation admits, each with the namespace of the FieldExport. */
export const HARMFUL: readonly (readonly [namespace: string, to: ExportTarget])[] = [
  ["team-a", { ...MAP, namespace: "ack-system" }],
  ["ack-system", MAP],
  ["ack-system", { ...MAP, namespace: "" }],
  ["team-a", { ...MAP, name: "ack-role-team-map", namespace: "ack-system" }],
  // Controllers in a namespace that no setting names also read the map.
  ["team-a", { ...MAP, namespace: "team-b" }],
  ["ack-s3", MAP],
  ["team-a", { ...HARMLESS, namespace: "ack-system" }],
  ["ack-system", HARMLESS],
  ["team-a", { kind: "secret", namespace: "ack-role-resolver", name: "ack-role-resolver-webhook-tls", key: "ca.crt" }],
  ["ack-role-resolver", { kind: "secret", name: "ack-role-resolver-webhook-tls", key: "previous-ca.crt" }],
  ["team-a", { kind: "secret", namespace: "capa-system", name: "account", key: "SecretAccessKey" }],
  ["team-a", { kind: "configmap", namespace: "kube-system", name: "aws-auth", key: "mapRoles" }],
];

/** A FieldExport is denied at its creation, also with a generated name, by server-side apply and by an update. */
export async function deniesHarmful(t: Test, cluster: Cluster): Promise<void> {
  for (const [namespace, to] of HARMFUL) {
    const name = JSON.stringify([namespace, to]);
    const path = exportsOf(namespace);
    const object = fieldExport("evil", namespace, to);
    t.match(answerOf(await cluster.request("POST", path, object, JANE)), FE_01, `create ${name}`);
    const generated: JsonObject = { ...object, metadata: { generateName: "evil-" } };
    t.match(answerOf(await cluster.request("POST", path, generated, JANE)), FE_01, `generateName ${name}`);
    t.match(answerOf(await applyServerSide(cluster, `${path}/evil`, object)), FE_01, `apply ${name}`);
    t.match(answerOf(await cluster.request("POST", path, object)), FE_01, `as a member of system:masters ${name}`);
  }
  t.same(await stored(cluster), [], "nothing is stored");
}

/** A harmless FieldExport cannot become harmful, through no kind of update and no subresource. */
export async function deniesUpdates(t: Test, cluster: Cluster): Promise<void> {
  const path = `${exportsOf("team-a")}/mine`;
  const object = fieldExport("mine", "team-a", HARMLESS);
  t.equal((await cluster.request("POST", exportsOf("team-a"), object, JANE)).status, 201);
  const evil = { spec: { to: { ...MAP, namespace: "ack-system" } } };
  t.match(answerOf(await merge(cluster, path, evil)), FE_01);
  t.match(answerOf(await merge(cluster, path, { spec: { to: { namespace: "ack-system" } } })), FE_01);
  t.match(answerOf(await merge(cluster, path, { spec: { to: { name: MAP.name } } })), FE_01);
  const { body } = await cluster.request("GET", path);
  const replaced = { ...objectAt(body), ...fieldExport("mine", "team-a", { ...MAP, namespace: "ack-system" }) };
  t.match(answerOf(await cluster.request("PUT", path, withVersion(replaced, body), JANE)), FE_01);
  const json = [{ op: "add", path: "/spec/to/namespace", value: "ack-system" }];
  const headers = { "content-type": "application/json-patch+json" };
  t.match(answerOf(await cluster.request("PATCH", path, json, { ...JANE, headers })), FE_01);
  const applied = fieldExport("mine", "team-a", { ...MAP, namespace: "ack-system" });
  t.match(answerOf(await applyServerSide(cluster, path, applied)), FE_01);
  // The API server ignores the spec in an update of the status.
  t.equal((await merge(cluster, `${path}/status`, { ...evil, status: { conditions: [] } })).status, 200);
  t.same(await stored(cluster), [HARMLESS]);
  t.equal((await merge(cluster, path, { spec: { to: { name: "other" } } })).status, 200, "a harmless change");
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
}

/** A FieldExport that is being deleted is still exported until its last finalizer is removed. */
export async function deniesHeld(t: Test, cluster: Cluster): Promise<void> {
  const path = `${exportsOf("team-a")}/held`;
  const held = fieldExport("held", "team-a", HARMLESS, { finalizers: ["example.com/hold"] });
  t.equal((await cluster.request("POST", exportsOf("team-a"), held, JANE)).status, 201);
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
  t.match(answerOf(await merge(cluster, path, { spec: { to: { ...MAP, namespace: "ack-system" } } })), FE_01);
  t.equal((await merge(cluster, path, { metadata: { finalizers: null } })).status, 200);
}

/** A FieldExport that was stored earlier can be relabeled, finalized and deleted, but its spec cannot change. */
export async function keepsStored(t: Test, cluster: Cluster): Promise<void> {
  const path = `${exportsOf("team-a")}/old`;
  t.equal((await merge(cluster, path, { metadata: { labels: { a: "b" } } })).status, 200);
  const finalizers = ["finalizers.services.k8s.aws/FieldExport"];
  t.equal((await merge(cluster, path, { metadata: { finalizers } })).status, 200);
  t.equal((await merge(cluster, `${path}/status`, { status: { conditions: [] } })).status, 200);
  for (const spec of [{ to: { key: "other" } }, { from: { path: ".spec.name" } }, { to: { kind: "secret" } }]) {
    t.match(answerOf(await merge(cluster, path, { spec })), FE_01, JSON.stringify(spec));
  }
  const harmless = { spec: { to: { ...HARMLESS, namespace: null } } };
  t.equal((await merge(cluster, path, harmless)).status, 200, "a change to a harmless target");
  t.equal((await merge(cluster, path, { metadata: { finalizers: null } })).status, 200);
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
}

/** Only a waiver user can waive FE-01. */
export async function waives(t: Test, cluster: Cluster): Promise<void> {
  const metadata = { annotations: { "ack-role-resolver.io/allow": "FE-01" } };
  const object = fieldExport("waived", "team-a", { ...HARMLESS, namespace: "ack-system" }, metadata);
  const denied = answerOf(await cluster.request("POST", exportsOf("team-a"), object, JANE));
  t.match(denied, FE_01);
  t.match(denied, /WAIVER-01 /);
  t.equal((await cluster.request("POST", exportsOf("team-a"), object)).status, 201, "a waiver user");
  const path = `${exportsOf("team-a")}/waived`;
  t.match(answerOf(await merge(cluster, path, { spec: { to: { key: "other" } } })), FE_01, "the tenant has no waiver");
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 200);
}

const FE_01 = /^422 .*FE-01 /s;

async function merge(cluster: Cluster, path: string, change: object): Promise<ApiResponse> {
  return await patch(cluster, path, change, JANE);
}

async function applyServerSide(cluster: Cluster, path: string, object: object): Promise<ApiResponse> {
  const options: RequestOptions = { ...JANE, headers: { "content-type": "application/apply-patch+yaml" } };
  return await cluster.request("PATCH", `${path}?fieldManager=test&force=true`, object, options);
}

/** Returns the targets of the stored FieldExports. */
async function stored(cluster: Cluster): Promise<readonly unknown[]> {
  const { body } = await cluster.request("GET", "/apis/services.k8s.aws/v1alpha1/fieldexports");
  const items = field(body, "items");
  return Array.isArray(items) ? items.map((item) => field(field(item, "spec"), "to")) : [];
}

function withVersion(object: JsonObject, current: unknown): JsonObject {
  const resourceVersion = stringAt(current, "metadata", "resourceVersion");
  return { ...object, metadata: { ...objectAt(object, "metadata"), resourceVersion } };
}
