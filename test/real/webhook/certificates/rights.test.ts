import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { field, stringAt } from "../../../../shared/formats/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import type { Identity } from "../../apiserver/identities.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { apply } from "../installed-webhook.ts";
import { NAMESPACE, SECRET, SERVING } from "./objects.ts";
import { OPTIONS } from "./replicas.ts";

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

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
  ["ack-role-resolver", "other"].flatMap((name) => (
    ["create", "update", "patch", "delete", "deletecollection"].map((verb) => (
      { group: GROUP, resource: `${kind}webhookconfigurations`, name, verb }
    ))
  ))
));
const OF_POLICIES: readonly Attempt[] = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"].flatMap(
  (resource) => ["create", "update", "patch", "delete"].map((verb) => ({ group: GROUP, resource, verb })),
);
/** The empty name stands for all Secrets. */
const NAMES = ["ack-role-resolver-certificates", "ack-role-resolver-webhook-tls", "other", ""];
const OF_SECRETS: readonly Attempt[] = NAMES.flatMap((name) => (
  ["get", "list", "watch", "create", "update", "patch", "delete"].map((verb) => (
    { resource: "secrets", name, verb, namespace: NAMESPACE }
  ))
));
const DELETED_LEASE: Attempt = {
  group: "coordination.k8s.io", resource: "leases", name: "ack-role-resolver-certificates", verb: "delete",
  namespace: NAMESPACE,
};
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

/** The account of `certs manage` has exactly the rights that the threat model names. */
async function hasFewRights(t: Test, cluster: Cluster): Promise<void> {
  t.same(await allowed(cluster, "certificates", OF_CONFIGURATIONS), [
    "patch mutatingwebhookconfigurations ack-role-resolver", "patch validatingwebhookconfigurations ack-role-resolver",
  ]);
  const verbs = ["list", "watch", "create", "update"];
  const own = NAMES.slice(0, 2).flatMap((name) => verbs.map((verb) => `${verb} secrets ${name}`));
  t.same(await allowed(cluster, "certificates", OF_SECRETS), [...own, "create secrets other", "create secrets"]);
  t.same(await allowed(cluster, "certificates", OF_WORKLOADS), []);
  t.same(await allowed(cluster, "certificates", OF_POLICIES), []);
  const elsewhere = OF_SECRETS.map((one) => ({ ...one, namespace: "default" }));
  t.same(await allowed(cluster, "certificates", elsewhere), []);
  t.same(await allowed(cluster, "certificates", [DELETED_LEASE]), []);
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
  await t.test("the account of `certs manage` has only its rights", async (tt) => hasFewRights(tt, cluster));
});
