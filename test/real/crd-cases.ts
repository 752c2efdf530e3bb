import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import { judgeSelector } from "../../shared/ack/judge-selector.ts";
import type { Runtime } from "../../shared/core/context.ts";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { compareText } from "../../shared/formats/text.ts";
import { type FixtureSet, type SelectorFixture, selectorFixtures } from "../fixtures/selectors/selector-fixtures.ts";
import { selectorObject } from "../shared/objects.ts";
import type { ApiResponse } from "./apiserver/api-request.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { until } from "./apiserver/until.ts";

const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const A = "arn:aws:iam::111122223333:role/a";
const B = "arn:aws:iam::111122223333:role/b";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };

const IRS_00 = "IRS-00 a label value is null: the API server would drop the label, "
  + "and the selector would match more resources than intended. "
  + 'Write the value after the colon, or "" for an empty value.';
const IRS_12 = "IRS-12 apiVersion is not stored, because controllers do not read it. "
  + "Write group: s3.services.k8s.aws and version: v1alpha1 instead of apiVersion: s3.services.k8s.aws/v1alpha1. "
  + "The webhook path /mutate/iamroleselectors rewrites an entry that has only apiVersion and kind. "
  + "If the webhook did not rewrite the entry, check that the webhook is installed.";
const IRS_35 = "IRS-35 shipped ACK controllers ignore matchExpressions and would select more resources than intended. "
  + "Use matchLabels. If no shipped controller reads this selector, "
  + "install the CRD that ack-role-resolver manifests crds --runtime extended prints.";
const ROLE_STAYS =
  "the role of an IAMRoleSelector cannot be changed or removed: existing resources in the role's account would be " +
  "orphaned. Create a selector with another name for the new role. " +
  "Delete this selector when no resource needs this selector.";

/**
 * Tests the CRD without the webhooks. After the cases, the CRD for shipped controllers and the selectors `role` and
 * `stored` remain in the cluster.
 */
export async function testCRD(t: Test, cluster: Cluster): Promise<void> {
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("accepts the CRD for the extended runtime, and stores matchExpressions", acceptsExtended);
  await run("accepts the CRD for shipped controllers, and rejects matchExpressions", acceptsForShipped);
  await run("the CRD accepts the same fixtures as IRS-00, IRS-12 and IRS-35", async (tt) =>
    agreesOnFixtures(tt, cluster, ["good", "malformed", "warned"]));
  await run("treats a null field as absent, and rejects null elements and label values", treatsNull);
  await run("rejects a type entry that has an apiVersion, and accepts the entry after the rewrite", rejectsAPIVersion);
  await run("rejects matchExpressions unless the list is empty", rejectsExpressions);
  await run("accepts other changes of a selector that has stored matchExpressions", acceptsOtherChanges);
  await run("rejects a change or removal of the role in a selector", rejectsRoleChange);
  await run("kubectl get shows the role of a selector", showsRole);
}

const BY_EXPRESSION = {
  arn: A, namespaceSelector: { labelSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] } },
};

async function acceptsExtended(t: Test, cluster: Cluster): Promise<void> {
  await installs(t, cluster, "extended");
  await agreesOnFixtures(t, cluster, ["good", "good-extended", "malformed-extended"]);
  t.equal((await cluster.request("POST", SELECTORS, selectorObject("stored", BY_EXPRESSION))).status, 201);
}

/** The API server applies a changed CRD with a delay. */
async function acceptsForShipped(t: Test, cluster: Cluster): Promise<void> {
  await installs(t, cluster, "ack");
  const create = async (): Promise<ApiResponse> => dryCreate(cluster, selectorObject("another", BY_EXPRESSION));
  t.ok(await until(async () => (await create()).status === 422));
}

async function installs(t: Test, cluster: Cluster, runtime: Runtime): Promise<void> {
  const crd = iamRoleSelectorCRD(runtime);
  await cluster.installCRDs([crd]);
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const stored = await cluster.request("GET", `${definitions}/${crd.metadata.name}`);
  t.match(stored.body, { spec: crd.spec }, "the stored CRD is complete");
}

async function dryCreate(cluster: Cluster, object: JsonObject): Promise<ApiResponse> {
  return cluster.request("POST", `${SELECTORS}?dryRun=All&fieldValidation=Strict`, object);
}

/** Without a webhook, the CRD rejects the faults that IRS-00, IRS-12 and IRS-35 report. */
async function agreesOnFixtures(t: Test, cluster: Cluster, sets: readonly FixtureSet[]): Promise<void> {
  for (const fixture of selectorFixtures(...sets)) {
    const { status, body } = await dryCreate(cluster, fixture.object);
    const accepted = hasValidShape(fixture) && hasStorableTypes(fixture);
    t.equal(status === 201, accepted, `${fixture.set}: ${fixture.name}: ${status} ${stringAt(body, "message") ?? ""}`);
  }
}

function hasValidShape({ object, runtime }: SelectorFixture): boolean {
  return judgeSelector(object, { origin: "file", runtime }).faults.every(({ code }) => code !== "IRS-00");
}

function hasStorableTypes({ object, expected }: SelectorFixture): boolean {
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
  t.same(
    field(created.body, "spec"),
    { arn: A, namespaceSelector: { labelSelector: {} } },
    "a null field is stored as absent",
  );
  for (const spec of [null, { arn: null }])
    t.equal((await dryCreate(cluster, selectorObject("nulls", spec))).status, 201);
  for (const spec of [{ namespaceSelector: { names: [null] } }, { resourceTypeSelector: [null] }]) {
    t.equal((await dryCreate(cluster, selectorObject("nulls", spec))).status, 422, JSON.stringify(spec));
  }
  const ofNamespace = await dryCreate(cluster, selectorObject("nulls", {
    namespaceSelector: { labelSelector: { matchLabels: { a: "b", team: null } } },
  }));
  t.same(causes(ofNamespace), [["spec.namespaceSelector.labelSelector.matchLabels", `Invalid value: ${IRS_00}`]]);
  const ofResource = await dryCreate(cluster, selectorObject("nulls", {
    resourceLabelSelector: { matchLabels: { team: null } },
  }));
  t.same(causes(ofResource), [["spec.resourceLabelSelector.matchLabels", `Invalid value: ${IRS_00}`]]);
}

/**
 * Returns the field and message of each cause of a denial, sorted, because the API server returns them in any order.
 */
function causes({ body }: ApiResponse): string[][] {
  const list = field(field(body, "details"), "causes");
  const toPair = (cause: unknown): string[] => [stringAt(cause, "field") ?? "", stringAt(cause, "message") ?? ""];
  const found = Array.isArray(list) ? list.map(toPair) : [];
  return found.toSorted(([a = ""], [b = ""]) => compareText(a, b));
}

async function rejectsAPIVersion(t: Test, cluster: Cluster): Promise<void> {
  const withTypes = (...types: readonly object[]): JsonObject =>
    selectorObject("types", { arn: A, resourceTypeSelector: types });
  const denied = await dryCreate(cluster, withTypes(
    { group: "s3.services.k8s.aws" }, { apiVersion: "s3.services.k8s.aws/v1alpha1" }, { apiVersion: "" },
  ));
  t.equal(denied.status, 422);
  t.same(causes(denied), [1, 2].map((i) => [`spec.resourceTypeSelector[${i}].apiVersion`, `Forbidden: ${IRS_12}`]));
  const rewritten = withTypes(
    { group: "s3.services.k8s.aws", version: "v1alpha1" },
    { kind: "Bucket", apiVersion: null },
  );
  t.equal((await dryCreate(cluster, rewritten)).status, 201);
}

async function rejectsExpressions(t: Test, cluster: Cluster): Promise<void> {
  const both = (matchExpressions: readonly object[]): JsonObject => {
    const labels = { matchLabels: { a: "b" }, matchExpressions };
    return selectorObject("expressions", {
      arn: A,
      namespaceSelector: { labelSelector: labels },
      resourceLabelSelector: labels,
    });
  };
  const denied = await dryCreate(cluster, both([{ key: "team", operator: "Exists" }]));
  t.equal(denied.status, 422);
  t.same(causes(denied), [
    ["spec.namespaceSelector.labelSelector.matchExpressions", `Forbidden: ${IRS_35}`],
    ["spec.resourceLabelSelector.matchExpressions", `Forbidden: ${IRS_35}`],
  ]);
  t.equal((await dryCreate(cluster, both([]))).status, 201);
}

async function rejectsRoleChange(t: Test, cluster: Cluster): Promise<void> {
  const patch = async (change: object): Promise<ApiResponse> =>
    cluster.request("PATCH", `${SELECTORS}/role`, change, MERGE);
  const replace = async (spec: unknown): Promise<ApiResponse> => {
    const stored = await cluster.request("GET", `${SELECTORS}/role`);
    const resourceVersion = stringAt(stored.body, "metadata", "resourceVersion");
    return cluster.request("PUT", `${SELECTORS}/role`, selectorObject("role", spec, { resourceVersion }));
  };
  t.equal((await cluster.request("POST", SELECTORS, selectorObject("role", {}))).status, 201);
  t.equal((await patch({ spec: { namespaceSelector: { names: ["a"] } } })).status, 200, "the role is not set yet");
  t.equal((await patch({ spec: { arn: A } })).status, 200, "the role can be set");
  t.equal((await replace({ arn: A, namespaceSelector: { names: ["b"] } })).status, 200, "other fields can be changed");
  for (const spec of [{ arn: B }, { arn: "" }, {}, { arn: null }, null, undefined]) {
    const denied = await replace(spec);
    t.equal(denied.status, 422, JSON.stringify(spec) ?? "no spec");
    t.same(causes(denied), [["spec.arn", `Invalid value: ${ROLE_STAYS}`]]);
  }
}

async function acceptsOtherChanges(t: Test, cluster: Cluster): Promise<void> {
  const patch = async (change: object): Promise<number> =>
    (await cluster.request("PATCH", `${SELECTORS}/stored`, change, MERGE)).status;
  t.equal(
    await patch({ metadata: { labels: { team: "a" } }, spec: { resourceTypeSelector: [{ kind: "Bucket" }] } }),
    200,
  );
  const matchExpressions = [{ key: "env", operator: "Exists" }];
  t.equal(
    await patch({ spec: { namespaceSelector: { labelSelector: { matchExpressions } } } }),
    422,
    "changed matchExpressions are rejected",
  );
}

async function showsRole(t: Test, cluster: Cluster): Promise<void> {
  const { stdout, stderr } = await cluster.kubectl(["get", "ack"]);
  t.equal(stderr, "");
  const [header, ...rows] = stdout.trimEnd().split("\n");
  t.match(header, /^NAME +ROLE ARN +AGE$/);
  t.match(rows, [/^role +arn:aws:iam::111122223333:role\/a +\S+$/, /^stored +arn:aws:iam::111122223333:role\/a +\S+$/]);
  t.equal(rows.length, 2);
}
