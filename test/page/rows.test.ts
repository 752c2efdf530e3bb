import { test } from "tap";
import { Model } from "../../page/view/model.ts";
import { addressOf, matrixOf, type Row, someOf } from "../../page/view/rows.ts";
import { BY_NAME, type View } from "../../page/view/view-state.ts";
import { FIRST, roleIn, SECOND, selectorFor, selectorObject } from "../shared/objects.ts";
import { mapped } from "../shared/diagnosis/role-map/mapped.ts";
import { MODEL, OBJECTS, viewWith } from "./fixture.ts";

/** Returns each row as `NAMES: COLUMN STATE COUNT KINDS`, or its title. */
function texts(patch: Partial<View>): string[] {
  return matrixOf(MODEL, viewWith(patch)).rows.map(rowText);
}

function rowText(row: Row): string {
  if (row.type === "group") return `${row.title} (${row.detail})`;
  const cells = row.cells.map(({ column, states, kinds }) => (
    `${column.title} ${states.map(([state, count]) => `${count} ${state}`).join(" ")} ${kinds}`
  ));
  return `${row.names.join("+")}: ${cells.join("; ")}`;
}

test("what needs attention is first, and equal namespaces without problems are one row", (t) => {
  t.same(texts({}), [
    "Needs attention (2 namespaces, 3 of 4 resources)",
    `c1: No role 1 conflict Bucket; ${FIRST} 1 resolved Queue`,
    "d1: Controller's own role 2 malformed Bucket",
    "Resolved (3 namespaces, 3 resources)",
    `a1+a2: ${FIRST} 2 resolved Bucket`,
    `b1: ${SECOND} 1 resolved Bucket`,
  ]);
  t.same(texts({ unfolded: ["a1"] }).slice(4, 6), [
    `a1: ${FIRST} 1 resolved Bucket`, `a2: ${FIRST} 1 resolved Bucket`,
  ]);
  t.same(texts({ isFolded: false }).length, 7);
  t.end();
});

test("rows are grouped by a label, or by nothing", (t) => {
  t.same(texts({ group: "label:team" }).filter((text) => text.startsWith("team")), [
    "team: a (2 namespaces, 2 resources)", "team: b (1 namespace, 1 resource)", "team: c (1 namespace, 2 resources)",
    "team: d (1 namespace, 2 resources)",
  ]);
  t.same(texts({ group: "label:absent" })[0], "no label absent (5 namespaces, 7 resources)");
  t.same(texts({ group: BY_NAME }).map((text) => text.split(":")[0]), ["a1+a2", "b1", "c1", "d1"]);
  t.end();
});

test("the columns are what is wrong, and then accounts, each with its roles in its place", (t) => {
  const ids = (patch: Partial<View>): string[] => matrixOf(MODEL, viewWith(patch)).columns.map(({ id }) => id);
  t.same(ids({}), ["none", "own", `account ${FIRST}`, `account ${SECOND}`]);
  t.same(ids({ accounts: [FIRST] }), ["none", "own", `role ${roleIn(FIRST, "first")}`, `account ${SECOND}`]);
  t.same(ids({ query: "b1" }), [`account ${SECOND}`], "only columns with a resource");
  t.end();
});

test("filters select resources by their state, their kind, and each word of a search", (t) => {
  const names = (patch: Partial<View>): string[] => (
    texts({ group: BY_NAME, ...patch }).map((text) => text.split(":")[0] ?? "")
  );
  t.same(names({ states: ["conflict", "default"] }), ["c1", "d1"]);
  t.same(names({ kind: "Queue.sqs.services.k8s.aws" }), ["c1"]);
  t.same(names({ query: "TEAM=a" }), ["a1+a2"], "a label of the namespace, in any case");
  t.same(names({ query: "second" }), ["b1"], "a selector");
  t.same(names({ query: "c1 queue" }), ["c1"]);
  t.same(names({ query: "buckets" }), ["c1"], "a selector or role in a conflict");
  t.same(names({ query: "nothing" }), []);
  t.match(matrixOf(MODEL, viewWith({ states: ["default"] })), { namespaces: 1, resources: 2 });
  t.end();
});

test("a search for the name of a resource, alone or after its namespace or kind, finds only that resource", (t) => {
  const found = (query: string): string[] => texts({ query, group: BY_NAME, isFolded: false });
  const d1 = ["d1: Controller's own role 1 malformed Bucket"];
  for (const query of ["b2", "D1/b2", "bucket/b2", "d1 b2", "team=d d1/b2"]) {
    t.same(found(query), d1, query);
  }
  t.same(found("b2 q"), [], "each word is in the same name");
  t.same(found("c1/b2"), []);
  t.same(found("d1/b"), ["d1: Controller's own role 2 malformed Bucket"]);
  t.end();
});

test("the address of a row is its only cell, or its namespace", (t) => {
  const addresses = matrixOf(MODEL, viewWith({ group: BY_NAME })).rows
    .flatMap((row) => (row.type === "namespace" ? [addressOf(row)] : []));
  t.same(addresses, [
    ["cell", "a1", `account ${FIRST}`], ["cell", "b1", `account ${SECOND}`], ["namespace", "c1"], ["cell", "d1", "own"],
  ]);
  t.end();
});

test("a namespace for which a malformed selector is written needs attention, even if another selects all", (t) => {
  const typo = selectorObject("typo", { arn: "x", namespaceSelector: { names: ["a2"] } });
  const { rows } = matrixOf(new Model(mapped([...OBJECTS, typo])), viewWith({}));
  t.same(rows.map(rowText).slice(0, 2), [
    "Needs attention (3 namespaces, 3 of 5 resources)", `a2: ${FIRST} 1 resolved Bucket`,
  ]);
  t.same(rows.flatMap((row) => (row.type === "namespace" ? row.problems.join(" ") : [])), [
    "malformed", "conflict", "malformed", "", "",
  ]);
  t.end();
});

test("a cell has the names of its roles, unless its column tells them or no role resolves", (t) => {
  const other = selectorFor("other", FIRST, ["e1"]);
  const bucket = { ...OBJECTS[9], metadata: { name: "b", namespace: "e1" } };
  const model = new Model(mapped([...OBJECTS, other, bucket]));
  const roles = (accounts: readonly string[]): string[] => (
    matrixOf(model, viewWith({ accounts, group: BY_NAME })).rows.flatMap((row) => (
      row.type === "namespace" ? row.cells.map(({ role }) => `${row.names.join("+")} ${role}`) : []
    ))
  );
  t.same(roles([]), ["a1+a2+e1 first, other", "b1 second", "c1 ", "c1 first", "d1 "]);
  t.same(roles([FIRST]), ["a1+a2 ", "b1 second", "c1 ", "c1 ", "d1 ", "e1 "]);
  t.equal(someOf(["b", "c", "a", "b"]), "a, b +1");
  t.end();
});

test("the number of each state is that of what the other filters leave", (t) => {
  const states = (patch: Partial<View>): unknown => matrixOf(MODEL, viewWith(patch)).states;
  const all = [["conflict", 1], ["default", 2], ["resolved", 4]];
  t.same(states({}), all);
  t.same(states({ states: ["default"] }), all, "another state can still be added");
  t.same(states({ query: "c1" }), [["conflict", 1], ["resolved", 1]]);
  t.same(states({ query: "c1", kind: "Queue.sqs.services.k8s.aws" }), [["resolved", 1]]);
  t.same(states({ query: "nothing" }), []);
  t.end();
});
