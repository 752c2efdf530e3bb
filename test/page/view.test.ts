import * as fc from "fast-check";
import { test } from "tap";
import { cellReasons, usersOfRole } from "../../page/view/details.ts";
import { nextPosition } from "../../page/view/grid-keys.ts";
import { Model } from "../../page/view/model.ts";
import { changeRows, subjectOf } from "../../page/view/moves.ts";
import { problemGroups } from "../../page/view/problems.ts";
import { visibleRange } from "../../page/view/range.ts";
import { formatView, parseView, type View } from "../../page/view/view-state.ts";
import { counted, roleName, shortKind } from "../../page/view/words.ts";
import { STATES } from "../../shared/role-map/role-map.ts";
import { FIRST, namespaceObject, roleIn, SECOND, selectorFor } from "../shared/objects.ts";
import { parameters } from "../shared/property.ts";
import { mapped } from "../shared/role-map/mapped.ts";
import { MODEL, OBJECTS, viewWith } from "./fixture.ts";

test("a URL shows the same view again, and what it does not know is ignored", (t) => {
  const texts = fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { maxLength: 3 });
  const view: fc.Arbitrary<View> = fc.record({
    tab: fc.constantFrom("map", "change"), root: fc.nat({ max: 2 }), query: fc.string(),
    states: fc.subarray([...STATES]), kind: fc.string(), group: fc.constantFrom("", "*", "label:team"),
    accounts: texts, isFolded: fc.boolean(), unfolded: texts, open: texts,
  });
  fc.assert(fc.property(view, (one) => {
    t.same(parseView(formatView(one), 3), one);
  }), parameters(t, 100));
  t.same(parseView("", 1), viewWith({}));
  t.same(parseView("tab=x&root=7&state=worse&evil=%3Cscript%3E&q=a", 3), viewWith({ query: "a" }));
  t.equal(parseView("root=1.5", 3).root, 0);
  t.end();
});

test("each problem has a place, and the address of what explains it", (t) => {
  const unjudged = [
    { file: "p.yaml", reason: "patch", count: 2 }, { file: null, reason: "template", count: 1 },
  ] as const;
  const annotated = namespaceObject("e1", {}, { "services.k8s.aws/owner-account-id": "1" });
  const groups = problemGroups(new Model(mapped([...OBJECTS, annotated], { unjudged })));
  t.same(groups.map(({ state, count, places }) => [state, count, ...places.map(({ subject, detail, open }) => (
    [subject, detail, open.join(" ")].join(" | ")
  ))]), [
    ["conflict", 1, "c1 | Bucket/b | cell c1 none"],
    ["malformed", 1, "broken | IRS-02 | selector broken"],
    ["default", 2, "d1 | 2 × Bucket | cell d1 own"],
    ["unjudged", 3, "in the cluster | 1 in templates of other objects | ", "p.yaml | 2 in Kustomize patches | "],
    [null, 1, "Namespace e1 | CM-09, NS-03 | object 0"],
  ]);
  t.same(problemGroups(new Model(mapped([]))), []);
  t.end();
});

test("a cell has the reasons of its resources, by the column of the account or of the role", (t) => {
  const messages = (column: string): string[] => (
    cellReasons(MODEL, ["c1", "a1"], column).map(({ reason, uses }) => `${reason.message} ${uses.length}`)
  );
  const selected = ["IAMRoleSelector first selects the resource. 2"];
  t.same(messages(`account ${FIRST}`), selected);
  t.same(messages(`role ${roleIn(FIRST, "first")}`), selected);
  t.match(messages("none"), [/^Cannot determine which IAMRoleSelector to use/]);
  t.same(messages("account 9"), []);
  t.end();
});

test("a role has its users by selector, also a selector that selects nothing", (t) => {
  const unused = selectorFor("unused", FIRST, ["e1"]);
  const model = new Model(mapped([...OBJECTS, { ...unused, spec: { arn: roleIn(FIRST, "first") } }]));
  const users = (one: Model, arn: string): unknown => usersOfRole(one, arn).map(({ selector, uses }) => [
    selector === null ? null : one.map.selectors[selector]?.name, uses.map(({ namespace }) => namespace.name),
  ]);
  t.same(users(MODEL, roleIn(FIRST, "first")), [["first", ["a1", "a2", "c1"]]]);
  t.match(users(model, roleIn(FIRST, "first")), [["first", []], ["unused", []]], "all resources are in conflict");
  t.same(users(MODEL, "absent"), []);
  t.end();
});

test("a change has its rows under the type of the change", (t) => {
  const before = OBJECTS.map((object) => (
    object === OBJECTS[5] ? selectorFor("first", SECOND, ["a1", "a2", "c1"]) : object
  ));
  const model = new Model(mapped(OBJECTS, { before }));
  const rows = (query: string): string[] => changeRows(model, viewWith({ query })).map((row) => (
    row.type === "group"
      ? `${row.title}: ${row.detail}`
      : `${row.namespace} ${subjectOf(row)} ${row.before?.role?.account} ${row.after?.role?.account}`
  ));
  t.same(rows(""), [
    "Other account: 3 resources", `a1 Bucket/b ${SECOND} ${FIRST}`, `a2 Bucket/b ${SECOND} ${FIRST}`,
    `c1 Queue/q ${SECOND} ${FIRST}`,
  ]);
  t.same(rows("c1"), ["Other account: 1 resource", `c1 Queue/q ${SECOND} ${FIRST}`]);
  t.same(changeRows(model, viewWith({ kind: "Bucket.s3.services.k8s.aws" })).length, 3);
  t.same(changeRows(MODEL, viewWith({})), []);
  t.equal(subjectOf({ count: 3, kind: "Bucket.s3", names: ["a"] }), "3 × Bucket");
  t.end();
});

test("keys move between the cells that exist", (t) => {
  const cells = [[0, 2], [], [1]];
  const grid = { rowCount: cells.length, cellsOf: (row: number) => cells[row] ?? [] };
  const keys = (row: number, column: number, ...names: readonly string[]): unknown => names.map((key) => {
    const next = nextPosition(grid, { row, column }, key);
    return next === null ? null : [next.row, next.column];
  });
  t.same(keys(0, 0, "ArrowRight", "ArrowLeft", "Home", "End"), [[0, 2], [0, -1], [0, -1], [0, 2]]);
  t.same(keys(0, 2, "ArrowRight", "ArrowDown", "ArrowUp", "PageDown"), [[0, 2], [1, -1], [0, 2], [2, 1]]);
  t.same(keys(0, -1, "ArrowLeft", "Tab", "x"), [[0, -1], null, null]);
  t.end();
});

test("the visible range has all visible items and few others", (t) => {
  const scroll = fc.record({
    position: fc.nat({ max: 30_000 }), viewport: fc.nat({ max: 2_000 }), size: fc.integer({ min: 20, max: 60 }),
    count: fc.nat({ max: 600 }),
  });
  fc.assert(fc.property(scroll, fc.nat({ max: 9 }), ({ position, viewport, size, count }, margin) => {
    const [first, last] = visibleRange({ position, viewport, size, count }, margin);
    const visible = Array.from({ length: count }, (_, i) => i)
      .filter((i) => (i + 1) * size > position && i * size < position + viewport);
    return visible.every((i) => i >= first && i < last) && last - first <= viewport / size + 2 + 2 * margin
      && first >= 0 && last <= count;
  }), parameters(t, 200));
  t.end();
});

test("words are short", (t) => {
  t.same([counted(1, "role"), counted(1200, "role")], ["1 role", "1,200 roles"]);
  t.same([roleName("arn:aws:iam::1:role/ack/a"), roleName("x")], ["a", "x"]);
  t.equal(shortKind("Bucket.s3.services.k8s.aws"), "Bucket");
  t.end();
});
