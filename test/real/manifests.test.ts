import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import { manifestObjects, type ManifestOptions, renderManifests } from "../../manifests/render.ts";
import type { Runtime } from "../../shared/decisions/context.ts";
import { field, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { compareText } from "../../shared/decisions/kubernetes/text.ts";
import { selectorFaults } from "../../shared/decisions/selectors/decode.ts";
import { ACK_CRDS } from "../fixtures/ack-crds.ts";
import { type FixtureSet, type SelectorFixture, selectorFixtures } from "../fixtures/selectors/selector-fixtures.ts";
import { bucketObject, selectorObject } from "../shared/decisions/objects.ts";
import type { ApiResponse } from "./apiserver/api-request.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";

const OPTIONS: ManifestOptions = { namespace: "ack-role-resolver", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null, accessReviews: false, extraGroups: ["new.services.k8s.aws"] };
const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const A = "arn:aws:iam::111122223333:role/a";
const B = "arn:aws:iam::111122223333:role/b";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
/** Where nobody listens: the webhook is down. */
const NOBODY = "https://127.0.0.1:1";
const EFFECT_LIMIT_MS = 15_000;

const IRS_00 = "IRS-00 a label has no value, only null, and would be dropped, so that more is selected than is written. "
  + 'Write the value after the colon, or "" for the empty one.';
const IRS_12 = "IRS-12 apiVersion is not stored, since controllers do not read it. Instead of apiVersion: s3.services.k8s.aws/v1alpha1 "
  + "write group: s3.services.k8s.aws and version: v1alpha1. The webhook's /mutate/iamroleselectors rewrites GROUP/VERSION by itself, "
  + "where neither group nor version stands beside it: if it did not, see that it is installed.";
const IRS_35 = "IRS-35 shipped ACK controllers drop matchExpressions and would select more than is written. Say the same with matchLabels, "
  + "or install the CRD of ack-role-resolver manifests crds --runtime extended if no shipped controller reads this selector.";
const ROLE_STAYS = "the role of an IAMRoleSelector cannot be changed or removed, since resources that exist in its account would be left behind there. "
  + "Create a selector of another name for the new role, and delete this one when nothing needs it.";

onCluster("the manifests on a real API server", async (t, cluster) => {
  await t.test("the CRD is accepted for the extended runtime, which stores matchExpressions", async (tt) => acceptsExtended(tt, cluster));
  await t.test("the CRD is accepted for shipped controllers, which no longer stores them", async (tt) => acceptsForShipped(tt, cluster));
  await t.test("fixtures fare as the checks of shape say", async (tt) => agreesOnFixtures(tt, cluster, ["good", "malformed", "warned"]));
  await t.test("null is an absent field, but no element and no label value", async (tt) => treatsNull(tt, cluster));
  await t.test("the form with apiVersion is not stored, rewritten it is", async (tt) => refusesAPIVersion(tt, cluster));
  await t.test("matchExpressions are not stored, an empty list is", async (tt) => refusesExpressions(tt, cluster));
  await t.test("stored matchExpressions do not hold up other changes", async (tt) => ratchets(tt, cluster));
  await t.test("a role that is set can neither be changed nor taken away", async (tt) => keepsRole(tt, cluster));
  await t.test("kubectl shows the role", async (tt) => showsRole(tt, cluster));
  await leaveOnTheWayOut(cluster);
  await t.test("everything is accepted, dry and for real, with no field unknown", async (tt) => acceptsAll(tt, cluster));
  await t.test("the webhook's account may read the inventory, and nothing else", async (tt) => grantsReading(tt, cluster));
  await t.test("without the webhook selectors are refused, unless they are on their way out", async (tt) => refusesSelectors(tt, cluster));
  await t.test("without the webhook resources are admitted, and where it is not wanted it is not called", async (tt) => admitsResources(tt, cluster));
});

const BY_EXPRESSION = { arn: A, namespaceSelector: { labelSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] } } };

async function acceptsExtended(t: Test, cluster: Cluster): Promise<void> {
  await installs(t, cluster, "extended");
  await agreesOnFixtures(t, cluster, ["good", "good-extended", "malformed-extended"]);
  t.equal((await cluster.request("POST", SELECTORS, selectorObject("stored", BY_EXPRESSION))).status, 201);
}

/** An API server follows a changed CRD a moment later. */
async function acceptsForShipped(t: Test, cluster: Cluster): Promise<void> {
  await installs(t, cluster, "ack");
  t.ok(await until(async () => (await dryCreate(cluster, selectorObject("another", BY_EXPRESSION))).status === 422, EFFECT_LIMIT_MS));
}

async function installs(t: Test, cluster: Cluster, runtime: Runtime): Promise<void> {
  const crd = iamRoleSelectorCRD(runtime);
  await cluster.installCRDs([crd]);
  const stored = await cluster.request("GET", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`);
  t.match(stored.body, { spec: crd.spec }, "nothing of it was dropped");
}

async function dryCreate(cluster: Cluster, object: JsonObject): Promise<ApiResponse> {
  return cluster.request("POST", `${SELECTORS}?dryRun=All&fieldValidation=Strict`, object);
}

/** What is refused without any webhook: what IRS-00 finds, and by rules of the CRD two of the others. */
async function agreesOnFixtures(t: Test, cluster: Cluster, sets: readonly FixtureSet[]): Promise<void> {
  for (const fixture of selectorFixtures(...sets)) {
    const { status, body } = await dryCreate(cluster, fixture.object);
    const accepted = isOfShape(fixture) && storesForms(fixture);
    t.equal(status === 201, accepted, `${fixture.set}: ${fixture.name}: ${status} ${stringAt(body, "message") ?? ""}`);
  }
}

function isOfShape({ object, runtime }: SelectorFixture): boolean {
  return selectorFaults(object, { origin: "file", runtime }).every(({ check }) => check.id !== "IRS-00");
}

function storesForms({ object, expected }: SelectorFixture): boolean {
  const entries = field(field(object, "spec"), "resourceTypeSelector");
  const named = Array.isArray(entries) && entries.some((entry: unknown) => stringAt(entry, "apiVersion") !== null);
  return !named && expected?.code !== "IRS-35";
}

async function treatsNull(t: Test, cluster: Cluster): Promise<void> {
  const optional = {
    arn: A,
    namespaceSelector: { names: null, labelSelector: { matchLabels: null, matchExpressions: null } },
    resourceTypeSelector: null,
    resourceLabelSelector: null,
  };
  const created = await dryCreate(cluster, selectorObject("nulls", optional));
  t.equal(created.status, 201);
  t.same(field(created.body, "spec"), { arn: A, namespaceSelector: { labelSelector: {} } }, "stored as absent");
  for (const spec of [null, { arn: null }]) t.equal((await dryCreate(cluster, selectorObject("nulls", spec))).status, 201);
  for (const spec of [{ namespaceSelector: { names: [null] } }, { resourceTypeSelector: [null] }]) {
    t.equal((await dryCreate(cluster, selectorObject("nulls", spec))).status, 422, JSON.stringify(spec));
  }
  const ofNamespace = await dryCreate(cluster, selectorObject("nulls", { namespaceSelector: { labelSelector: { matchLabels: { a: "b", team: null } } } }));
  t.same(causes(ofNamespace), [["spec.namespaceSelector.labelSelector.matchLabels", `Invalid value: ${IRS_00}`]]);
  const ofResource = await dryCreate(cluster, selectorObject("nulls", { resourceLabelSelector: { matchLabels: { team: null } } }));
  t.same(causes(ofResource), [["spec.resourceLabelSelector.matchLabels", `Invalid value: ${IRS_00}`]]);
}

/** Path and whole message of each cause of a refusal, sorted: the API server goes over fields in no order. */
function causes({ body }: ApiResponse): string[][] {
  const list = field(field(body, "details"), "causes");
  const found = Array.isArray(list) ? list.map((cause: unknown) => [stringAt(cause, "field") ?? "", stringAt(cause, "message") ?? ""]) : [];
  return found.toSorted(([a = ""], [b = ""]) => compareText(a, b));
}

async function refusesAPIVersion(t: Test, cluster: Cluster): Promise<void> {
  const withTypes = (...types: readonly object[]): JsonObject => selectorObject("types", { arn: A, resourceTypeSelector: types });
  const refused = await dryCreate(cluster, withTypes({ group: "s3.services.k8s.aws" }, { apiVersion: "s3.services.k8s.aws/v1alpha1" }, { apiVersion: "" }));
  t.equal(refused.status, 422);
  t.same(causes(refused), [1, 2].map((i) => [`spec.resourceTypeSelector[${i}].apiVersion`, `Forbidden: ${IRS_12}`]));
  const rewritten = withTypes({ group: "s3.services.k8s.aws", version: "v1alpha1" }, { kind: "Bucket", apiVersion: null });
  t.equal((await dryCreate(cluster, rewritten)).status, 201);
}

async function refusesExpressions(t: Test, cluster: Cluster): Promise<void> {
  const both = (matchExpressions: readonly object[]): JsonObject => {
    const labels = { matchLabels: { a: "b" }, matchExpressions };
    return selectorObject("expressions", { arn: A, namespaceSelector: { labelSelector: labels }, resourceLabelSelector: labels });
  };
  const refused = await dryCreate(cluster, both([{ key: "team", operator: "Exists" }]));
  t.equal(refused.status, 422);
  t.same(causes(refused), [
    ["spec.namespaceSelector.labelSelector.matchExpressions", `Forbidden: ${IRS_35}`],
    ["spec.resourceLabelSelector.matchExpressions", `Forbidden: ${IRS_35}`],
  ]);
  t.equal((await dryCreate(cluster, both([]))).status, 201);
}

async function keepsRole(t: Test, cluster: Cluster): Promise<void> {
  const patch = async (change: object): Promise<ApiResponse> => cluster.request("PATCH", `${SELECTORS}/role`, change, MERGE);
  const replace = async (spec: unknown): Promise<ApiResponse> => {
    const stored = await cluster.request("GET", `${SELECTORS}/role`);
    const resourceVersion = stringAt(stored.body, "metadata", "resourceVersion");
    return cluster.request("PUT", `${SELECTORS}/role`, selectorObject("role", spec, { resourceVersion }));
  };
  t.equal((await cluster.request("POST", SELECTORS, selectorObject("role", {}))).status, 201);
  t.equal((await patch({ spec: { namespaceSelector: { names: ["a"] } } })).status, 200, "a role that is not set yet");
  t.equal((await patch({ spec: { arn: A } })).status, 200, "may be set");
  t.equal((await replace({ arn: A, namespaceSelector: { names: ["b"] } })).status, 200, "and the rest be changed beside it");
  for (const spec of [{ arn: B }, { arn: "" }, {}, { arn: null }, null, undefined]) {
    const refused = await replace(spec);
    t.equal(refused.status, 422, JSON.stringify(spec) ?? "no spec");
    t.same(causes(refused), [["spec.arn", `Invalid value: ${ROLE_STAYS}`]]);
  }
}

async function ratchets(t: Test, cluster: Cluster): Promise<void> {
  const patch = async (change: object): Promise<number> => (await cluster.request("PATCH", `${SELECTORS}/stored`, change, MERGE)).status;
  t.equal(await patch({ metadata: { labels: { team: "a" } }, spec: { resourceTypeSelector: [{ kind: "Bucket" }] } }), 200);
  const matchExpressions = [{ key: "env", operator: "Exists" }];
  t.equal(await patch({ spec: { namespaceSelector: { labelSelector: { matchExpressions } } } }), 422, "a change of them is held up");
}

async function showsRole(t: Test, cluster: Cluster): Promise<void> {
  const { stdout, stderr } = await cluster.kubectl(["get", "ack"]);
  t.equal(stderr, "");
  t.match(stdout, /^NAME +ROLE ARN +AGE\nrole +arn:aws:iam::111122223333:role\/a +\S+\nstored +arn:aws:iam::111122223333:role\/a +\S+\n$/);
}

const LEAVING = { name: "leaving", finalizers: ["example.com/last-rites"] };
const LEAVE = { metadata: { finalizers: [] } };
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/kube-public/buckets";

/** A selector and a bucket that are deleted and wait for their finalizers. */
async function leaveOnTheWayOut(cluster: Cluster): Promise<void> {
  await cluster.installCRDs(ACK_CRDS);
  await cluster.request("POST", SELECTORS, selectorObject("leaving", { arn: A }, LEAVING));
  await cluster.request("POST", BUCKETS, bucketObject({ ...LEAVING, namespace: "kube-public" }));
  for (const stored of [`${SELECTORS}/leaving`, `${BUCKETS}/leaving`]) await cluster.request("DELETE", stored);
}

async function acceptsAll(t: Test, cluster: Cluster): Promise<void> {
  // A dry run stores no Namespace, and a ServiceAccount needs one; that of ACK is made by its own charts.
  for (const namespace of [OPTIONS.namespace, OPTIONS.ackSystemNamespace]) {
    t.equal((await cluster.kubectl(["create", "namespace", namespace])).code, 0);
  }
  const apply = ["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"];
  const outside = { ...OPTIONS, url: NOBODY, caBundle: await readFile(cluster.caFile, "utf8") };
  for (const options of [OPTIONS, { ...outside, runtime: "extended" } as const]) {
    const { code, stderr } = await cluster.kubectl([...apply, "--dry-run=server"], { input: renderManifests("all", options) });
    t.same([code, stderr], [0, ""]);
  }
  const { code, stderr } = await cluster.kubectl(apply, { input: renderManifests("all", outside) });
  t.same([code, stderr], [0, ""]);
  for (const object of manifestObjects("webhooks", outside)) {
    const plural = `${stringAt(object, "kind")?.toLowerCase()}s`;
    const stored = await cluster.request("GET", `/apis/admissionregistration.k8s.io/v1/${plural}/ack-role-resolver`);
    t.match(stored.body, { webhooks: field(object, "webhooks") }, `${plural}: nothing of them was dropped`);
  }
}

async function grantsReading(t: Test, cluster: Cluster): Promise<void> {
  const can = async (verb: string, resource: string): Promise<string> =>
    (await cluster.kubectl(["auth", "can-i", verb, resource, "--all-namespaces"], { user: "webhook" })).stdout.trim();
  for (const resource of ["iamroleselectors.services.k8s.aws", "namespaces", "customresourcedefinitions.apiextensions.k8s.io", "buckets.s3.services.k8s.aws"]) {
    for (const verb of ["get", "list", "watch"]) t.equal(await can(verb, resource), "yes", `${verb} ${resource}`);
    for (const verb of ["create", "update", "delete"]) t.equal(await can(verb, resource), "no", `${verb} ${resource}`);
  }
  for (const resource of ["secrets", "configmaps"]) t.equal(await can("get", resource), "no", resource);
  const maps = `/api/v1/namespaces/${OPTIONS.ackSystemNamespace}/configmaps`;
  for (const [query, status] of [["?fieldSelector=metadata.name%3Dack-role-team-map", 200], ["?fieldSelector=metadata.name%3Dother", 403], ["", 403]] as const) {
    t.equal((await cluster.request("GET", `${maps}${query}`, undefined, { user: "webhook" })).status, status, `list of configmaps ${query}`);
  }
}

async function refusesSelectors(t: Test, cluster: Cluster): Promise<void> {
  const create = async (): Promise<ApiResponse> => cluster.request("POST", SELECTORS, selectorObject("late", { arn: A }));
  t.ok(await until(async () => (await create()).status === 500, EFFECT_LIMIT_MS));
  const { body } = await create();
  t.match(stringAt(body, "message"), 'failed calling webhook "iamroleselectors.mutate.ack-role-resolver.io": failed to call webhook: Post '
    + `"${NOBODY}/mutate/iamroleselectors?timeout=3s"`);
  t.equal((await cluster.request("PATCH", `${SELECTORS}/role`, { metadata: { labels: { a: "b" } } }, MERGE)).status, 500);
  t.equal((await cluster.request("PATCH", `${SELECTORS}/role/status`, { status: {} }, MERGE)).status, 200, "status is nobody's to judge");
  t.equal((await cluster.request("PATCH", `${SELECTORS}/leaving`, LEAVE, MERGE)).status, 200);
  t.equal((await cluster.request("GET", `${SELECTORS}/leaving`)).status, 404, "and it is gone");
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  t.equal((await cluster.request("DELETE", `${SELECTORS}/role`)).status, 500, "a deletion may take a role from what needs it");
  t.equal((await cluster.request("DELETE", `${definitions}/iamroleselectors.services.k8s.aws`)).status, 500);
  t.equal((await cluster.request("DELETE", `${definitions}/topics.sns.services.k8s.aws?dryRun=All`)).status, 200, "no other definition is held up");
}

async function admitsResources(t: Test, cluster: Cluster): Promise<void> {
  t.equal(await failedOpen(cluster), 0);
  t.equal((await cluster.request("PATCH", `${BUCKETS}/leaving`, LEAVE, MERGE)).status, 200, "on its way out");
  const inNamespace = (namespace: string): string => `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets`;
  for (const namespace of ["kube-system", OPTIONS.namespace]) {
    t.equal((await cluster.request("POST", inNamespace(namespace), bucketObject({ namespace }))).status, 201, namespace);
  }
  t.equal(await failedOpen(cluster), 0, "the webhook was not to be called");
  t.equal((await cluster.request("POST", BUCKETS, bucketObject({ namespace: "kube-public" }))).status, 201);
  t.equal(await failedOpen(cluster), 1, "it was to be called, and the bucket let in without it");
  t.equal((await cluster.request("PATCH", `${BUCKETS}/b1/status`, { status: { a: "b" } }, MERGE)).status, 200);
  t.equal(await failedOpen(cluster), 1, "nor for a status");
  t.equal((await cluster.request("PATCH", `${BUCKETS}/b1`, { spec: { name: "b2" } }, MERGE)).status, 200);
  t.equal(await failedOpen(cluster), 2);
  t.notMatch(await metrics(cluster), /^apiserver_admission_match_condition_evaluation_errors_total\{.*\} [1-9]/m, "no condition fails");
}

/** How many requests the API server has let through since `/mutate/resources` did not answer. */
async function failedOpen(cluster: Cluster): Promise<number> {
  const line = /^apiserver_admission_webhook_fail_open_count\{name="resources\.mutate\.ack-role-resolver\.io",.*\} (\d+)$/m;
  return Number(line.exec(await metrics(cluster))?.[1] ?? 0);
}

async function metrics(cluster: Cluster): Promise<string> {
  return String((await cluster.request("GET", "/metrics")).body);
}
