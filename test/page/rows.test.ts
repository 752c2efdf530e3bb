import { test } from "tap";
import { addressOf, matrixOf, type Row } from "../../page/view/rows.ts";
import { BY_NAME, type View } from "../../page/view/view-state.ts";
import { FIRST, roleIn, SECOND } from "../shared/objects.ts";
import { MODEL, viewWith } from "./fixture.ts";

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
    "d1: Controller's own role 2 default Bucket",
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
  const d1 = ["d1: Controller's own role 1 default Bucket"];
  for (const query of ["b2", "D1/b2", "bucket/b2", "d1 b2", "team=d d1/b2"]) {
    t.same(found(query), d1, query);
  }
  t.same(found("b2 q"), [], "each word is in the same name");
  t.same(found("c1/b2"), []);
  t.same(found("d1/b"), ["d1: Controller's own role 2 default Bucket"]);
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
