import type { Test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { LIMITS } from "../../../shared/core/limits.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { deniedChecks, installPolicies, isDeniedByPolicy, PLAIN_CRD, SELECTORS } from "./installed-policies.ts";
import { objectOf, plain } from "./json.ts";

const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const NAMESPACES = "/api/v1/namespaces";
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/default/buckets";

onCluster("the cost of the policies on a real API server", async (t, cluster) => {
  await cluster.installCRDs([PLAIN_CRD, ...ACK_CRDS]);
  await cluster.request("POST", NAMESPACES, namespaceObject("default"));
  await storeSelectors(cluster);
  await installPolicies(cluster, { settings: { allowedAccounts: ["111122223333"] } });
  await t.test("evaluates each selector that the API server stores", async (tt) => evaluatesSelectors(tt, cluster));
  await t.test("evaluates each change of a stored selector", async (tt) => evaluatesChanges(tt, cluster));
  await t.test("denies a new role and a waiver of a stored selector that exceeds a limit", async (tt) => (
    checksRoleOfLargeSelector(tt, cluster)
  ));
  await t.test("evaluates namespaces and resources at the limits", async (tt) => evaluatesAnnotations(tt, cluster));
});

/** A spec, annotations, and the ids of the checks that deny the selector. */
type SelectorCase = readonly [spec: JsonObject, annotations: JsonObject, ...denied: readonly string[]];

function list<T>(length: number, item: (i: number) => T): T[] {
  return Array.from({ length }, (_, i) => item(i));
}

function map(length: number, key: (i: number) => string, value: string): JsonObject {
  return Object.fromEntries(list(length, (i) => [key(i), value]));
}

const LONG_NAME = (i: number): string => `${String(i).padStart(4, "0")}-${"n".repeat(58)}`;
const LONG_KEY = (i: number): string => `${list(3, () => "p".repeat(63)).join(".")}.${"p".repeat(61)}/${LONG_NAME(i)}`;
const TYPE = (i: number): JsonObject => ({
  group: `g${i}${"g".repeat(50)}.services.k8s.aws`, version: `v${i}alpha1`, kind: `Kind${i}${"k".repeat(40)}`,
});
const LABELS = { matchLabels: map(LIMITS.selectorLabels.value, LONG_KEY, "v".repeat(63)) };
const MB = 1_000_000;
const PREFIX = "ack-role-resolver.io/";
const TAGS = list(50, (i) => `${String(i).padStart(2, "0")}${"k".repeat(126)}=${"v".repeat(256)}`).join(",");

const LARGEST: JsonObject = {
  arn: `arn:aws:iam::111122223333:role/${"p".repeat(510)}/${"r".repeat(64)}`,
  namespaceSelector: { names: list(LIMITS.selectorNamespaces.value, LONG_NAME), labelSelector: LABELS },
  resourceTypeSelector: list(LIMITS.selectorTypes.value, TYPE),
  resourceLabelSelector: LABELS,
};
const LARGEST_ANNOTATIONS: JsonObject = {
  ...map(LIMITS.metadataEntries.value - 10, (i) => `example.com/a${i}`, "x".repeat(150)),
  [`${PREFIX}session-tags`]: TAGS, [`${PREFIX}external-id`]: "x".repeat(1224),
  [`${PREFIX}session-name`]: "n".repeat(64),
  [`${PREFIX}source-identity`]: "n".repeat(64), [`${PREFIX}duration-seconds`]: "900",
  [`${PREFIX}replaces`]: "r,".repeat(16_000), [`${PREFIX}allow`]: "IRS-15,".repeat(4_000),
};

function restricted(spec: JsonObject): JsonObject {
  return { arn: ROLE, resourceTypeSelector: [{ group: "s3.services.k8s.aws" }], ...spec };
}

function named(names: readonly string[]): JsonObject {
  return restricted({ namespaceSelector: { names } });
}

const TEMPLATES = `k=${"{}".repeat(16_000)}`;
const SELECTOR_CASES: readonly SelectorCase[] = [
  [LARGEST, LARGEST_ANNOTATIONS],
  [{ ...LARGEST, namespaceSelector: { names: list(250, LONG_NAME) }, resourceTypeSelector: list(100, TYPE) }, {}],
  [named([...list(249, LONG_NAME), LONG_NAME(7)]), {}, "IRS-08"],
  [restricted({ resourceTypeSelector: [...list(99, TYPE), TYPE(7)] }), {}, "IRS-12"],
  [named(list(1_000, () => "")), {}, "IRS-08"],
  [named(list(1_000, (i) => `Team_${i}`)), {}, "IRS-09"],
  [named(list(250, (i) => `${i}${"\u{1f600}".repeat(60)}`)), {}, "IRS-09"],
  [restricted({ resourceTypeSelector: list(100, (i) => ({ kind: `${i}${"\u{1f600}".repeat(190)}` })) }), {}],
  [named(["N".repeat(MB)]), {}, "IRS-09"],
  [named(list(1_001, LONG_NAME)), {}, "IRS-48"],
  [named(list(100_000, (i) => `n${i}`)), {}, "IRS-48"],
  [restricted({ resourceTypeSelector: list(1_001, TYPE) }), {}, "IRS-48"],
  [restricted({ resourceTypeSelector: list(1_000, (i) => ({ group: `g${i}` })) }), {}, "IRS-13b"],
  [restricted({ resourceTypeSelector: [{ group: "g".repeat(MB) }] }), {}, "IRS-13b"],
  [restricted({ resourceTypeSelector: list(1_000, (i) => ({ kind: `${"k".repeat(1_000)}${i}` })) }), {}],
  [restricted({ resourceLabelSelector: { matchLabels: map(101, LONG_KEY, "v") } }), {}, "IRS-48"],
  [restricted({ resourceLabelSelector: { matchLabels: { ["k".repeat(MB)]: "v".repeat(200_000) } } }), {}, "IRS-11"],
  [restricted({ arn: `arn:aws:iam::111122223333:role/${"r".repeat(MB)}` }), {}, "IRS-03"],
  [restricted({ arn: "r".repeat(MB) }), {}, "IRS-02"],
  [restricted({ arn: ":".repeat(MB) }), {}, "IRS-02"],
  [restricted({}), { [`${PREFIX}session-tags`]: TEMPLATES }, "IRS-45"],
  [restricted({}), { [`${PREFIX}session-tags`]: list(50, (i) => `${i}${"\u{20000}".repeat(126)}=v`).join(",") }],
  [restricted({}), { [`${PREFIX}session-tags`]: "a=b,".repeat(8_000) }, "IRS-45"],
  [restricted({}), { [`${PREFIX}session-tags`]: `a=${"b".repeat(32_000)}` }, "IRS-45"],
  [restricted({}), { [`${PREFIX}external-id`]: "x".repeat(32_768) }, "IRS-42"],
  [restricted({}), { [`${PREFIX}external-id`]: "x".repeat(200_000) }, "IRS-48"],
  [restricted({}), { [`${PREFIX}duration-seconds`]: "9".repeat(32_000) }, "IRS-46"],
  [restricted({}), map(1_001, (i) => `example.com/a${i}`, ""), "IRS-48"],
];

/** Stores each selector before the policies exist. */
async function storeSelectors(cluster: Cluster): Promise<void> {
  for (const [i, [spec, annotations]] of SELECTOR_CASES.entries()) {
    const object = selectorObject(`stored-${i}`, spec, { annotations });
    const { status, body } = await cluster.request("POST", SELECTORS, object);
    if (status !== 201) throw new Error(`selector ${i}: ${stringAt(body, "message")}`);
  }
}

/** The message of an expression that fails, or whose cost exceeds a limit. */
const COST = /cost|budget|evaluate/;

function hasResult(t: Test, response: ApiResponse, denied: readonly string[], name: string): void {
  const message = (stringAt(response.body, "message") ?? "").slice(0, 500);
  t.same(deniedChecks(response), denied, `${name}: ${message}`);
  t.notMatch(message, COST, name);
  t.equal(isDeniedByPolicy(response), denied.length > 0, `${name}: ${response.status} ${message}`);
}

async function evaluatesSelectors(t: Test, cluster: Cluster): Promise<void> {
  for (const [i, [spec, annotations, ...denied]] of SELECTOR_CASES.entries()) {
    const object = selectorObject("new", spec, { annotations });
    hasResult(t, await cluster.request("POST", `${SELECTORS}?dryRun=All`, object), denied, `selector ${i}`);
  }
}

async function evaluatesChanges(t: Test, cluster: Cluster): Promise<void> {
  for (const [i, [, , ...denied]] of SELECTOR_CASES.entries()) {
    const path = `${SELECTORS}/stored-${i}`;
    const label = await cluster.request("PATCH", `${path}?dryRun=All`, { metadata: { labels: { a: "b" } } }, MERGE);
    hasResult(t, label, denied.filter((id) => id === "IRS-48"), `label of selector ${i}`);
    // All lists change, so that each entry is compared with each stored entry.
    const stored = objectOf((await cluster.request("GET", path)).body);
    const names = list(LIMITS.selectorNamespaces.value, (n) => `X${n}`);
    const spec = { ...LARGEST, arn: stringAt(stored["spec"], "arn"), namespaceSelector: { names } };
    const response = await cluster.request("PUT", `${path}?dryRun=All`, plain({ ...stored, spec }));
    t.notMatch((stringAt(response.body, "message") ?? "").slice(0, 500), COST, `change of selector ${i}`);
  }
}

const DEFAULT_REGION = "services.k8s.aws/default-region";

/** A stored selector that exceeds a limit does not turn off the check of the role. */
async function checksRoleOfLargeSelector(t: Test, cluster: Cluster): Promise<void> {
  const index = SELECTOR_CASES.findIndex(([, , ...denied]) => denied.includes("IRS-48"));
  const namespaceSelector = { names: ["a"] };
  const spec = { arn: "arn:aws:iam::111122223333:role/other", namespaceSelector };
  const response = await cluster.request("PATCH", `${SELECTORS}/stored-${index}?dryRun=All`, { spec }, MERGE);
  t.same(deniedChecks(response), ["IRS-07"], stringAt(response.body, "message") ?? "");
  const waiver = { metadata: { annotations: { [`${PREFIX}allow`]: "IRS-15" } }, spec: { namespaceSelector } };
  const jane = { headers: { ...MERGE.headers, "Impersonate-User": "jane" } };
  await cluster.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", EVERYTHING_FOR_JANE);
  const planted = await cluster.request("PATCH", `${SELECTORS}/stored-${index}?dryRun=All`, waiver, jane);
  t.same(deniedChecks(planted), ["WAIVER-01"], stringAt(planted.body, "message") ?? "");
}

const EVERYTHING_FOR_JANE = {
  metadata: { name: "jane" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
};

async function evaluatesAnnotations(t: Test, cluster: Cluster): Promise<void> {
  const full = map(999, (i) => `example.com/a${i}`, "x".repeat(150));
  const labels = map(1_000, LONG_KEY, "v".repeat(63));
  const policies = map(1_000, (i) => `s${i}.services.k8s.aws/deletion-policy`, "keep");
  const cases: readonly (readonly [path: string, object: JsonObject, ...denied: readonly string[]])[] = [
    // The API server adds a label to each namespace.
    [NAMESPACES, namespaceObject("new", map(999, LONG_KEY, "v"), { ...full, [DEFAULT_REGION]: "eu-west-1" })],
    [NAMESPACES, namespaceObject("new", {}, policies), "NS-09"],
    [NAMESPACES, namespaceObject("new", {}, { [DEFAULT_REGION]: "x".repeat(250_000) }), "NS-07"],
    [NAMESPACES, namespaceObject("new", {}, { "services.k8s.aws/endpoint-url": ":".repeat(250_000) }), "NS-08"],
    [NAMESPACES, namespaceObject("new", {}, map(20_000, (i) => `a${i}`, "")), "NS-14"],
    [BUCKETS, bucketObject({ namespace: "default", labels, annotations: full })],
    [BUCKETS, bucketObject({ namespace: "default", annotations: map(20_000, (i) => `a${i}`, "") }), "ACK-35"],
    [BUCKETS, bucketObject({ namespace: "default", annotations: { [`${PREFIX}allow`]: ",".repeat(250_000) } })],
  ];
  for (const [i, [path, object, ...denied]] of cases.entries()) {
    hasResult(t, await cluster.request("POST", `${path}?dryRun=All`, object), denied, `object ${i}`);
  }
}
