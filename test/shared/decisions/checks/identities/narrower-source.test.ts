import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { drain } from "../../../../../shared/formats/paced.ts";
import { readAllowedNamespaces } from "../../../../../shared/model/allowed-namespaces.ts";
import { narrowerSource } from "../../../../../shared/checks/identity-source.ts";
import {
  controllerIdentity, identityInventory, identityObject, roleIdentity, staticIdentity,
} from "../../identities/objects.ts";
import { namespaceObject } from "../../objects.ts";
import { type CapaInput, capaLines } from "../capa-lines.ts";

const NAMESPACES = [
  namespaceObject("a1", { team: "a" }), namespaceObject("a2", { team: "a", env: "prod" }),
  namespaceObject("b1", { team: "b" }),
];
const TEAM_A = { selector: { matchLabels: { team: "a" } } };
const PROD = { selector: { matchLabels: { env: "prod" } } };
const NOT_B = { selector: { matchExpressions: [{ key: "team", operator: "NotIn", values: ["b"] }] } };
const named = (name: string): object => ({ selector: { matchLabels: { "kubernetes.io/metadata.name": name } } });

interface Case extends CapaInput {
  readonly known?: readonly JsonObject[];
}

/** Returns the findings of CI-27 for a role identity that allows `own`, with a source that allows `source`. */
function lines(own: unknown, source: unknown, { known = NAMESPACES, ...more }: Case = {}): string[] {
  return capaLines("CI-27", roleIdentity("r", "static/s", own), { objects: [staticIdentity("s", source), ...known],
    ...more });
}

const FIX = "Allow the same namespaces in the source.";
const partial = (list: string): string => (
  `warn CI-27 spec.allowedNamespaces: the source AWSClusterStaticIdentity "s" does not allow ${list}. ${FIX}`
);
const DISJOINT = "deny CI-27 spec.allowedNamespaces: no namespace may use the identity: its source "
  + `AWSClusterStaticIdentity "s" allows none of the namespaces that the identity allows. ${FIX}`;

test("CI-27 warns about listed namespaces that the list of the source does not contain", (t) => {
  t.same(lines({ list: ["a1", "x", "b1"] }, { list: ["a1"] }), [partial("2 namespaces: b1 and x")]);
  t.same(lines({ list: ["a1"] }, { list: ["x", "a1"] }), []);
  t.same(lines({ list: ["a1"] }, {}), []);
  const many = Array.from({ length: 30 }, (_, i) => `n${i}`);
  t.same(lines({ list: [...many, "a1"] }, { list: ["a1"] }), [
    partial("at least 20 namespaces: n0, n1, n10 and others"),
  ]);
  t.end();
});

test("CI-27 denies an identity if the source allows none of its listed namespaces", (t) => {
  t.same(lines({ list: ["a1", "x"] }, { list: ["b1"] }), [DISJOINT]);
  t.same(lines({ list: ["a1"] }, { list: [] }), [DISJOINT]);
  for (const own of [{ list: ["a1"] }, {}, TEAM_A]) t.same(lines(own, null), [DISJOINT], "the source allows none");
  t.same(lines({ list: ["b1"] }, TEAM_A), [DISJOINT], "the labels of b1 are known");
  t.same(lines(TEAM_A, { list: ["b1"] }), [partial("2 namespaces: a1 and a2")], "labels can change");
  t.same(lines({ list: ["a1"] }, { list: ["b1"] }, { old: roleIdentity("r", "static/s", { list: ["a1"] }) }),
    [DISJOINT.replace("deny", "warn")], "a fault that the stored identity has");
  t.end();
});

test("CI-27 compares the selectors on existing namespaces", (t) => {
  t.same(lines(TEAM_A, PROD), [partial("1 namespace: a1")]);
  t.same(lines(PROD, TEAM_A), []);
  t.same(lines(NOT_B, PROD), [partial("1 namespace: a1")]);
  t.same(lines({ list: ["b1"], ...TEAM_A }, TEAM_A), [partial("1 namespace: b1")]);
  t.same(lines(TEAM_A, TEAM_A), []);
  t.same(lines(named("a1"), { list: ["a1"] }), []);
  t.same(lines(named("b1"), { list: ["a1"] }), [partial("1 namespace: b1")]);
  t.end();
});

test("CI-27 compares {} with existing namespaces and with the namespaces that every cluster has", (t) => {
  t.same(lines({}, { list: ["a1", "a2"] }), [partial("3 namespaces: b1, default and kube-system")]);
  t.same(lines({}, { list: ["default", "kube-system"] }, { known: [] }), []);
  t.same(lines({}, TEAM_A), [partial("1 namespace: b1")], "the labels of the initial namespaces are unknown");
  t.same(lines({}, {}), []);
  t.end();
});

test("CI-27 omits a namespace if the result depends on unknown labels", (t) => {
  for (const origin of ["file", "cluster"] as const) {
    t.same(lines({ list: ["x", "y"] }, TEAM_A, { origin }), []);
    t.same(lines({ list: ["x", "y"] }, { list: ["x"], ...TEAM_A }, { origin }), []);
    t.same(lines({ list: ["x", "y"] }, { list: ["x"], ...NOT_B }, { origin }), []);
    t.same(lines({ list: ["x", "y"] }, named("x"), { origin }), [partial("1 namespace: y")], "the name is known");
    t.same(lines({ list: ["y"] }, named("x"), { origin }), [DISJOINT]);
  }
  t.end();
});

test("CI-27 does not run for a source that is missing, unknown or the identity itself, and for other kinds", (t) => {
  const objects = [staticIdentity("s", null)];
  t.same(capaLines("CI-27", roleIdentity("r", "static/none", { list: ["a1"] }), { objects }), []);
  t.same(capaLines("CI-27", roleIdentity("r", null, { list: ["a1"] }), { objects }), []);
  const stored = roleIdentity("r", "role/r", { list: ["b1"] });
  t.same(capaLines("CI-27", roleIdentity("r", "role/r", { list: ["a1"] }), { objects: [stored] }), []);
  const account = identityObject("AWSServiceAccountIdentity", "sa", {}, { namespace: "default" });
  t.same(capaLines("CI-27", roleIdentity("r", "account/sa", { list: ["a1"] }), { objects: [account] }), []);
  t.same(capaLines("CI-27", staticIdentity("s", { list: ["a1"] }), { objects: [controllerIdentity(null)] }), []);
  t.same(lines(null, { list: ["a1"] }), [], "CI-03 reports an identity that allows no namespace");
  t.same(lines({ list: [] }, { list: ["a1"] }), []);
  t.end();
});

test("CI-27 ignores names that no namespace can have, also in its message", (t) => {
  const long = "a".repeat(1_000_000);
  t.same(lines({ list: [long, "A", "", "a1", "x"] }, { list: ["a1"] }), [partial("1 namespace: x")]);
  t.same(lines({ list: [long, "A"] }, { list: ["a1"] }), [], "CI-05 denies the names");
  t.same(lines({ list: [long, "x"] }, { list: ["a1"] }), [DISJOINT]);
  t.end();
});

const MANY = Array.from({ length: 5_000 }, (_, i) => namespaceObject(`n${i}`, { team: "a", env: "prod" }));

/** Returns the result of the comparison, and the number of times that it reads the labels of a namespace. */
function compare(own: object, source: object): { readonly result: unknown; readonly reads: number } {
  const inventory = identityInventory(MANY);
  let reads = 0;
  const { namespaces } = inventory;
  const labelsOf = namespaces.labelsOf.bind(namespaces);
  Object.assign(namespaces, { labelsOf: (name: string) => (reads++, labelsOf(name)) });
  const [first, second] = [readAllowedNamespaces(own, "ack"), readAllowedNamespaces(source, "ack")];
  return { result: drain(narrowerSource(inventory, first, second, 20)), reads };
}

test("CI-27 compares fewer namespaces if the selectors have more requirements", (t) => {
  const nothing = { namespaces: [], isDisjoint: false };
  const listed = { list: ["x"], ...TEAM_A };
  t.same(compare(listed, { list: ["x"], ...TEAM_A }), { result: nothing, reads: 0 }, "equal rules");
  const expressions = Array.from({ length: 6_000 }, (_, i) => ({ key: `k${i}`, operator: "DoesNotExist" }));
  const slow = { selector: { matchExpressions: expressions } };
  t.same(compare({}, slow), { result: nothing, reads: 4 }, "20,000 requirements are compared");
  t.ok(compare(TEAM_A, PROD).reads <= 20_000);
  const many = { list: Array.from({ length: 10 }, (_, i) => `n${i}`) };
  const other = { selector: { ...slow.selector, matchLabels: { team: "z" } } };
  const four = { namespaces: ["n0", "n1", "n2", "n3"], isDisjoint: false };
  t.same(compare(many, other).result, four, "no claim about the other names");
  t.end();
});
