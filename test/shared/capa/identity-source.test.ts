import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { readAllowedNamespaces } from "../../../shared/capa/allowed-namespaces.ts";
import { narrowerSource } from "../../../shared/capa/identity-source.ts";
import { controllerIdentity, identityObject, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { inventoryWith, namespaceObject } from "../objects.ts";
import { testRows } from "../rows.ts";
import { type CapaInput, capaLines } from "../core/capa-lines.ts";

const NAMESPACES = [
  namespaceObject("a1", { team: "a" }), namespaceObject("a2", { team: "a", env: "prod" }),
  namespaceObject("b1", { team: "b" }),
];
const TEAM_A = { selector: { matchLabels: { team: "a" } } };
const PROD = { selector: { matchLabels: { env: "prod" } } };
const NOT_B = { selector: { matchExpressions: [{ key: "team", operator: "NotIn", values: ["b"] }] } };
const named = (name: string): object => ({ selector: { matchLabels: { "kubernetes.io/metadata.name": name } } });
const list = (...names: readonly string[]): { readonly list: readonly string[] } => ({ list: names });

interface More extends CapaInput {
  readonly known?: readonly JsonObject[];
}
type Input = readonly [own: unknown, source: unknown, more?: More];
/** Returns the findings of CI-27 for a role identity that allows `own`, with a source that allows `source`. */
function linesWithFix([own, source, { known = NAMESPACES, ...more } = {}]: Input): string[] {
  const objects = [staticIdentity("s", source), ...known];
  return capaLines("CI-27", roleIdentity("r", "static/s", own), { objects, ...more });
}

/** Returns the same without the fix. */
function lines(input: Input): string[] {
  return linesWithFix(input).map((line) => line.replace(/\. .*/, "."));
}

const partial = (names: string): string => (
  `warn CI-27 spec.allowedNamespaces: the source AWSClusterStaticIdentity "s" does not allow ${names}.`
);
const DISJOINT = "deny CI-27 spec.allowedNamespaces: no namespace may use the identity: its source "
  + `AWSClusterStaticIdentity "s" allows none of the namespaces that the identity allows.`;
const A1 = list("a1");
const MANY = Array.from({ length: 30 }, (_, i) => `n${i}`);
const LONG = "a".repeat(1_000_000);
const OLD = { old: roleIdentity("r", "static/s", A1) };

testRows("CI-27 warns about namespaces that the source does not allow, and denies if it allows none", lines, [
  ["two of three listed names", [list("a1", "x", "b1"), A1], partial("2 namespaces: b1 and x")],
  ["a longer list of the source", [A1, list("x", "a1")]],
  ["a source for every namespace", [A1, {}]],
  ["at least 20 names", [list(...MANY, "a1"), A1], partial("at least 20 namespaces: n0, n1, n10 and others")],
  ["another list", [list("a1", "x"), list("b1")], DISJOINT],
  ["an empty list of the source", [A1, list()], DISJOINT],
  ["the source allows none of a list", [A1, null], DISJOINT],
  ["the source allows none of every namespace", [{}, null], DISJOINT],
  ["the source allows none of a selector", [TEAM_A, null], DISJOINT],
  ["the labels of b1 are known", [list("b1"), TEAM_A], DISJOINT],
  ["labels can change", [TEAM_A, list("b1")], partial("2 namespaces: a1 and a2")],
  ["a fault that the stored identity has", [A1, list("b1"), OLD], DISJOINT.replace("deny", "warn")],
  ["a wider selector", [TEAM_A, PROD], partial("1 namespace: a1")],
  ["a narrower selector", [PROD, TEAM_A]],
  ["an expression", [NOT_B, PROD], partial("1 namespace: a1")],
  ["a list and a selector", [{ ...list("b1"), ...TEAM_A }, TEAM_A], partial("1 namespace: b1")],
  ["the same selector", [TEAM_A, TEAM_A]],
  ["the name label", [named("a1"), A1]],
  ["another name label", [named("b1"), A1], partial("1 namespace: b1")],
  ["every namespace, also the initial ones", [{}, list("a1", "a2")],
    partial("3 namespaces: b1, default and kube-system")],
  ["the initial namespaces", [{}, list("default", "kube-system"), { known: [] }]],
  ["the labels of the initial namespaces are unknown", [{}, TEAM_A], partial("1 namespace: b1")],
  ["every namespace in both", [{}, {}]],
  ["CI-03 reports an identity that allows no namespace", [null, A1]],
  ["an empty list", [list(), A1]],
  ["names that no namespace can have", [list(LONG, "A", "", "a1", "x"), A1], partial("1 namespace: x")],
  ["CI-05 denies the names", [list(LONG, "A"), A1]],
  ["no possible name is allowed", [list(LONG, "x"), A1], DISJOINT],
]);

const SOURCE = "AWSClusterStaticIdentity s";
testRows("CI-27 says how to allow the same namespaces, first fewer, then more", linesWithFix, [
  ["a list", [list("a1", "x"), A1],
    /To allow fewer namespaces, set spec.* to \["a1"\]; or to allow them in the source, set .* s to \["a1","x"\]\.$/],
  ["another list", [A1, list("b1")], new RegExp(`allows\\. To allow them in the source, set .* of ${SOURCE} to `)],
  ["no namespace", [A1, null], new RegExp(`set spec\\.allowedNamespaces of ${SOURCE} to {"list":\\["a1"\\]}\\.$`)],
  ["a selector", [{ ...list("x"), ...TEAM_A }, list("x", "a1")], /\. To allow them in the source, set/],
  ["more than the list contains", [list(...MANY, "a1"), A1], /\. Give the source the same allowedNamespaces/],
]);

test("CI-27 does not change the identity default, whose spec is immutable", (t) => {
  const objects = [controllerIdentity(list("b1"))];
  t.match(capaLines("CI-27", roleIdentity("r", "controller", A1), { objects }), [/\. Give the source the same/]);
  t.end();
});

for (const origin of ["file", "cluster"] as const) {
  testRows(`CI-27 omits a namespace if the result depends on unknown labels: ${origin}`, lines, [
    ["a selector", [list("x", "y"), TEAM_A, { origin }]],
    ["a list and a selector", [list("x", "y"), { ...list("x"), ...TEAM_A }, { origin }]],
    ["a list and an expression", [list("x", "y"), { ...list("x"), ...NOT_B }, { origin }]],
    ["the name is known", [list("x", "y"), named("x"), { origin }], partial("1 namespace: y")],
    ["only another name", [list("y"), named("x"), { origin }], DISJOINT],
  ]);
}

const account = identityObject("AWSServiceAccountIdentity", "sa", {}, { namespace: "default" });
testRows("CI-27 does not run for a source that is missing, unknown or the identity itself, and for other kinds",
  ([object, ...objects]: readonly [JsonObject, ...JsonObject[]]) => capaLines("CI-27", object, { objects }), [
    ["missing", [roleIdentity("r", "static/none", A1), staticIdentity("s", null)]],
    ["no source", [roleIdentity("r", null, A1), staticIdentity("s", null)]],
    ["itself", [roleIdentity("r", "role/r", A1), roleIdentity("r", "role/r", list("b1"))]],
    ["a service account", [roleIdentity("r", "account/sa", A1), account]],
    ["a static identity", [staticIdentity("s", A1), controllerIdentity(null)]],
  ]);

const STORED = Array.from({ length: 5_000 }, (_, i) => namespaceObject(`n${i}`, { team: "a", env: "prod" }));

/** Returns the result of the comparison, and the number of times that it reads the labels of a namespace. */
function compare(own: object, source: object): { readonly result: unknown; readonly reads: number } {
  const inventory = inventoryWith(STORED);
  let reads = 0;
  const { namespaces } = inventory;
  const labelsOf = namespaces.labelsOf.bind(namespaces);
  Object.assign(namespaces, { labelsOf: (name: string) => (reads++, labelsOf(name)) });
  const [first, second] = [readAllowedNamespaces(own, "ack"), readAllowedNamespaces(source, "ack")];
  return { result: drain(narrowerSource(inventory, first, second, 20)), reads };
}

test("CI-27 compares fewer namespaces if the selectors have more requirements", (t) => {
  const nothing = { namespaces: [], isDisjoint: false };
  const listed = { ...list("x"), ...TEAM_A };
  t.same(compare(listed, { ...list("x"), ...TEAM_A }), { result: nothing, reads: 0 }, "equal rules");
  const matchExpressions = Array.from({ length: 6_000 }, (_, i) => ({ key: `k${i}`, operator: "DoesNotExist" }));
  const slow = { selector: { matchExpressions } };
  t.same(compare({}, slow), { result: nothing, reads: 4 }, "20,000 requirements are compared");
  t.ok(compare(TEAM_A, PROD).reads <= 20_000);
  const other = { selector: { matchExpressions, matchLabels: { team: "z" } } };
  const four = { namespaces: ["n0", "n1", "n2", "n3"], isDisjoint: false };
  t.same(compare(list(...MANY.slice(0, 10)), other).result, four, "no claim about the other names");
  t.end();
});
