import { test } from "tap";
import {
  allowsNamespace, readAllowedNamespaces, type ReferringNamespace,
} from "../../../../shared/model/allowed-namespaces.ts";
import { NAME_LABEL } from "../../../../shared/formats/names.ts";

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

for (const [written, value, shipped, documented] of TRUTH_TABLE) {
  test(`allowedNamespaces ${written}: ${shipped} in shipped CAPA, ${documented} as documented`, (t) => {
    t.equal(verdict(value, "ack"), shipped);
    t.equal(verdict(value, "extended"), documented);
    t.end();
  });
}

for (const [written, value, expected] of INVALID) {
  test(`allowedNamespaces that the API server rejects (${written}): allows no namespace`, (t) => {
    for (const runtime of ["ack", "extended"] as const) t.equal(verdict(value, runtime), expected);
    t.end();
  });
}

test("a typed client that writes a selector without its empty fields changes the verdict of shipped CAPA", (t) => {
  for (const selector of [{ matchLabels: {} }, { matchExpressions: [] }]) t.equal(verdict({ selector }, "ack"), "no");
  t.equal(verdict({ list: null, selector: {} }, "ack"), "yes", "what a typed client writes for both");
  t.end();
});

test("a selector does not select a namespace that does not exist, but the list may contain its name", (t) => {
  const absent = { name: "ns1", labels: null, isPartial: true };
  for (const runtime of ["ack", "extended"] as const) {
    t.equal(verdict(expression("DoesNotExist", "tier"), runtime, absent), "no");
    t.equal(verdict({ selector: { matchLabels: { [NAME_LABEL]: "ns1" } } }, runtime, absent), "no");
    t.equal(verdict({ list: ["ns1"] }, runtime, absent), "yes");
    t.equal(verdict({}, runtime, absent), "yes");
  }
  t.end();
});

test("a selector selects a namespace without a manifest only by its name label", (t) => {
  const partial = { name: "ns1", labels: new Map([[NAME_LABEL, "ns1"]]), isPartial: true };
  t.equal(verdict({ selector: { matchLabels: { [NAME_LABEL]: "ns1" } } }, "ack", partial), "yes");
  t.equal(verdict(expression("In", NAME_LABEL, ["ns1", "ns2"]), "ack", partial), "yes");
  t.equal(verdict({ selector: { matchLabels: { [NAME_LABEL]: "ns2" } } }, "ack", partial), "no");
  t.equal(verdict(expression("DoesNotExist", "tier"), "ack", partial), "no");
  t.equal(verdict(expression("NotIn", "tier", ["gold"]), "ack", partial), "no");
  t.end();
});

test("the reason states why the identity allows or does not allow the namespace", (t) => {
  const reason = (value: unknown, namespace = NS1): string => (
    allowsNamespace(readAllowedNamespaces(value, "extended"), namespace).reason
  );
  const absent = { name: "ns1", labels: null, isPartial: true };
  const partial = { name: "ns1", labels: new Map([[NAME_LABEL, "ns1"]]), isPartial: true };
  t.equal(reason(undefined), "allowedNamespaces is missing, so no namespace may use the identity");
  t.equal(reason(null), "allowedNamespaces is null, so no namespace may use the identity");
  t.equal(reason("test"), "allowedNamespaces is not an object, so no namespace may use the identity");
  t.equal(
    reason({ namespaces: [] }),
    'allowedNamespaces has the unknown field "namespaces", so no namespace may use the identity',
  );
  t.equal(reason({ list: "a" }), "allowedNamespaces.list is not a list of names, so no namespace may use the identity");
  t.equal(reason({}), "allowedNamespaces allows every namespace");
  t.equal(reason({ list: ["ns1"] }), "allowedNamespaces.list contains the namespace");
  t.equal(reason({ selector: { matchLabels: A } }), "allowedNamespaces.selector selects the namespace");
  t.equal(reason({ list: [] }), "allowedNamespaces contains no namespace: its list and its selector are empty");
  t.equal(reason({ list: ["b"] }), "allowedNamespaces.list does not contain the namespace");
  t.equal(reason({ selector: { matchLabels: B } }), "allowedNamespaces.selector does not select the namespace");
  t.equal(
    reason({ list: ["b"], selector: { matchLabels: B } }),
    "allowedNamespaces.list does not contain the namespace, and allowedNamespaces.selector does not select it",
  );
  t.equal(
    reason({ list: ["b"], selector: { matchLabels: A } }, absent),
    "allowedNamespaces.list does not contain the namespace, and allowedNamespaces.selector does not select it, because "
      + "the namespace does not exist",
  );
  t.equal(
    reason({ selector: { matchLabels: A } }, partial),
    "allowedNamespaces.selector does not select the namespace, because its labels are unknown",
  );
  t.equal(
    reason({ selector: { matchExpressions: [{ key: "team", operator: "In" }] } }),
    "allowedNamespaces.list does not contain the namespace, and "
      + "allowedNamespaces.selector.matchExpressions[0].values: operator In requires at least one value",
  );
  t.end();
});
