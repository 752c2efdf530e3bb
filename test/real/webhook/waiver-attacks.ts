import type { Test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_FIELD_EXPORT_CRD, fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { CAPA_CRDS } from "../../fixtures/capa/crds.ts";
import { clusterObject, controllerIdentity, roleIdentity } from "../../shared/capa-objects.ts";
import { ROLE, selectorObject } from "../../shared/objects.ts";
import { objectAt } from "../../webhook/reviews.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { until } from "../apiserver/until.ts";
import { bucket, buckets } from "./buckets.ts";
import { exportsOf } from "./field-export-attacks.ts";
import { apply, SELECTORS } from "./installed-webhook.ts";
import { answerOf, create, grant, NAMESPACES, RBAC } from "./requests.ts";

const ALLOW = "ack-role-resolver.io/allow";
const WAIVER = { [ALLOW]: "IRS-34" };
const CAPA = "/apis/infrastructure.cluster.x-k8s.io/v1beta2";
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A kind whose checks can be waived: the path of its collection, and an object of the kind. */
interface WaivableKind {
  readonly collection: string;
  readonly object: JsonObject;
  /** The subresources that the API server serves. */
  readonly subresources: readonly string[];
}

const SELECTOR = selectorObject("waived", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });

/** Every kind that can have a waiver. */
const KINDS: readonly WaivableKind[] = [
  { collection: SELECTORS, object: SELECTOR, subresources: ["status"] },
  { collection: buckets("team-a"), object: objectAt(bucket("waived")), subresources: ["status"] },
  {
    collection: exportsOf("team-a"), object: fieldExport("waived", "team-a", { kind: "secret", name: "s" }),
    subresources: ["status"],
  },
  { collection: NAMESPACES, object: { metadata: { name: "waived" } }, subresources: ["status", "finalize"] },
  {
    collection: `${NAMESPACES}/ack-system/configmaps`, object: { metadata: { name: "ack-role-account-map" } },
    subresources: [],
  },
  { collection: `${CAPA}/awsclustercontrolleridentities`, object: controllerIdentity(), subresources: [] },
  {
    collection: `${CAPA}/awsclusterroleidentities`, object: roleIdentity("waived", "controller", { list: ["team-a"] }),
    subresources: [],
  },
  {
    collection: `${CAPA}/namespaces/team-a/awsclusters`, object: clusterObject("waived", "controller", "team-a"),
    subresources: ["status"],
  },
  ...["iamroleselectors.services.k8s.aws", "buckets.s3.services.k8s.aws"].map((name) => (
    { collection: CRDS, object: { metadata: { name } }, subresources: ["status"] }
  )),
];

/** Installs the CRDs and creates an object of each kind. Gives all rights to jane, who is not a waiver user. */
export async function prepareKinds(cluster: Cluster): Promise<void> {
  await cluster.installCRDs([ACK_FIELD_EXPORT_CRD]);
  await apply(cluster, CAPA_CRDS);
  await until(async () => (await cluster.request("GET", `${CAPA}/awsclusters`)).status === 200);
  for (const name of ["team-a", "ack-system"]) await cluster.request("POST", NAMESPACES, { metadata: { name } });
  const everything = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
  await apply(cluster, grant("everything", [everything], [{ apiGroup: RBAC, kind: "User", name: "jane" }]));
}

export async function createKinds(cluster: Cluster): Promise<void> {
  for (const { collection, object } of KINDS) if (collection !== CRDS) await create(cluster, collection, object);
}

/** The ways to write an annotation: the content type of a patch and its body. */
const PATCHES: Readonly<Record<string, readonly [type: string, body: unknown]>> = {
  merge: ["application/merge-patch+json", { metadata: { annotations: WAIVER } }],
  json: ["application/json-patch+json", [{ op: "add", path: "/metadata/annotations", value: WAIVER }]],
};
const WAYS = [...Object.keys(PATCHES), "apply", "put"];

/** The user of a request, and the headers that impersonate another user. */
type As = Pick<RequestOptions, "user" | "headers">;

/** Tries to set a waiver. */
async function plant(
  cluster: Cluster, path: string, way: string, { user = "admin", headers = {} }: As,
): Promise<string> {
  const object = await current(cluster, path);
  const send = async (method: string, type: string, body: unknown, query = ""): Promise<string> => (
    answerOf(await cluster.request(method, path + query, body, { user, headers: { ...headers, "content-type": type } }))
  );
  const [type, body] = PATCHES[way] ?? [];
  if (type !== undefined) return await send("PATCH", type, body);
  if (way === "put") {
    const metadata = { ...objectAt(object, "metadata"), annotations: WAIVER };
    return await send("PUT", "application/json", { ...object, metadata });
  }
  const metadata = { name: stringAt(object, "metadata", "name"), annotations: WAIVER };
  const applied = { apiVersion: object["apiVersion"], kind: object["kind"], metadata };
  return await send("PATCH", "application/apply-patch+yaml", applied, "?fieldManager=test&force=true");
}

async function current(cluster: Cluster, path: string): Promise<JsonObject> {
  return objectAt((await cluster.request("GET", path.replace(/\/(status|finalize)$/, ""))).body);
}

/**
 * Tries to set a waiver on an object of each kind, through the object and each subresource. The waiver is never stored:
 * WAIVER-01 denies each request, except that the API server ignores annotations in the status of custom resources.
 */
export async function deniesEveryPath(t: Test, cluster: Cluster): Promise<void> {
  for (const { collection, object, subresources } of KINDS) {
    const path = pathOf(collection, object);
    for (const suffix of ["", ...subresources.map((one) => `/${one}`)]) await deniesPath(t, cluster, path, suffix);
    if (collection !== CRDS) await deniesCreation(t, cluster, collection, object);
  }
}

/** The kinds whose status stores annotations. */
const STORES_ANNOTATIONS = new RegExp(`^(${CRDS}|${NAMESPACES})/[^/]+$`);

async function deniesPath(t: Test, cluster: Cluster, path: string, suffix: string): Promise<void> {
  // The API server serves only PUT for `finalize`.
  for (const way of suffix === "/finalize" ? ["put"] : WAYS) {
    const answer = await plant(cluster, path + suffix, way, { user: "jane" });
    const isIgnored = suffix === "/status" && !STORES_ANNOTATIONS.test(path);
    t.match(answer, isIgnored ? /^200 / : /^422 .*WAIVER-01 /s, `${way} ${path}${suffix}: ${answer}`);
    const { metadata } = await current(cluster, path);
    t.equal(field(field(metadata, "annotations") ?? {}, ALLOW), undefined, `${way} ${path}${suffix} stores no waiver`);
  }
}

async function deniesCreation(t: Test, cluster: Cluster, collection: string, object: JsonObject): Promise<void> {
  const name = collection.endsWith("configmaps") ? "ack-role-team-map" : "new";
  const created = { ...object, metadata: { ...objectAt(object, "metadata"), name, annotations: WAIVER } };
  const response = await cluster.request("POST", collection, created, { user: "jane" });
  t.match(answerOf(response), /^422 .*WAIVER-01 /s, `create ${collection}`);
}

function pathOf(collection: string, object: JsonObject): string {
  return `${collection}/${stringAt(object, "metadata", "name") ?? ""}`;
}

export const ACK = "system:serviceaccount:ack-system:ack-s3-controller";
export const CAPA_MANAGER = "system:serviceaccount:capa-system:capa-controller-manager";

/** The objects that ACK controllers may not write at all. */
const NOT_BY_ACK = /\/(iamroleselectors|configmaps)\/[^/]+$/;
/** If two policies deny a request, the API server reports any one of them. */
const DENIED_TO_ACK = /^422 .*(WAIVER-01|IRS-24|CM-15) /s;

/** Controllers cannot set a waiver, not even as waiver users, because they copy annotations that tenants choose. */
export async function deniesControllers(t: Test, cluster: Cluster, username: string): Promise<void> {
  const headers = { "impersonate-user": username, "impersonate-group": "system:masters" };
  for (const { collection, object } of KINDS) {
    const path = pathOf(collection, object);
    for (const way of WAYS) {
      const answer = await plant(cluster, path, way, { headers });
      const isDeniedTwice = username === ACK && NOT_BY_ACK.test(path);
      t.match(answer, isDeniedTwice ? DENIED_TO_ACK : /^422 .*WAIVER-01 /s, `${way} ${path}`);
    }
  }
  const metadata = { name: "copied", annotations: WAIVER };
  const clusters = `${CAPA}/namespaces/team-a/awsclusters`;
  for (const [collection, object] of [
    [buckets("team-a"), { ...objectAt(bucket("copied")), metadata }],
    [clusters, { ...clusterObject("copied", "controller", "team-a"), metadata }],
  ] as const) {
    const copied = await cluster.request("POST", collection, object, { headers });
    t.match(answerOf(copied), /^422 .*WAIVER-01 /s, `create ${collection}`);
  }
}

/** A waiver that a waiver user has set stays when a controller writes the object. */
export async function keepsWaivers(t: Test, cluster: Cluster, username: string): Promise<void> {
  const path = `${buckets("team-a")}/waived`;
  const headers = { "content-type": "application/merge-patch+json" };
  const waiver = { metadata: { annotations: { [ALLOW]: "ACK-30" } } };
  t.equal((await cluster.request("PATCH", path, waiver, { headers })).status, 200, "a waiver user");
  const controller = { ...headers, "impersonate-user": username, "impersonate-group": "system:masters" };
  const labels = { metadata: { labels: { a: "b" } } };
  t.equal((await cluster.request("PATCH", path, labels, { headers: controller })).status, 200);
  const removed = { metadata: { annotations: { [ALLOW]: null } } };
  t.equal((await cluster.request("PATCH", path, removed, { headers: controller })).status, 200, "may remove a waiver");
}
