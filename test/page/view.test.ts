import * as fc from "fast-check";
import { test } from "tap";
import { cellReasons, reasonGroups, rolesOf, selectionText, usersOfRole, usersText } from "../../page/view/details.ts";
import { nextPosition } from "../../page/view/grid-keys.ts";
import { Model } from "../../page/view/model.ts";
import { changeRows, subjectOf } from "../../page/view/moves.ts";
import { foundRoles, type ProblemGroup, problemGroups } from "../../page/view/problems.ts";
import { pathsOf } from "../../page/view/paths.ts";
import { visibleRange } from "../../page/view/range.ts";
import { formatView, parseView, type View } from "../../page/view/view-state.ts";
import { counted, roleName, shortKind } from "../../page/view/words.ts";
import { STATES } from "../../shared/diagnosis/role-map/role-map.ts";
import {
  bucketObject, FIRST, namespaceObject, roleIn, SECOND, selectorFor, selectorObject,
} from "../shared/objects.ts";
import { parameters } from "../shared/property.ts";
import { mapped } from "../shared/diagnosis/role-map/mapped.ts";
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
  t.same(groups.map(groupText), [
    "conflict 1 resource in conflict: c1 | Bucket/b | cell c1 none",
    "malformed 1 malformed selector: broken | IRS-02 | selector broken",
    "default 2 resources with the controller's own role: d1 | 2 × Bucket | cell d1 own",
    "unjudged 3 objects not judged: in the cluster | 1 object in templates of other objects | unjudged 0, "
      + "p.yaml | 2 objects in Kustomize patches | unjudged 1",
    "null 1 other object with findings: Namespace e1 | CM-09, NS-03 | object 0",
  ]);
  t.same(problemGroups(new Model(mapped([]))), []);
  t.end();
});

function groupText({ state, count, title, places }: ProblemGroup): string {
  const texts = places.map(({ subject, detail, open }) => [subject, detail, open.join(" ")].join(" | "));
  return `${state} ${count} ${title}: ${texts.join(", ")}`;
}

test("a search filters the problems, and finds malformed selectors and selectors without a resource", (t) => {
  const unused = selectorFor("unused", FIRST, ["e1"]);
  const unjudged = [{ file: "p.yaml", reason: "patch", count: 2 }] as const;
  const model = new Model(mapped([...OBJECTS, unused], { unjudged }));
  const texts = (query: string): string[] => problemGroups(model, query).map(groupText);
  const waiting = "Used by no resource now. 1 resource would use it, but is in conflict.";
  const malformed = "malformed 1 malformed selector: broken | IRS-02 | selector broken";
  t.same(texts("broken"), [malformed]);
  const own = "default 2 resources with the controller's own role: d1 | 2 × Bucket | cell d1 own";
  t.same(texts("d1"), [malformed, own]);
  t.same(texts("d1/b2"), ["default 1 resource with the controller's own role: d1 | Bucket/b2 | cell d1 own"]);
  t.same(texts("role/buckets"), [
    `resolved 1 role found: buckets | ${SECOND} · ${waiting} · Namespaces: c1 | role ${roleIn(SECOND, "buckets")}`,
    "conflict 1 resource in conflict: c1 | Bucket/b | cell c1 none",
    "resolved 1 selector found: buckets | 444455556666 | selector buckets",
  ]);
  t.same(texts("unused"), [
    `resolved 1 role found: unused | ${FIRST} · Used by no resource now. | role ${roleIn(FIRST, "unused")}`,
    "resolved 1 selector found: unused | 111122223333 | selector unused",
  ]);
  t.same(texts("p.yaml"), [
    "unjudged 2 objects not judged: p.yaml | 2 objects in Kustomize patches | unjudged 0",
  ]);
  t.same(texts("nothing"), []);
  t.end();
});

test("resources of several kinds, and those whose annotation names no usable selector, are told apart", (t) => {
  const chosen = { "ack-role-resolver.io/use-selector": "absent" };
  const queue = { ...bucketObject(), apiVersion: "sqs.services.k8s.aws/v1alpha1", kind: "Queue" };
  const selectors = mapped([bucketObject(), queue, bucketObject({ name: "c", annotations: chosen })], {
    runtime: "extended",
  });
  t.same(problemGroups(new Model(selectors)).map(groupText), [
    "refused 1 resource naming an unusable selector: team-a | Bucket/c | cell team-a none",
    "default 2 resources with the controller's own role: team-a | 2 resources, 2 kinds | cell team-a own",
  ]);
  const accounts = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": FIRST });
  const carm = mapped([accounts, bucketObject()], { settings: { mode: "carm" } });
  t.match(problemGroups(new Model(carm))[0]?.title, "resource without a usable role");
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
  const arn = roleIn(FIRST, "first");
  const spec = { arn, namespaceSelector: { names: ["e1"] } };
  const model = new Model(mapped([...OBJECTS, { ...unused, spec }]));
  const users = (one: Model, name: string): unknown => usersOfRole(one, name).map(({ selector, uses }) => [
    one.map.selectors[selector ?? -1]?.name, uses.map(({ namespace }) => namespace.name).toSorted(),
  ]);
  t.same(users(MODEL, arn), [["first", ["a1", "a2", "c1", "c1"]]], "also a resource in conflict");
  t.same(users(model, arn), [["first", ["a1", "a2", "c1", "c1"]], ["unused", []]]);
  t.same(users(MODEL, "absent"), []);
  t.end();
});

test("a role and its selector tell the same about resources in conflict", (t) => {
  const texts = (name: string, account: string): string[] => {
    const [users] = usersOfRole(MODEL, roleIn(account, name));
    return [usersText(users?.uses ?? []), selectionText(users?.uses ?? [])];
  };
  t.same(texts("second", SECOND), ["Used by 1 resource.", "Selects 1 resource in 1 namespace"]);
  t.same(texts("buckets", SECOND), [
    "Used by no resource now. 1 resource would use it, but is in conflict.",
    "Selects 1 resource in 1 namespace, all in conflict",
  ]);
  t.same(texts("first", FIRST), [
    "Used by 3 resources. 1 more resource would use it, but is in conflict.",
    "Selects 4 resources in 3 namespaces, 1 of them in conflict",
  ]);
  t.same([usersText([]), selectionText([])], ["Used by no resource now.", "Selects no resource"]);
  const { roles, used } = rolesOf(MODEL);
  t.same([roles.size, used], [3, 2], "not the role of a malformed selector");
  t.end();
});

test("a search finds a role by its name or ARN, with or without a path, and first who uses it", (t) => {
  const arn = `arn:aws:iam::${FIRST}:role/ack/Media`;
  const media = selectorObject("media", { arn, namespaceSelector: { names: ["a1"] } });
  const model = new Model(mapped([...OBJECTS, media], { settings: { controllerRole: roleIn(FIRST, "own") } }));
  const found = (query: string): string[] => foundRoles(model, query).map((role) => role.arn);
  for (const query of ["media", "ack/media", "role/ack/MEDIA", arn]) t.same(found(query), [arn]);
  for (const query of ["", "medi", "edia", "own", "a1"]) t.same(found(query), [], query);
  const users = "Used by 1 resource. · Namespaces: b1";
  t.equal(problemGroups(MODEL, "second").map(groupText)[0], (
    `resolved 1 role found: second | ${SECOND} · ${users} | role ${roleIn(SECOND, "second")}`
  ));
  t.end();
});

test("the paths of a namespace lead by each selector to its role, what is wrong first", (t) => {
  const cluster = {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster",
    metadata: { name: "c", namespace: "d1" }, spec: { identityRef: { kind: "AWSClusterRoleIdentity", name: "absent" } },
  };
  const model = new Model(mapped([...OBJECTS, cluster], { settings: { controllerRole: roleIn(FIRST, "own") } }));
  const texts = (name: string): string[] => {
    const groups = reasonGroups(model.uses.filter(({ namespace }) => namespace.name === name));
    return pathsOf(model, groups).map(({ selector, instead, role, isOwn, state }) => (
      `${selector?.name ?? instead} ${state} ${role?.arn ?? "no role"}${isOwn ? " (own)" : ""}`
    ));
  };
  t.same(texts("a1"), [`first resolved ${roleIn(FIRST, "first")}`]);
  t.same(texts("c1"), [
    `buckets conflict ${roleIn(SECOND, "buckets")}`, `first conflict ${roleIn(FIRST, "first")}`,
    `first resolved ${roleIn(FIRST, "first")}`,
  ]);
  t.match(texts("d1"), [
    /^AWSClusterRoleIdentity "absent".* refused no role$/, /^broken malformed x$/,
    /^no selector default arn:aws:iam::111122223333:role.own \(own\)$/,
  ]);
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
  t.same(rows("a2/b"), ["Other account: 1 resource", `a2 Bucket/b ${SECOND} ${FIRST}`]);
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
