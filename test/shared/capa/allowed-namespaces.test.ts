import { test } from "tap";
import {
  allowsNamespace, readAllowedNamespaces, type ReferringNamespace, storedBy,
} from "../../../shared/capa/allowed-namespaces.ts";
import { valueAt } from "../../../shared/formats/json.ts";
import { clusterObject, roleIdentity } from "../capa-objects.ts";
import { NAME_LABEL } from "../../../shared/formats/names.ts";
import { testRows } from "../rows.ts";

const NS1: ReferringNamespace = {
  name: "ns1", labels: new Map([["team", "a"], [NAME_LABEL, "ns1"]]), isPartial: false,
};

type Verdict = "yes" | "no" | "error";

/** Whether an identity with `allowedNamespaces` allows the namespace `ns1`, which has the label `team=a`. */
function verdict(value: unknown, runtime: "ack" | "extended", namespace = NS1): Verdict {
  const { allowed, code } = allowsNamespace(readAllowedNamespaces(value, runtime), namespace);
  if (allowed) return "yes";
  return code === "ERR_IDENTITY_SELECTOR" ? "error" : "no";
}

const A = { team: "a" };
const B = { team: "b" };
const expression = (operator: string, key: string, values?: readonly string[]): object => (
  { selector: { matchExpressions: [{ key, operator, ...(values !== undefined && { values }) }] } }
);

/**
 * Shipped: the verdict of CAPA at 2cf09d7 for the stored object, run with its own function
 * `isClusterPermittedToUsePrincipal`. Documented: the verdict of the page "Multi-tenancy" of the CAPA book. The page
 * does not document faults, which then allow nothing.
 */
const TRUTH_TABLE: readonly (readonly [written: string, value: unknown, shipped: Verdict, documented: Verdict])[] = [
  ["missing", undefined, "no", "no"],
  ["null", null, "no", "no"],
  ["{}", {}, "yes", "yes"],
  ["{list: null}", { list: null }, "yes", "yes"],
  ["{selector: null}", { selector: null }, "yes", "yes"],
  ["{list: null, selector: null}", { list: null, selector: null }, "yes", "yes"],
  ["{list: []}", { list: [] }, "no", "no"],
  ["{selector: {}}", { selector: {} }, "yes", "no"],
  ["{list: null, selector: {}}", { list: null, selector: {} }, "yes", "no"],
  ["{list: [], selector: {}}", { list: [], selector: {} }, "no", "no"],
  ["{selector: {matchLabels: {}}}", { selector: { matchLabels: {} } }, "no", "no"],
  ["{selector: {matchExpressions: []}}", { selector: { matchExpressions: [] } }, "no", "no"],
  ["{selector: {matchLabels: null}}", { selector: { matchLabels: null } }, "yes", "no"],
  ["{list: [ns1]}", { list: ["ns1"] }, "yes", "yes"],
  ["{list: [ns1], selector: {}}", { list: ["ns1"], selector: {} }, "yes", "yes"],
  ["{list: [other]}", { list: ["other"] }, "no", "no"],
  ["{selector: {matchLabels: {team: a}}}", { selector: { matchLabels: A } }, "yes", "yes"],
  ["{list: [other], selector of team: a}", { list: ["other"], selector: { matchLabels: A } }, "yes", "yes"],
  ["{list: [other], selector of team: b}", { list: ["other"], selector: { matchLabels: B } }, "no", "no"],
  ["In [a]", expression("In", "team", ["a"]), "yes", "yes"],
  ["In [b]", expression("In", "team", ["b"]), "no", "no"],
  ["NotIn [b]", expression("NotIn", "team", ["b"]), "yes", "yes"],
  ["Exists", expression("Exists", "team"), "yes", "yes"],
  ["DoesNotExist on an absent key", expression("DoesNotExist", "tier"), "yes", "yes"],
  ['{list: ["*"]}', { list: ["*"] }, "no", "no"],
  ['{list: [""]}', { list: [""] }, "no", "no"],
  ["unknown operator", expression("Matches", "team", ["a"]), "error", "error"],
  ["In without values", expression("In", "team"), "error", "error"],
  ["Exists with values", expression("Exists", "team", ["a"]), "error", "error"],
  ["invalid label key", { selector: { matchLabels: { "-team": "a" } } }, "error", "error"],
  ["empty label key", { selector: { matchLabels: { "": "a" } } }, "error", "error"],
  ["invalid selector and a list of ns1", { list: ["ns1"], selector: { matchLabels: { "-t": "a" } } }, "yes", "yes"],
  ["selector that the documentation gets wrong: ns", { selector: { matchLabels: { ns: "testlabel" } } }, "no", "no"],
  ["unknown field instead of list", { namespaces: ["other"] }, "yes", "no"],
  ["unknown field and list", { list: ["ns1"], namespaces: ["other"] }, "yes", "no"],
  ["unknown field in the selector", { selector: { matchlabels: B } }, "yes", "error"],
];

/** The API server rejects these values, so that only manifests contain them. */
const INVALID: readonly (readonly [written: string, value: unknown, verdict: Verdict])[] = [
  ["text", "test", "no"],
  ["list instead of object", ["test"], "no"],
  ["list that is a text", { list: "ns1" }, "no"],
  ["list with a number", { list: ["ns1", 1] }, "no"],
  ["selector that is a text", { selector: "team=a" }, "error"],
  ["label value that is a number", { selector: { matchLabels: { team: 1 } } }, "error"],
  ["label value that is null", { selector: { matchLabels: { team: null } } }, "error"],
  ["matchLabels that is a list", { selector: { matchLabels: ["team"] } }, "error"],
  ["matchExpressions that is an object", { selector: { matchExpressions: {} } }, "error"],
  ["expression that is a text", { selector: { matchExpressions: ["team"] } }, "error"],
  ["expression whose values are a text",
    { selector: { matchExpressions: [{ key: "team", operator: "In", values: "a" }] } }, "error"],
];

testRows("the verdict of shipped CAPA, and the documented verdict", (value: unknown) => (
  [`${verdict(value, "ack")} ${verdict(value, "extended")}`]
), [
  ...TRUTH_TABLE.map(([written, value, shipped, documented]) => [written, value, `${shipped} ${documented}`] as const),
  ...INVALID.map(([written, value, expected]) => [written, value, `${expected} ${expected}`] as const),
]);

const ABSENT = { name: "ns1", labels: null, isPartial: true };
const PARTIAL = { name: "ns1", labels: new Map([[NAME_LABEL, "ns1"]]), isPartial: true };
const byName = (name: string): object => ({ selector: { matchLabels: { [NAME_LABEL]: name } } });

testRows("a selector does not select a namespace that does not exist, but the list may contain its name",
  (value: unknown) => [`${verdict(value, "ack", ABSENT)} ${verdict(value, "extended", ABSENT)}`], [
    ["a label that does not exist", expression("DoesNotExist", "tier"), "no no"],
    ["the name label", byName("ns1"), "no no"],
    ["a list", { list: ["ns1"] }, "yes yes"],
    ["every namespace", {}, "yes yes"],
  ]);

testRows("a selector selects a namespace without a manifest only by its name label", (value: unknown) => (
  [verdict(value, "ack", PARTIAL)]
), [
  ["the name", byName("ns1"), "yes"],
  ["one of the names", expression("In", NAME_LABEL, ["ns1", "ns2"]), "yes"],
  ["another name", byName("ns2"), "no"],
  ["DoesNotExist", expression("DoesNotExist", "tier"), "no"],
  ["NotIn", expression("NotIn", "tier", ["gold"]), "no"],
]);

test("the reason for a selector without requirements names the versions of CAPA that allowed every namespace", (t) => {
  const { reason } = allowsNamespace(readAllowedNamespaces({ selector: { matchLabels: {} } }, "ack"), NS1);
  t.equal(reason, "allowedNamespaces.selector is empty (before v2.9.0, CAPA stored it as {}, for every namespace), so "
    + "no namespace may use the identity");
  t.end();
});

testRows("CAPA before v2.9.0 stores a selector without its empty fields",
  ([version, allowedNamespaces]: readonly [string, unknown]) => {
    const object = { ...roleIdentity("r"), spec: { roleARN: "x", allowedNamespaces } };
    return [JSON.stringify(valueAt(storedBy(version, object), ["spec", "allowedNamespaces"]))];
  }, [
    ["an empty field", ["v2.8.4", { selector: { matchLabels: {}, matchExpressions: [] } }], '{"selector":{}}'],
    ["an older major version", ["1.5", { list: [], selector: { matchLabels: {} } }], '{"list":[],"selector":{}}'],
    ["a later version", ["v2.9.0", { selector: { matchLabels: {} } }], '{"selector":{"matchLabels":{}}}'],
    ["a later major version", ["v3.0.0-rc.1", { selector: { matchLabels: {} } }], '{"selector":{"matchLabels":{}}}'],
    ["other fields", ["v2.8.4", { selector: { matchLabels: A, other: {}, matchExpressions: null } }],
      '{"selector":{"matchLabels":{"team":"a"},"other":{},"matchExpressions":null}}'],
    ["no selector", ["v2.8.4", {}], "{}"],
  ]);

test("an old version of CAPA changes no object that is not an identity with a selector", (t) => {
  const others = [clusterObject("c", null), { ...roleIdentity("r"), spec: null }, roleIdentity("r", null, null)];
  for (const object of others) {
    t.equal(storedBy("v2.8.4", object), object);
  }
  t.end();
});

const LIST = "allowedNamespaces.list does not contain the namespace";
testRows("the reason states why the identity allows or does not allow the namespace",
  ([value, namespace = NS1]: readonly [unknown, ReferringNamespace?]) => (
    [allowsNamespace(readAllowedNamespaces(value, "extended"), namespace).reason]
  ), [
    ["missing", [undefined], "allowedNamespaces is missing, so no namespace may use the identity"],
    ["null", [null], "allowedNamespaces is null, so no namespace may use the identity"],
    ["a text", ["test"], "allowedNamespaces is not an object, so no namespace may use the identity"],
    ["an unknown field", [{ namespaces: [] }],
      'allowedNamespaces has the unknown field "namespaces", so no namespace may use the identity'],
    ["no list of names", [{ list: "a" }],
      "allowedNamespaces.list is not a list of names, so no namespace may use the identity"],
    ["every namespace", [{}], "allowedNamespaces allows every namespace"],
    ["a list", [{ list: ["ns1"] }], "allowedNamespaces.list contains the namespace"],
    ["a selector", [{ selector: { matchLabels: A } }], "allowedNamespaces.selector selects the namespace"],
    ["an empty list", [{ list: [] }],
      "allowedNamespaces contains no namespace: its list and its selector are empty"],
    ["another list", [{ list: ["b"] }], LIST],
    ["another selector", [{ selector: { matchLabels: B } }],
      "allowedNamespaces.selector does not select the namespace"],
    ["both", [{ list: ["b"], selector: { matchLabels: B } }],
      `${LIST}, and allowedNamespaces.selector does not select it`],
    ["a namespace that does not exist", [{ list: ["b"], selector: { matchLabels: A } }, ABSENT],
      `${LIST}, and allowedNamespaces.selector does not select it, because the namespace does not exist`],
    ["unknown labels", [{ selector: { matchLabels: A } }, PARTIAL],
      "allowedNamespaces.selector does not select the namespace, because its labels are unknown"],
    ["an invalid selector", [expression("In", "team")],
      `${LIST}, and allowedNamespaces.selector.matchExpressions[0].values: operator In requires at least one value`],
  ]);
