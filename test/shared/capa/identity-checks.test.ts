import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, identityObject, roleARN, roleIdentity, staticIdentity,
} from "../capa-objects.ts";
import { clusterChange } from "../../../shared/capa/cluster-reference.ts";
import { identityChange } from "../../../shared/capa/identity-change.ts";
import { CI_35 } from "../../../shared/capa/identity-role.ts";
import { inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { type CapaCase, capaLines, denials, testCases } from "../core/capa-lines.ts";

const NAME = "kubernetes.io/metadata.name";
const LIST = { list: ["team-a"] };
const lastApplied = (spec: object): JsonObject => ({
  annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec }) },
});

/** A role identity in which no check finds a fault, with changes. */
function role(rest: JsonObject = {}, allowed: unknown = LIST): JsonObject {
  return roleIdentity("r", "controller", allowed, rest);
}

function account(spec: JsonObject): JsonObject {
  return identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("sa"), ...spec },
    { namespace: "team-a" });
}

const CASES: readonly CapaCase[] = [
  ["CI-00", "the list is a text", role({}, { list: "test" }),
    [/^deny CI-00 spec\.allowedNamespaces\.list: expected a list of strings, not the string "test"\./]],
  ["CI-00", "allowedNamespaces is a list", role({}, ["test"]),
    [/spec\.allowedNamespaces: expected an object, not a list\./]],
  ["CI-00", "the selector and a label have wrong types", role({}, { selector: { matchLabels: { a: 1 } } }),
    [/matchLabels\[a\]: expected a string, not the number 1\./]],
  ["CI-00", "the selector is a text", role({}, { selector: "a=b" }), [/selector: expected an object/]],
  ["CI-00", "matchLabels is a text", role({}, { selector: { matchLabels: "a=b" } }),
    [/matchLabels: expected an object/]],
  ["CI-00", "secretRef is an object", staticIdentity("s", LIST, { name: "a" }), 
    [/spec\.secretRef: expected a string, not an object\. Write "a"\.$/]],
  ["CI-00", "policyARNs is a text, and the duration too", role({ policyARNs: "a", durationSeconds: "900" }),
    [/durationSeconds: expected an integer/, /policyARNs: expected a list/]],
  ["CI-00", "the values of tags are numbers", role({ tags: { team: 5 } }),
    [/spec\.tags: expected a map of strings, not a map of other values/]],
  ["CI-00", "tags is a text", role({ tags: "team" }), [/spec\.tags: expected a map of strings, not the string/]],
  ["CI-00", "spec is a text", identityObject("AWSClusterControllerIdentity", "default", "x"),
    [/CI-00 spec: expected an object/]],
  ["CI-00", "fields in the wrong case", role({ roleArn: "a", externalId: "b", other: 1 }),
    [/spec\.externalId: .* externalID was meant/, /spec\.roleArn: unknown field "roleArn"; perhaps roleARN was meant/]],
  ["CI-00", "a list with another value", role({ policyARNs: [1] }),
    [/policyARNs: expected a list of strings, not a list of other values/]],
  ["CI-00", "null values, which the API server drops", role({ externalID: null }, { list: null, selector: null }), []],
  ["CI-00", "spec is missing", identityObject("AWSClusterControllerIdentity", "default", undefined), []],
  ["CI-01", "another name", identityObject("AWSClusterControllerIdentity", "other", {}),
    [/^deny CI-01 metadata\.name: the name is "other", not default\. Write "default"\.$/]],
  ["CI-01", "the allowed namespaces change", controllerIdentity(LIST),
    [/^deny CI-01 spec\.allowedNamespaces: the allowed namespaces change/], { old: controllerIdentity() }],
  ["CI-01", "another spelling of the same rule", controllerIdentity({ list: null, selector: {} }), [],
    { old: controllerIdentity({}) }],
  ["CI-01", "another kind", role(), []],
  ["CI-02", "an empty selector", role({}, { selector: {} }),
    [/^warn CI-02 spec\.allowedNamespaces\.selector: the selector is empty: .* every namespace\. Replace/]],
  ["CI-02", "an empty selector with --runtime extended", role({}, { list: null, selector: {} }), [/^warn CI-02/],
    { settings: { runtime: "extended" } }],
  ["CI-02", "a selector whose parts are null", role({}, { selector: { matchLabels: null } }),
    [/the selector is empty: shipped CAPA allows every namespace/]],
  ["CI-02", "a selector without requirements", role({}, { selector: { matchLabels: {}, matchExpressions: [] } }),
    [/^warn CI-02 .*: no namespace, but every one before CAPA v2\.9\.0 or after a move\. Replace/]],
  ["CI-02", "an empty list of requirements", role({}, { selector: { matchExpressions: [] } }),
    [/the selector is empty: no namespace, but every one before CAPA v2\.9\.0/]],
  ["CI-02", "a selector with a requirement", role({}, { selector: { matchLabels: { a: "b" }, matchExpressions: [] } }),
    []],
  ["CI-02", "a selector that is not valid", role({}, { selector: { matchLabels: "a" } }), []],
  ["CI-02", "a selector with an unknown field only", role({}, { selector: { labels: {} } }), []],
  ["CI-02", "an empty selector and a list", role({}, { list: [], selector: {} }), []],
  ["CI-02", "a service account identity", account({}), []],
  ["CI-03", "allowedNamespaces is missing", identityObject("AWSClusterStaticIdentity", "s", { secretRef: "s" }),
    [/^warn CI-03 spec\.allowedNamespaces: allowedNamespaces is missing\. List/]],
  ["CI-03", "allowedNamespaces is null", role({}, null), [/allowedNamespaces is null/]],
  ["CI-03", "a service account identity", account({}), []],
  ["CI-04", "every namespace", role({}, {}),
    [/^warn CI-04 spec\.allowedNamespaces: allowedNamespaces allows every namespace/]],
  ["CI-04", "a list", role(), []],
  ["CI-05", "a wildcard", role({}, { list: ["*", "team-a", 1] }),
    [/^deny CI-05 spec\.allowedNamespaces\.list\[0\]: "\*" is not a valid namespace name: /],
    { objects: [namespaceObject("team-a")] }],
  ["CI-05", "a namespace that does not exist in manifests that are not complete", role({}, { list: ["x"] }), [],
    { objects: [namespaceObject("team-a")], origin: "file" }],
  ["CI-05", "a misspelled namespace in manifests that are not complete", role({}, { list: ["team-a", "paymnets"] }),
    [/^warn CI-05 .*list\[1\]: namespace "paymnets" is not in the input; .*\. Write "payments"\.$/],
    { objects: [namespaceObject("team-a"), namespaceObject("payments")], origin: "file" }],
  ["CI-05", "a namespace that does not exist", role({}, { list: ["team-a", "x"] }),
    [/^warn CI-05 .*list\[1\]: namespace x does not exist/], { objects: [namespaceObject("team-a")] }],
  ["CI-06", "an operator that does not exist", role({}, { selector: { matchExpressions: [{ key: "a",
    operator: "Is" }] } }), [/^deny CI-06 .*matchExpressions\[0\]\.operator: "Is" is not a valid operator/]],
  ["CI-06", "an invalid label", role({}, { selector: { matchLabels: { "-a": "b" } } }),
    [/^deny CI-06 .*matchLabels\[-a\]/]],
  ["CI-06", "the stored object has the same fault", role({ externalID: "abc" },
    { selector: { matchLabels: { "-a": "b" } } }), [/^warn CI-06/], { old: role({},
    { selector: { matchLabels: { "-a": "b" } } }) }],
  ["CI-08", "DoesNotExist", role({}, { selector: { matchExpressions: [{ key: "a", operator: "DoesNotExist" },
    { key: "b", operator: "Exists" }] } }),
    [/^warn CI-08 .*matchExpressions\[0\]: DoesNotExist selects every namespace without label "a"/]],
  ["CI-36", "labels that tenants set", role({}, { selector: { matchLabels: { team: "a", stage: "b" },
    matchExpressions: [{ key: "team", operator: "Exists" }, { key: NAME, operator: "Exists" }] } }),
    [/^warn CI-36 .*matchExpressions\[0\]\.key: tenants can set/, /matchLabels\[team\]: tenants can set/],
    { settings: { tenantLabels: ["team", NAME] } }],
  ["CI-36", "a list", role(), [], { settings: { tenantLabels: ["team"] } }],
  ["CI-09", "an unknown field", role({}, { namespaces: ["a"] }),
    [/^deny CI-09 spec\.allowedNamespaces\.namespaces: "namespaces" is not a field of .*, so the API server prunes/]],
  ["CI-09", "an unknown field of the selector", role({}, { selector: { matchlabels: {} } }),
    [/selector\.matchlabels: .*prunes it; perhaps matchLabels was meant/]],
  ["CI-09", "a field that the API server pruned", { ...role({}, {}), metadata: { name: "r",
    ...lastApplied({ allowedNamespaces: { namespaces: ["a"] } }) } },
    [/^deny CI-09 .*"namespaces" was pruned by the API server from the applied manifest/]],
  ["CI-09", "tags of a manifest, which shipped CAPA does not have", role({ tags: { a: "b" }, transitiveTags: ["a"] }),
    [/^warn CI-09 spec\.tags: "tags" is not .* prunes it, and sessions have no tags\. Install/, /"transitiveTags"/],
    { origin: "file" }],
  ["CI-09", "tags of a manifest with --runtime extended", role({ tags: { a: "b" } }), [],
    { origin: "file", settings: { runtime: "extended" } }],
  ["CI-09", "tags that the API server pruned", { ...role(), metadata: { name: "r",
    ...lastApplied({ tags: { a: "b" } }) } }, [/^warn CI-09 spec\.tags: "tags" was pruned by the API server/]],
  ["CI-09", "misspelled and unknown fields of a manifest", role({ inlinePolicies: "{}", other: 1, roleArn: "a" }),
    [/^warn CI-09 spec\.inlinePolicies: .* prunes it; perhaps inlinePolicy was meant\. Correct/, /"other" is not/],
    { origin: "file" }],
  ["CI-09", "a misspelled field that the API server pruned", { ...role(), metadata: { name: "r",
    ...lastApplied({ externalId: "x" }) } }, [/"externalId" was pruned .*; perhaps externalID was meant/]],
  ["CI-09", "tags of a stored object, whose schema has them", role({ tags: { a: "b" } }), []],
  ["CI-09", "known fields", { ...role(), metadata: { name: "r", ...lastApplied({ allowedNamespaces: LIST }) } }, []],
  ["CI-11", "another kind", role(), []],
  ["CI-11", "secretRef is empty", staticIdentity("s", LIST, ""),
    [/^deny CI-11 spec\.secretRef: secretRef is missing\. Set/]],
  ["CI-11", "secretRef is missing", identityObject("AWSClusterStaticIdentity", "s", { allowedNamespaces: LIST }),
    [/secretRef is missing/]],
  ["CI-11", "secretRef is null", staticIdentity("s", LIST, null), [/secretRef is missing/]],
  ["CI-11", "secretRef is an object", staticIdentity("s", LIST, { name: "a" }), [/secretRef is not the name of a/]],
  ["CI-11", "secretRef is not a name", staticIdentity("s", LIST, "a/b"), [/"a\/b" is not the name of a Secret/]],
  ["CI-11", "secretRef changes", staticIdentity("s", LIST, "b"), [/secretRef changes from "a" to "b"/],
    { old: staticIdentity("s", LIST, "a") }],
  ["CI-11", "secretRef is set later", staticIdentity("s", LIST, "b"), [/secretRef changes from "" to "b"/],
    { old: staticIdentity("s", LIST, null) }],
  ["CI-25", "the source is missing", roleIdentity("r", null, LIST),
    [/^deny CI-25 spec\.sourceIdentityRef: the source is missing\. Write .* and create .* default\.$/]],
  ["CI-25", "the source is missing with --runtime extended, which uses the default identity",
    roleIdentity("r", null, LIST), [], { settings: { runtime: "extended" } }],
  ["CI-25", "the kind is unknown", roleIdentity("r", "AWSClusterIdentityIdentity/a", LIST),
    [/sourceIdentityRef\.kind: "AWSClusterIdentityIdentity" is not a kind of source/]],
  ["CI-25", "the kind is AWSServiceAccountIdentity", roleIdentity("r", "account/a", LIST), [/is not a kind of source/]],
  ["CI-25", "another controller identity", roleIdentity("r", "controller/a", LIST),
    [/sourceIdentityRef\.name: CAPA uses only the AWSClusterControllerIdentity named default/]],
  ["CI-25", "its own source", roleIdentity("r", "role/r", LIST), [/the sources form a cycle: "r" -> "r"/]],
  ["CI-25", "a cycle", roleIdentity("r", "role/b", LIST), [/the sources form a cycle: "r" -> "b" -> "r"/],
    { objects: [roleIdentity("b", "role/r")] }],
  ["CI-25", "9 roles", roleIdentity("r", "role/r1", LIST), [/the chain has more than 8 roles/],
    { objects: Array.from({ length: 8 }, (_, i) => roleIdentity(`r${i + 1}`, `role/r${i + 2}`)) }],
  ["CI-25", "a source that does not exist", roleIdentity("r", "static/none", LIST), []],
  ["CI-26", "a source that does not exist", roleIdentity("r", "static/none", LIST),
    [/^warn CI-26 spec\.sourceIdentityRef: AWSClusterStaticIdentity "none" does not exist\./]],
  ["CI-26", "itself and unknown kinds, which CI-25 reports", roleIdentity("r", "role/r", LIST), []],
  ["CI-26", "an unknown kind", roleIdentity("r", "x/y", LIST), []],
  ["CI-26", "a source that exists", role(), [], { objects: [controllerIdentity()] }],
  ["CI-28", "a chained role", roleIdentity("r", "role/b", LIST),
    [/^warn CI-28 spec\.sourceIdentityRef: the source is a role, whose session shipped CAPA does not renew/]],
  ["CI-28", "a role of the controller", role(), []],
  ["CI-29", "a foreign account without an external ID", role(),
    [/^warn CI-29 spec\.externalID: the role is in account "111122223333", and externalID is missing/],
    { settings: { controllerAccount: "444455556666" } }],
  ["CI-29", "an external ID", role({ externalID: "abc" }), [], { settings: { controllerAccount: "444455556666" } }],
  ["CI-29", "the account of the controller", role(), [], { settings: { controllerAccount: "111122223333" } }],
  ["CI-34", "too many values", role({}, { list: Array.from({ length: 20_001 }, () => "a") }),
    [/^deny CI-34 .*more than 20000 values/]],
];

testCases(CASES);

const USERS = [
  namespaceObject("ns1"), namespaceObject("ns2"), clusterObject("c1", "role/r"), clusterObject("c2", "role/other"),
  clusterObject("c3", "role/top", "ns2"), roleIdentity("top", "role/r"), roleIdentity("other"), controllerIdentity(),
];
const stored = roleIdentity("r", "controller", { list: ["ns1", "ns2"] });

test("CI-07: denies a change after which clusters may no longer use their chain", (t) => {
  const objects = [...USERS, stored];
  const narrowed = roleIdentity("r", "controller", { list: ["ns1"] });
  t.match(capaLines("CI-07", narrowed, { old: stored, objects }), [
    /^deny CI-07 spec: 1 object loses the identity: AWSCluster ns2\/c3\. Set spec\.allowedNamespaces to/,
  ]);
  const none = roleIdentity("r", "controller", { list: [] });
  t.match(capaLines("CI-07", none, { old: stored, objects }), [
    /: 2 objects lose the identity: AWSCluster ns1\/c1 and AWSCluster ns2\/c3\./,
  ]);
  t.same(capaLines("CI-07", roleIdentity("r", "controller", {}), { old: stored, objects }), []);
  const same = account({});
  t.same(capaLines("CI-07", same, { old: same, objects: [same, clusterObject("c", "account/sa")] }), []);
  t.end();
});

test("CI-07: ignores objects that could not use the identity before, and objects without an identity", (t) => {
  const network = { ...clusterObject("n", null), kind: "ROSANetwork" };
  const before = controllerIdentity({ list: ["ns2"] });
  const objects = [namespaceObject("ns1"), network, clusterObject("c", null), before];
  t.same(capaLines("CI-07", controllerIdentity({ list: [] }), { old: before, objects }), []);
  t.end();
});

test("CI-30: denies another account for a role in use", (t) => {
  const objects = [...USERS, stored];
  const moved = roleIdentity("r", "controller", { list: ["ns1", "ns2"] },
    { roleARN: "arn:aws:iam::444455556666:role/r" });
  t.match(capaLines("CI-30", moved, { old: stored, objects }), [
    /^deny CI-30 spec\.roleARN: .* from account 1{4}.* to account 4{4}.*, and 1 object uses the identity: .* ns1\/c1\./,
  ]);
  t.same(capaLines("CI-30", moved, { old: stored }), [], "no object uses the identity");
  const sameAccount = roleIdentity("r", "controller", {}, { roleARN: roleARN("x") });
  t.same(capaLines("CI-30", sameAccount, { old: stored, objects }), []);
  t.end();
});

test("CI-31: denies the deletion of an identity in use, and lists at most 20 users", (t) => {
  const objects = [...USERS, stored];
  t.match(capaLines("CI-31", stored, { objects, operation: "DELETE" }), [
    /^deny CI-31 : 2 objects use the identity: AWSClusterRoleIdentity "top" and AWSCluster ns1\/c1\. Delete/,
  ]);
  const many = Array.from({ length: 30 }, (_, i) => clusterObject(`c${i}`, "static/s"));
  t.match(capaLines("CI-31", staticIdentity("s"), { objects: many, operation: "DELETE" }),
    [/: at least 20 objects use/]);
  const manyRoles = Array.from({ length: 30 }, (_, i) => roleIdentity(`r${i}`, "static/s"));
  t.match(capaLines("CI-31", staticIdentity("s"), { objects: manyRoles, operation: "DELETE" }),
    [/: at least 20 objects/]);
  t.same(capaLines("CI-31", roleIdentity("unused"), { objects, operation: "DELETE" }), []);
  const account1 = identityObject("AWSServiceAccountIdentity", "sa", {}, { namespace: "ns1" });
  t.match(capaLines("CI-31", account1, { objects: [account1, clusterObject("c", "account/sa")],
    operation: "DELETE" }), [/1 object uses/]);
  t.end();
});

test("CI-31: denies the deletion of the controller identity in use, also by objects without identityRef", (t) => {
  const objects = [controllerIdentity(), clusterObject("c", null)];
  t.match(capaLines("CI-31", controllerIdentity(), { objects, operation: "DELETE" }), [
    /^deny CI-31 : 1 object uses the identity: AWSCluster ns1\/c\. .* create the identity again at once\.$/,
  ]);
  t.same(capaLines("CI-31", controllerIdentity(), { objects: [controllerIdentity()], operation: "DELETE" }), []);
  const change = {
    objects: [roleIdentity("r", null)], settings: { runtime: "extended" }, operation: "DELETE",
  } as const;
  t.match(capaLines("CI-31", controllerIdentity(), change), [
    /1 object uses the identity: AWSClusterRoleIdentity "r"/,
  ], "the source of a role that names none");
  t.end();
});

test("returns no change for an object that is not an identity", (t) => {
  const inventory = inventoryWith([]);
  const context = {
    operation: "CREATE", settings: SETTINGS_BY_DEFAULT, inventory, origin: "cluster", requester: null,
  } as const;
  t.equal(identityChange({ object: clusterObject("c", null), old: null }, context), null);
  t.equal(clusterChange({ object: role(), old: null }, context), null);
  t.end();
});

test("denies no object that CAPA itself writes", (t) => {
  const label = { labels: { "clusterctl.cluster.x-k8s.io/move-hierarchy": "" } };
  const owners = { ownerReferences: [{ apiVersion: "v1", kind: "Secret", name: "s", uid: "u" }] };
  const singleton = (allowedNamespaces: unknown, metadata: JsonObject = {}): JsonObject => (
    identityObject("AWSClusterControllerIdentity", "default", { allowedNamespaces }, metadata)
  );
  const defaulted = { list: null, selector: {} };
  const objects = [controllerIdentity(), clusterObject("c", null)];
  for (const [object, old] of [
    [singleton({}), null], [singleton(defaulted, label), null], [singleton(defaulted, label), singleton({})],
    [identityObject("AWSClusterStaticIdentity", "s", { secretRef: "s", allowedNamespaces: LIST }, { ...label,
      ...owners }), null],
    [roleIdentity("r", "controller", defaulted), roleIdentity("r", "controller", {})],
  ] as const) t.same(denials(object, { old, objects }), []);
  t.end();
});

test("a stored identity whose selector is not valid can be repaired and deleted", (t) => {
  const broken = staticIdentity("s", { selector: { matchLabels: { "-a": "b" } } });
  t.same(denials({ ...broken }, { old: broken }), []);
  t.same(denials(staticIdentity("s", LIST), { old: broken, objects: [broken] }), []);
  t.same(denials(broken, { operation: "DELETE", objects: [broken] }), []);
  t.end();
});

test("CI-35: is off by default, denies no identity and requires STS, which only the sidecar calls", (t) => {
  t.match(CI_35, { severity: "off", requires: [{ name: "STS" }] });
  t.same(CI_35.find(), []);
  t.same(capaLines("CI-35", role(), { objects: [controllerIdentity()] }), []);
  t.end();
});
