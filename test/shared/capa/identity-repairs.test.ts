import { test } from "tap";
import { accepted } from "../../../shared/capa/identity-repairs.ts";
import { identityChange } from "../../../shared/capa/identity-change.ts";
import { contextOf } from "../../../shared/core/check.ts";
import { set } from "../../../shared/core/repair.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { controllerIdentity, identityObject, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import type { Circumstances } from "../core/findings.ts";
import { repairsOf, type RepairRow } from "../core/repair-rows.ts";

const LIST = { list: ["team-a"] };
const KNOWN = { known: [namespaceObject("team-a"), namespaceObject("payments")] };
const role = (rest: JsonObject, allowed: unknown = LIST): JsonObject => roleIdentity("r", "controller", allowed, rest);
const account = (spec: JsonObject): JsonObject => identityObject("AWSServiceAccountIdentity", "sa", spec);
const selecting = (selector: unknown): JsonObject => role({}, { selector });
const expression = (rest: JsonObject): JsonObject => selecting({ matchExpressions: [rest] });
const FILE: Circumstances = { origin: "file" };
const DEFAULT = { kind: "AWSClusterControllerIdentity", name: "default" };

const ROWS: readonly RepairRow[] = [
  ["CI-00", "a number as a text", role({ sessionName: 12_345 }), ['safe sessionName="12345"']],
  ["CI-00", "a policy as an object", role({ inlinePolicy: { Version: "2012-10-17" } }),
    ['safe inlinePolicy="{\\"Version\\":\\"2012-10-17\\"}"']],
  ["CI-00", "a change to a number as a text", role({ sessionName: 12_345 }), ['safe sessionName="12345"'],
    { old: role({}) }],
  ["CI-00", "a duration that is no number", role({ durationSeconds: "1h" }), []],
  ["CI-00", "a source as a text", role({ sourceIdentityRef: "default" }), []],
  ["CI-00", "a list as the whole rule", role({}, ["team-a"]), ['safe allowedNamespaces={"list":["team-a"]}']],
  ["CI-00", "tags with an object", role({ tags: { a: {} } }), []],
  ["CI-00", "a field of another name that is there", role({ roleArn: "a" }), ["roleArn removed"]],
  ["CI-00", "an external ID", role({ externalId: "secret" }), []],
  ["CI-00", "an external ID that is a number", role({ externalID: 123 }), []],
  ["CI-00", "a label that cannot be one", selecting({ matchLabels: { a: [] } }), []],
  ["CI-00", "a Secret with another field", staticIdentity("s", LIST, { name: "a", namespace: "b" }), []],
  ["CI-01", "another name while the default exists", identityObject(DEFAULT.kind, "other", { allowedNamespaces: LIST }),
    ["(object) removed"], { known: [controllerIdentity()] }],
  ["CI-05", "a misspelled name of a cluster", role({}, { list: ["paymnets"] }), ['safe 0="payments"'], KNOWN],
  ["CI-06", "a misspelled operator", expression({ key: "a", operator: "exists" }), ['safe operator="Exists"']],
  ["CI-06", "an operator that is missing", expression({ key: "a" }), []],
  ["CI-06", "blanks around a value", selecting({ matchLabels: { a: " b" } }), ['safe a="b"']],
  ["CI-06", "a value with a bad character", selecting({ matchLabels: { a: "b!" } }), []],
  ["CI-06", "blanks around a key", expression({ key: " a", operator: "Exists" }), ['safe key="a"']],
  ["CI-06", "Exists with values", expression({ key: "a", operator: "Exists", values: ["b"] }),
    ['if only these values matter: operator="In"', "if the values do not matter: values removed"]],
  ["CI-06", "DoesNotExist with values", expression({ key: "a", operator: "DoesNotExist", values: ["b"] }),
    ["if the values do not matter: values removed", 'if only these values matter: operator="NotIn"']],
  ["CI-06", "a key that is a number", expression({ key: 1, operator: "Exists" }), []],
  ["CI-06", "In without values", expression({ key: "a", operator: "In" }), []],
  ["CI-09", "a field beside the list", role({}, { ...LIST, other: 1 }), ["other removed"]],
  ["CI-09", "a rule of another name", role({}, { namespaces: ["team-a"] }),
    ['safe namespaces removed, list=["team-a"]']],
  ["CI-09", "many fields", role({}, Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`f${i}`, i]))), []],
  ["CI-09", "a field without another", role({}, { other: 1 }), []],
  ["CI-11", "the name of a Secret with its namespace", staticIdentity("s", LIST, "capa-system/creds"),
    ['safe secretRef="creds"']],
  ["CI-11", "another Secret than the bad one before", staticIdentity("s", LIST, "b"), [],
    { old: staticIdentity("s", LIST, "A!") }],
  ["CI-20", "a session of the role", role({ roleARN: "arn:aws:sts::111122223333:assumed-role/a/s" }),
    ['roleARN="arn:aws:iam::111122223333:role/a"']],
  ["CI-21", "a short session name", role({ sessionName: "!" }), []],
  ["CI-21", "a session name", role({ sessionName: "bad name" }), ['sessionName="bad-name"']],
  ["CI-21", "transitive tags", role({ tags: { a: "b" }, transitiveTags: ["a", "c"] }), ['transitiveTags=["a"]']],
  ["CI-22", "blanks around an ARN", role({ policyARNs: [" arn:aws:iam::aws:policy/ReadOnlyAccess"] }),
    ['safe policyARNs=["arn:aws:iam::aws:policy/ReadOnlyAccess"]']],
  ["CI-22", "a policy that is no JSON", role({ inlinePolicy: "allow" }), []],
  ["CI-25", "a misspelled kind", role({ sourceIdentityRef: { ...DEFAULT, kind: "AWSClusterControlerIdentity" } }),
    ['safe kind="AWSClusterControllerIdentity"'], { known: [controllerIdentity()] }],
  ["CI-25", "no source beside the identity default", roleIdentity("r", null, LIST),
    [`sourceIdentityRef=${JSON.stringify(DEFAULT)}`], { known: [controllerIdentity()] }],
  ["CI-25", "no source beside one for others", roleIdentity("r", null, LIST), [],
    { known: [controllerIdentity({ list: ["b"] })] }],
  ["CI-25", "a cycle", roleIdentity("r", "role/r", LIST),
    ['to keep the source: sourceIdentityRef={"kind":"AWSClusterStaticIdentity","name":"s"}',
      `to use the credentials of CAPA: sourceIdentityRef=${JSON.stringify(DEFAULT)}`],
    { old: roleIdentity("r", "static/s", LIST), known: [controllerIdentity(), staticIdentity("s")] }],
  ["CI-26", "a misspelled name", roleIdentity("r", "static/paymnets", LIST), ['safe name="payments"'],
    { known: [staticIdentity("payments")] }],
  ["CI-26", "the name of the identity itself", roleIdentity("payments", "role/paymnets", LIST), [],
    { known: [roleIdentity("payments")] }],
  ["CI-33", "a kind without fields of its own", { ...controllerIdentity(), kind: "AWSClusterIdentityIdentity" }, []],
  ["CI-33", "a misspelled kind in an old version",
    { ...roleIdentity("r"), kind: "AWSClusterRoleIdentty" }, ['safe kind="AWSClusterRoleIdentity"'], FILE],
  ["CI-37", "a long token", account({ roleARN: "arn:aws:iam::111122223333:role/a", expirationSeconds: 2 ** 33 }),
    ["expirationSeconds=4294967296"]],
  ["CI-37", "too many audiences", account({ audiences: Array.from({ length: 11 }, (_, i) => `a${i}`) }), []],
];

for (const [code, what, object, expected, circumstances] of ROWS) {
  test(`${code} proposes ${expected.length === 0 ? "nothing" : expected.join(" or ")}: ${what}`, (t) => {
    t.same(repairsOf(code, object, circumstances), expected);
    t.end();
  });
}

test("accepted judges nothing but identities", (t) => {
  const object = role({});
  const input = { object, old: null, requester: null, origin: "cluster" } as const;
  const change = identityChange(input, contextOf(input, SETTINGS_BY_DEFAULT, inventoryWith([])));
  t.ok(change);
  const edit = set(["kind"], "Role");
  if (change !== null) t.same(accepted(change, edit), [{ isSafe: true, edits: [edit] }]);
  t.end();
});
