import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { namespaceObject, selectorObject } from "../../objects.ts";
import { FIRST, made, many, replacing, roleIn, SECOND, selecting, told, wanted } from "../company.ts";
import { needsOf } from "../selector-changes.ts";

const GOLD = selecting("gold", FIRST, ["team-a"]);
const SILVER = selecting("silver", FIRST, ["team-a", "team-b"]);

const STOPS = "would be selected by another IAMRoleSelector too, and controllers stop at such a conflict without a condition";
const FIX = "Restrict new or gold so that each resource is selected by one alone. To replace gold (a new name, another role), "
  + "put the annotation ack-role-resolver.io/replaces: gold on new, apply it, then delete gold.";

test("IRS-17: a new selector that selects what another one has is refused, and says how to replace that one", (t) => {
  const known = [GOLD, made("b1", FIRST), wanted("b2"), wanted("b3", { namespace: "team-b" })];
  t.same(told("IRS-17", selecting("new", FIRST, ["team-a"]), { known }), [
    `deny IRS-17 spec: 2 resources ${STOPS}: Bucket team-a/b1 in account ${FIRST} (also by gold) and Bucket team-a/b2 in account ${FIRST} (also by gold). ${FIX}`,
  ]);
  t.same(told("IRS-17", selecting("new", FIRST, ["team-b"]), { known }), [], "the one beside it is not");
  t.same(told("IRS-17", GOLD, { known }), [], "and a selector is never in conflict with itself");
  t.same(told("IRS-17", selecting("new", FIRST, ["team-a"]), { known: [GOLD] }), [], "nor is anything while there is no resource");
  t.equal(needsOf("IRS-17", {}, { origin: "file" }), "resources");
  t.end();
});

test("IRS-17: looking stops at 20 resources", (t) => {
  const found = (count: number): string => told("IRS-17", selecting("new", FIRST, ["team-a"]), { known: [GOLD, ...many(count, wanted)] })[0] ?? "";
  const list = ["b00", "b01", "b02"].map((name) => `Bucket team-a/${name} in account ${FIRST} (also by gold)`).join(", ");
  t.equal(found(19), `deny IRS-17 spec: 19 resources ${STOPS}: ${list} and 16 more. ${FIX}`);
  t.equal(found(20), `deny IRS-17 spec: at least 20 resources ${STOPS}: ${list} and others. ${FIX}`);
  t.equal(found(300), found(20));
  t.end();
});

test("IRS-17: an update is refused for the conflicts that it makes, and warned about those that stay", (t) => {
  const old = selecting("new", FIRST, ["team-a"]);
  const known = [GOLD, SILVER, old, wanted("b1"), wanted("b2", { namespace: "team-b" })];
  const both = selecting("new", FIRST, ["team-a", "team-b"]);
  t.same(told("IRS-17", both, { known, old }), [
    `deny IRS-17 spec: 1 resource ${STOPS}: Bucket team-b/b2 in account ${FIRST} (also by silver). ${FIX.replaceAll("gold", "silver")}`,
    "warn IRS-17 spec: 1 resource would stay in conflict: Bucket team-a/b1 (also by gold and silver). Restrict one of the selectors so that each resource is selected by one alone. "
    + "To rename a selector or to rotate its role, create the new one with the annotation ack-role-resolver.io/replaces: OLD-NAME, which makes this overlap a warning, then delete the old one.",
  ]);
  t.same(told("IRS-17", selecting("new", FIRST, ["team-c"]), { known, old }), [], "leaving a conflict is none");
  t.end();
});

test("IRS-17: an overlap with exactly those that the selector replaces warns", (t) => {
  const known = [GOLD, made("b1", FIRST)];
  const path = "metadata.annotations[ack-role-resolver.io/replaces]";
  const waits = `warn IRS-17 ${path}: 1 resource would be in conflict, and wait, until gold is deleted: Bucket team-a/b1 in account ${FIRST} (also by gold).`;
  const then = "Delete gold then: it is let go once all that it selects resolves to the other in the same account.";
  t.same(told("IRS-17", selecting("new", FIRST, ["team-a"], replacing("gold")), { known }), [`${waits} ${then}`]);
  t.same(told("IRS-17", selecting("new", FIRST, ["team-a"], replacing(" none , gold,")), { known }), [`${waits} ${then}`], "beside others, with spaces");
  t.same(told("IRS-17", selecting("new", SECOND, ["team-a"], replacing("gold")), { known }), [
    `${waits} Give new a role of the same account as gold: what exists cannot follow into account ${SECOND}.`,
  ]);
  const denied = (object: JsonObject, others: readonly JsonObject[]): boolean => told("IRS-17", object, { known: [...others, made("b1", FIRST)] }).some((line) => line.startsWith("deny"));
  t.equal(denied(selecting("new", FIRST, ["team-a"], replacing("silver")), [GOLD]), true, "another name");
  t.equal(denied(selecting("new", FIRST, ["team-a"], replacing("gold")), [GOLD, SILVER]), true, "one more than those");
  t.equal(denied(selecting("new", FIRST, ["team-a"], replacing("gold,silver")), [GOLD, SILVER]), false);
  t.end();
});

test("IRS-17: the one that is replaced may be widened too", (t) => {
  const replacer = selecting("new", FIRST, ["team-a"], replacing("gold"));
  const old = selecting("gold", FIRST, ["team-b"]);
  t.same(told("IRS-17", GOLD, { known: [replacer, old, wanted("b1")], old }).map((line) => line.split(":")[0]), ["warn IRS-17 metadata.annotations[ack-role-resolver.io/replaces]"]);
  t.match(told("IRS-17", GOLD, { known: [replacer, old, wanted("b1")], old })[0], /until gold is deleted/);
  t.end();
});

test("IRS-17: nothing is selected in mode carm, nor by a selector that takes no part", (t) => {
  const known = [GOLD, wanted("b1")];
  t.same(told("IRS-17", selecting("new", FIRST, ["team-a"]), { known, settings: { mode: "carm" } }), []);
  t.same(told("IRS-17", selectorObject("new", { arn: "", namespaceSelector: { names: ["team-a"] } }), { known }), []);
  t.end();
});

const COULD = "warn IRS-18 spec: it could select the same resource as";
const APART = "though none is there today. Keep them apart by namespace, type or label.";
const buckets = selectorObject("buckets", { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Bucket" }] });

test("IRS-18: selectors that could meet are told of, unless they do or are meant to", (t) => {
  t.same(told("IRS-18", buckets, { known: [GOLD] }), [`${COULD} gold, ${APART}`]);
  t.same(told("IRS-18", buckets, { known: [GOLD, SILVER, selecting("bronze", FIRST, ["x"]), selecting("copper", FIRST, ["y"])] }), [`${COULD} bronze, copper, gold and 1 more, ${APART}`]);
  t.same(told("IRS-18", buckets, { known: [GOLD, wanted("b1")] }), [], "IRS-17 has told of it");
  t.same(told("IRS-18", selectorObject("queues", { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Queue" }] }), { known: [buckets] }), [], "another type");
  t.same(told("IRS-18", selectorObject("new", { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Bucket" }] }, replacing("buckets")), { known: [buckets] }), []);
  t.same(told("IRS-18", buckets, { known: [buckets] }), []);
  const queues = many(120, (name) => selectorObject(name, { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Queue" }] }));
  t.same(told("IRS-18", buckets, { known: queues }), [], "however many are looked at");
  t.same(told("IRS-18", selectorObject("new", {}), { known: [buckets] }), [], "it takes no part");
  t.end();
});

test("IRS-18: of namespaces that are named those labels count that they carry", (t) => {
  const blue = selectorObject("blue", { arn: roleIn(FIRST), namespaceSelector: { labelSelector: { matchLabels: { team: "blue" } } } });
  const byName = selecting("by-name", FIRST, ["a", "b"]);
  const found = [`${COULD} blue, ${APART}`];
  t.same(told("IRS-18", byName, { known: [blue, namespaceObject("a"), namespaceObject("b", { team: "red" })] }), [], "neither is blue");
  t.same(told("IRS-18", byName, { known: [blue, namespaceObject("a"), namespaceObject("b", { team: "blue" })] }), found);
  t.same(told("IRS-18", byName, { known: [blue, namespaceObject("a")] }), found, "one that is not there yet may come with any labels");
  t.same(told("IRS-18", blue, { known: [byName, namespaceObject("a"), namespaceObject("b")] }), [], "the same from the other side");
  t.same(told("IRS-18", buckets, { known: [blue, namespaceObject("a")] }), found, "where neither names any");
  t.same(told("IRS-18", byName, { known: [selecting("too", FIRST, ["b", "c"]), namespaceObject("b")] }), [`${COULD} too, ${APART}`]);
  const labelled = selectorObject("too", { arn: roleIn(FIRST), namespaceSelector: { names: ["b", "c"], labelSelector: { matchLabels: { team: "blue" } } } });
  t.same(told("IRS-18", byName, { known: [labelled, namespaceObject("b", { team: "red" })] }), [], "a is not there, and not named by both");
  t.end();
});

test("IRS-18: looking stops at 20 selectors", (t) => {
  const others = (count: number): JsonObject[] => many(count, (name) => selecting(name, FIRST, [name]));
  t.same(told("IRS-18", buckets, { known: others(19) }), [`${COULD} b00, b01, b02 and 16 more, ${APART}`]);
  t.same(told("IRS-18", buckets, { known: others(200) }), [`${COULD} at least 20 other selectors, among them b00, b01 and b02, ${APART}`]);
  t.end();
});
