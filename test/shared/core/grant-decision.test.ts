import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { test } from "tap";
import { grantInNamespace, grantRole, grantSelector } from "../../../shared/core/grant-decision.ts";
import type { Grant } from "../../../shared/core/grant.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  inventoryWith, mapObject, namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";
import { testRows } from "../rows.ts";
import {
  A, ANYWHERE, B, grantText, inventoryOf, ofRole, ofSelector, RDS, S3, selector, TEAM_A,
} from "./comparable-grant.ts";

// grant-differential.test.ts compares the verdicts with the roles of resources. These rows show the messages.
const BUCKETS = { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] };
const QUEUES = { resourceTypeSelector: [{ group: S3, kind: "Queue" }] };
const ofGroup = (name: string, group: string): JsonObject =>
  selector(name, A, { resourceTypeSelector: [{ group }] });
const kinds = [{ kind: "Bucket", version: null, group: S3 }];
const SCOPED = { scope: "team-a" };
const elsewhere = selectorObject("elsewhere", { arn: B, namespaceSelector: { names: ["team-b"] } });
const UNKNOWN = 'ERR_NAMESPACE_UNKNOWN [] Namespace "team-c" is not in the inventory. Create the Namespace, or '
  + 'correct the '
  + "name.";
const USER = "arn:aws:iam::111111111111:user/u";
const misspelled = selector("misspelled", A, { resourceLabelSelector: { matchLabels: { tier: "very gold" } } });
const dropped = selector("dropped", A, { namespaceSelector: { names: ["team-a", "team-a"] } });
const faulty = (name: string, code: string): RegExp => new RegExp(`^ERR_SELECTOR_MALFORMED \\[${name}\\] `
  + `IAMRoleSelector `
  + `${name} grants no role until its faults are corrected: ${code} `);

testRows("grants a selector by name if a resource in the scope can resolve to it", ofSelector, [
  ["a selector of the group", ["s3", [ofGroup("s3", S3)]], `${A} of s3`],
  ["another group", ["rds", [ofGroup("rds", RDS)]],
    `ERR_SELECTOR_NOT_GRANTED [rds] This sidecar serves ${S3}, but IAMRoleSelector rds selects none of these kinds.`],
  ["another kind than --kind", ["a", [selector("a", A, QUEUES)], { kinds }],
    `ERR_SELECTOR_NOT_GRANTED [a] This sidecar serves Bucket.${S3}, but IAMRoleSelector a selects none of these `
      + `kinds.`],
  ["a missing selector", ["x", []],
    'ERR_SELECTOR_UNKNOWN [] IAMRoleSelector "x" does not exist. Correct the name, or create the selector.'],
  ["another namespace", ["elsewhere", [elsewhere], SCOPED],
    "ERR_SELECTOR_NOT_GRANTED [elsewhere] No resource in namespace team-a, the scope of this sidecar, resolves to "
      + "IAMRoleSelector elsewhere."],
  ["a conflict", ["a", [selector("a", A, BUCKETS), selector("rival", B)], SCOPED], /^ERR_SELECTOR_NOT_GRANTED /],
  ["an unknown scope", ["elsewhere", [elsewhere], { scope: "team-c" }], UNKNOWN],
  ["a faulty selector", ["user", [selector("user", USER)]], faulty("user", "IRS-03")],
  ["a malformed selector", ["typo", [selector("typo", "not-an-arn")]], faulty("typo", "IRS-02")],
  ["a waivable fault does not deny the role", ["wide", [selectorObject("wide", { arn: A })]], `${A} of wide`],
]);

test("does not list a waivable fault of a faulty selector", (t) => {
  const inventory = inventoryOf([selectorObject("wide", { arn: USER })]);
  t.notMatch(grantText(grantSelector(inventory, "wide", ANYWHERE)), "IRS-15");
  t.end();
});

testRows("grants a role by ARN if a selector for the role selects a kind of the served groups", ofRole, [
  ["the role of a selector", [A, [selector("a", A, BUCKETS), elsewhere]], `${A} of a`],
  ["another group", [A, [ofGroup("rds", RDS)]],
    `ERR_SELECTOR_NOT_GRANTED [rds] No IAMRoleSelector grants "${A}" to ${S3}. Selectors with this role: rds. `
      + "Create or change a selector with this spec.arn so that it selects the resources, or request another role."],
  ["two groups", [A, [ofGroup("rds", RDS)], { groups: [S3, RDS] }], `${A} of rds`],
  ["no selector has the role", [B, [ofGroup("rds", RDS)]], /No selector has this role\. Create or change/],
  ["no group", [A, [selector("a", A)], { groups: [] }], /^ERR_SELECTOR_NOT_GRANTED /],
  ["another kind than --kind", [A, [selector("a", A, QUEUES)], { kinds }],
    /^ERR_SELECTOR_NOT_GRANTED \[a\] No IAMRoleSelector grants "\S+role\/a" to Bucket\.s3\.services\.k8s\.aws\./],
  ["the kind of --kind", [A, [selector("a", A, BUCKETS)], { kinds }], `${A} of a`],
  ["another namespace than the scope", [B, [selector("a", A), elsewhere], SCOPED],
    /to s3\.services\.k8s\.aws in namespace team-a, the scope of this sidecar\. Selectors with this role: elsewhere\./],
  ["an unknown scope", [A, [selector("a", A)], { scope: "team-c" }], UNKNOWN],
  ["a faulty selector", [A, [misspelled]], faulty("misspelled", "IRS-11")],
  ["the first of two faulty selectors in name order", [A, [misspelled, dropped]], faulty("dropped", "IRS-08")],
  ["another selector grants the role", [A, [misspelled, dropped, selector("z", A)]], `${A} of z`],
  ["a faulty session", [A, [selector("a", A, {}, { "external-id": "not one" })]], faulty("a", "IRS-42")],
]);

test("if several selectors grant a role, uses the first in name order, and forgets what was corrected", (t) => {
  const ofKind = (name: string): JsonObject =>
    selector(name, A, { resourceTypeSelector: [{ group: S3, kind: name.toUpperCase() }] });
  const inventory = inventoryOf([ofKind("c"), ofKind("b"), ofKind("d"), ofGroup("a", RDS)]);
  const grantedBy = (): object | null => {
    const grant = grantRole(inventory, A, ANYWHERE);
    return grant.verdict === "role" ? grant.grantedBy : null;
  };
  const before = grantedBy();
  t.equal(before, inventory.of(SELECTORS).get("b"));
  inventory.apply([put(ofKind("b"))]);
  t.not(grantedBy(), before, "a new object after the selector is stored again");
  inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "b")]);
  t.equal(grantedBy(), inventory.of(SELECTORS).get("c"));
  const corrected = inventoryOf([misspelled]);
  corrected.apply([put(selector("misspelled", B))]);
  t.match(grantText(grantRole(corrected, A, ANYWHERE)), "No selector has this role");
  t.equal(grantText(grantRole(corrected, B, ANYWHERE)), `${B} of misspelled`);
  t.end();
});

const TAGS = { "session-tags": "who={selector},for={group}" };
test("returns the session settings of the selector for each kind of grant", (t) => {
  const object = selector("a", A, {}, { "external-id": "id-1", "duration-seconds": "900", ...TAGS });
  const inventory = inventoryOf([object]);
  const tags = [{ key: "for", value: `${RDS} ${S3}` }, { key: "who", value: "a" }];
  const extras = { ...NO_EXTRAS, externalID: "id-1", durationSeconds: 900, tags };
  const groups = [S3, RDS];
  for (const grant of [
    grantInNamespace(inventory, { ...TEAM_A, groups }), grantSelector(inventory, "a", { ...ANYWHERE, groups }),
    grantRole(inventory, A, { ...ANYWHERE, groups }),
  ]) t.strictSame(grant.verdict === "role" && grant.extras, extras);
  const narrow = grantRole(inventoryOf([selector("a", A, BUCKETS, TAGS)]), A, { ...ANYWHERE, groups });
  t.match(narrow, { extras: { tags: [{ value: S3 }, { value: "a" }] } }, "only the groups of the selected kinds");
  t.end();
});

test("denies each kind of grant if the selectors for the role have different session settings", (t) => {
  const mine = selector("mine", A, BUCKETS, { "external-id": "planted", "session-name": "one" });
  const inTeamB = { namespaceSelector: { names: ["team-b"] }, ...BUCKETS };
  const inventory = inventoryOf([mine, selector("theirs", A, inTeamB, { "external-id": "other" })]);
  const message = `ERR_SELECTOR_EXTRAS [mine, theirs] IAMRoleSelectors mine and theirs set different session settings `
    + `for `
    + `${A} (external-id, session-name). Set the same annotation values on these selectors.`;
  const grants: readonly (readonly [how: string, Grant])[] = [
    ["by ARN", grantRole(inventory, A, ANYWHERE)],
    ["by ARN in a scope", grantRole(inventory, A, { ...ANYWHERE, ...SCOPED })],
    ["by name", grantSelector(inventory, "mine", ANYWHERE)],
    ["by name in a scope", grantSelector(inventory, "theirs", { ...ANYWHERE, scope: "team-b" })],
    ["in a namespace", grantInNamespace(inventory, { ...TEAM_A, kinds })],
    ["in the other namespace", grantInNamespace(inventory, { ...TEAM_A, namespace: "team-b", kinds })],
  ];
  for (const [how, grant] of grants) t.equal(grantText(grant), message, how);
  inventory.apply([put(selector("theirs", A, QUEUES, { "session-name": "one", "external-id": "planted" }))]);
  t.equal(grantText(grantRole(inventory, A, ANYWHERE)), `${A} of mine`, "equal settings are granted");
  t.end();
});

const badSession = selector("theirs", A, QUEUES, { "external-id": "not one" });
testRows("compares the session settings of every selector for the role, and their length", ofRole, [
  ["no session settings",
    [A, [selector("mine", A, BUCKETS, { "external-id": "planted" }), selector("theirs", A, QUEUES)]],
    /^ERR_SELECTOR_EXTRAS /],
  ["the settings of a faulty selector", [A, [selector("a", A, BUCKETS), badSession]], /^ERR_SELECTOR_EXTRAS /],
  ["tags that are too long after the groups are filled in",
    [A, [selector("a", A, {}, { "session-tags": "for={group}" })],
      { groups: Array.from({ length: 14 }, (_, i) => `service${i}.services.k8s.aws`) }],
    'ERR_SELECTOR_EXTRAS [a] IAMRoleSelector a sets the session tag "for", '
      + "which is too long for STS after its templates are filled in. Shorten the tag, for example by removing "
      + "{group}."],
]);

/** Returns the grants of the selector `a` by its name and of its role A by ARN. */
function both(inventory: Inventory): string[] {
  return [grantSelector(inventory, "a", ANYWHERE), grantRole(inventory, A, ANYWHERE)].map(grantText);
}
const byBoth = (reason: string, selectors = "a"): string[] => [
  `ERR_SELECTOR_NOT_GRANTED [${selectors}] ${reason}`,
  `ERR_SELECTOR_NOT_GRANTED [a] No IAMRoleSelector grants "${A}" to ${S3}. Selectors with this role: a. `
    + reason,
];
const GRANTED = [`${A} of a`, `${A} of a`];

test("denies a selector that another one shadows on each resource, with an example", (t) => {
  const reason = "IAMRoleSelector a conflicts with others on each resource that it selects, for example with rival in "
    + "namespace team-a. Change them so that only one selects the resource.";
  t.same(both(inventoryOf([selector("a", A, BUCKETS), selector("rival", B)])), byBoth(reason, "a, rival"));
  t.end();
});

test("denies a selector that selects no existing namespace, until one exists", (t) => {
  const reason = "IAMRoleSelector a selects no existing namespace. If the namespace is new, retry in a moment; "
    + "otherwise, create it or correct spec.namespaceSelector.";
  const teamC = namespaceObject("team-c", { team: "c" });
  for (const namespaceSelector of [
    { names: ["team-c"] }, { labelSelector: { matchLabels: { team: "c" } } },
    { names: ["team-a", "team-c"], labelSelector: { matchLabels: { team: "c" } } },
    { labelSelector: { matchLabels: { "kubernetes.io/metadata.name": "team-c" } } },
  ]) {
    const inventory = inventoryOf([selectorObject("a", { arn: A, namespaceSelector })]);
    t.same(both(inventory), byBoth(reason));
    inventory.apply([put(teamC)]);
    t.same(both(inventory), GRANTED);
    inventory.apply([put({ ...teamC, status: { phase: "Terminating" } })]);
    t.same(both(inventory), GRANTED, "the finalizers of resources in a terminating namespace need the role");
    inventory.apply([removal("", "Namespace", "team-c")]);
    t.same(both(inventory), byBoth(reason));
  }
  t.end();
});

const extended = { settings: { ...SETTINGS_BY_DEFAULT, runtime: "extended" } } as const;
const requiring = (name: string, ...matchExpressions: readonly JsonObject[]): JsonObject =>
  selector(name, A, { resourceLabelSelector: { matchExpressions } });
const never = requiring("a", { key: "x", operator: "Exists" }, { key: "x", operator: "DoesNotExist" });
const two = requiring("a", { key: "x", operator: "In", values: ["1", "2"] },
  { key: "x", operator: "NotIn", values: ["1"] });

testRows("finds labels that satisfy the expressions, with --runtime extended", ofSelector, [
  ["no labels do", ["a", [never], extended],
    "ERR_SELECTOR_NOT_GRANTED [a] IAMRoleSelector a selects no resource, because no labels satisfy "
      + "spec.resourceLabelSelector. Correct this field."],
  ["one value does", ["a", [two, selector("rival", B)], extended], `${A} of a`],
  ["an overlap that a resource can choose", ["a", [selector("a", A), selector("b", B)], { ...extended, ...SCOPED }],
    `${A} of a`],
]);

test("an inventory of a cluster without namespaces grants nothing; manifests without Namespaces name them", (t) => {
  const verdict = (origin: "file" | "cluster", ...objects: readonly JsonObject[]): string | undefined => {
    const inventory = inventoryWith(objects, { origin });
    return both(inventory)[1]?.split(" ")[0];
  };
  const a = selector("a", A);
  const everywhere = selectorObject("a", { arn: A });
  const labelSelector = { matchLabels: { team: "c" } };
  t.equal(verdict("cluster", a), "ERR_SELECTOR_NOT_GRANTED");
  t.equal(verdict("cluster", everywhere), "ERR_SELECTOR_NOT_GRANTED");
  t.equal(verdict("file", a), A);
  t.equal(verdict("file", everywhere), A);
  t.equal(verdict("file", a, selectorObject("rival", { arn: B })), "ERR_SELECTOR_NOT_GRANTED");
  t.equal(verdict("file", a, namespaceObject("team-b")), "ERR_SELECTOR_NOT_GRANTED");
  const labeled = selectorObject("a", { arn: A, namespaceSelector: { labelSelector } });
  t.equal(verdict("file", labeled), "ERR_SELECTOR_NOT_GRANTED");
  t.end();
});

test("grants no role of a selector or of a CARM map for the group of CAPA", (t) => {
  const capa = "infrastructure.cluster.x-k8s.io";
  const owned = namespaceObject("owned", {}, { "services.k8s.aws/owner-account-id": "222222222222" });
  const map = mapObject("ack-role-account-map", { "222222222222": B });
  const inventory = inventoryOf([selector("any", A), owned, map]);
  const grantsOf = (...groups: readonly string[]): string[] => {
    const carm = { ...SETTINGS_BY_DEFAULT, mode: "carm" } as const;
    return [
      grantSelector(inventory, "any", { ...ANYWHERE, groups }), grantRole(inventory, A, { ...ANYWHERE, groups }),
      grantInNamespace(inventory, { ...TEAM_A, groups }),
      grantRole(inventory, B, { ...ANYWHERE, groups, settings: carm }),
      grantInNamespace(inventory, { ...TEAM_A, groups, settings: carm, namespace: "owned" }),
    ].map(grantText);
  };
  t.same(grantsOf(capa, S3).map((text) => text.split(" ")[0]), [A, A, A, B, B]);
  const denied = `ERR_SELECTOR_NOT_GRANTED [] This sidecar serves only identities of Cluster API (--group ${capa}), `
    + `not the `
    + "roles of selectors and CARM maps. Request /v1/credentials/identities/KIND/NAME?namespace=NS, or add the API "
    + "group "
    + "of ACK resources to --group.";
  t.same(grantsOf(capa), Array.from({ length: 5 }, () => denied));
  t.end();
});
