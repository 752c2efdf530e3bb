import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  existingBucket, FIRST, namespaceObject, newBucket, repeat, replacesMetadata, roleIn, SECOND, selectorFor,
  selectorObject,
} from "../objects.ts";
import { accountLines, needsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

type Input = readonly [
  object: JsonObject, known: readonly JsonObject[], old?: JsonObject | null, settings?: Partial<DecisionSettings>,
];
const of = (id: string) => ([object, known, old = null, settings = {}]: Input): string[] =>
  accountLines(id, object, { known, old, settings });
const irs17 = of("IRS-17");

const GOLD = selectorFor("gold", FIRST, ["team-a"]);
const SILVER = selectorFor("silver", FIRST, ["team-a", "team-b"]);
const NEW = selectorFor("new", FIRST, ["team-a"]);
const ELSEWHERE = newBucket("b2", { namespace: "team-b" });
const replacing = (names: string, account = FIRST): JsonObject =>
  selectorFor("new", account, ["team-a"], replacesMetadata(names));

const STOPS = "would be selected by more than one IAMRoleSelector, and controllers do not reconcile such a resource";
const fixFor = (names: string, list = names): string =>
  `Restrict new or ${names} so that only one of them selects each resource. If new is to replace ${names}: `
    + `annotate new with ack-role-resolver.io/replaces: ${list}, apply new, then delete ${names}.`;
const FIX = fixFor("gold");

testRows("IRS-17: denies a new selector that selects resources of another selector", irs17, [
  ["two resources", [NEW, [GOLD, existingBucket("b1", FIRST), newBucket("b2"), newBucket("b3", { namespace: "x" })]],
    `deny IRS-17 spec: 2 resources ${STOPS}: Bucket team-a/b1 in account ${FIRST} (also selected by gold) and Bucket `
      + `team-a/b2 (also selected by gold). ${FIX}`],
  ["a namespace that gold does not select", [selectorFor("new", FIRST, ["team-b"]), [GOLD, ELSEWHERE]]],
  ["the stored selector itself", [GOLD, [GOLD, newBucket("b1")]]],
  ["no resource exists", [NEW, [GOLD]]],
  ["mode carm", [NEW, [GOLD, newBucket("b1")], null, { mode: "carm" }]],
  ["a malformed selector",
    [selectorObject("new", { arn: "", namespaceSelector: { names: ["team-a"] } }), [GOLD, newBucket("b1")]]],
  ["a selector of a kro instance",
    [{ ...NEW, metadata: { name: "new", labels: { "kro.run/instance-name": "b2" } } }, [GOLD, newBucket("b1")]],
    /\. Restrict new and gold to the resources of their kro instances\. To do so, add /],
]);

test("IRS-17: lists at most 3 selectors in its fix, and stops after 20 conflicting resources", (t) => {
  const fixOf = (count: number): string => {
    const others = Array.from({ length: count }, (_, i) => selectorFor(`s${i}`, FIRST, ["team-a"]));
    return irs17([NEW, [...others, newBucket("b")]])[0]?.replace(/^.* Restrict/, "Restrict") ?? "";
  };
  t.equal(fixOf(3), fixFor("s0, s1 and s2", "s0,s1,s2"));
  t.equal(fixOf(500), fixFor("s0, s1, s10 and 497 more", "s0,s1,s10,... (list all 500 selectors)"));
  const list = ["b00", "b01", "b02"].map((name) => `Bucket team-a/${name} (also selected by gold)`).join(", ");
  for (const count of [19, 20, 300]) {
    const [many, rest] = count === 19 ? ["19", "16 more"] : ["at least 20", "others"];
    const line = `deny IRS-17 spec: ${many} resources ${STOPS}: ${list} and ${rest}. ${FIX}`;
    t.same(irs17([NEW, [GOLD, ...repeat(count, newBucket)]]), [line]);
  }
  t.equal(needsOf("IRS-17", {}, { origin: "file" }), "resources");
  t.end();
});

const CONFLICT = [GOLD, SILVER, NEW, newBucket("b1"), ELSEWHERE];
testRows("IRS-17: denies an update that causes new conflicts, and only warns about existing conflicts", irs17, [
  ["one new and one old conflict", [selectorFor("new", FIRST, ["team-a", "team-b"]), CONFLICT, NEW],
    `deny IRS-17 spec: 1 resource ${STOPS}: Bucket team-b/b2 (also selected by silver). ${fixFor("silver")}`,
    "warn IRS-17 spec: 1 resource would stay in conflict: Bucket team-a/b1 (also selected by gold and silver). "
      + "Restrict the selectors so that only one of them selects each resource. "
      + "To rename a selector or rotate its role, create the new selector with the annotation "
      + "ack-role-resolver.io/replaces: OLD-NAME, so that this overlap is only a warning. Then delete the old "
      + "selector."],
  ["the update ends a conflict", [selectorFor("new", FIRST, ["team-c"]), CONFLICT, NEW]],
]);

const WAITS = "warn IRS-17 metadata.annotations[ack-role-resolver.io/replaces]: 1 resource would be in conflict, and "
  + "not "
  + `be reconciled, until gold is deleted: Bucket team-a/b1 in account ${FIRST} (also selected by gold). `;
const THEN = "Apply this change, then delete gold: the deletion is allowed once every resource resolves to the "
  + "replacement in the same account.";
const B1 = existingBucket("b1", FIRST);
const OLD_GOLD = selectorFor("gold", FIRST, ["team-b"]);
testRows("IRS-17: warns but does not deny if one selector replaces all conflicting selectors", irs17, [
  ["replaces gold", [replacing("gold"), [GOLD, B1]], WAITS + THEN],
  ["a list with spaces and other names", [replacing(" none , gold,"), [GOLD, B1]], WAITS + THEN],
  ["a role in another account", [replacing("gold", SECOND), [GOLD, B1]],
    `${WAITS}Use a role for new in the same account as gold, because existing resources cannot move to account `
      + `${SECOND}.`],
  ["a role in the account of the resource", [replacing("gold", SECOND), [GOLD, existingBucket("b1", SECOND)]],
    `${WAITS.replace(FIRST, SECOND)}${THEN}`],
  ["replaces another selector", [replacing("silver"), [GOLD, B1]], /^deny/],
  ["replaces one of two", [replacing("gold"), [GOLD, SILVER, B1]], /^deny/],
  ["replaces both", [replacing("gold,silver"), [GOLD, SILVER, B1]], /^warn/],
  ["an update of gold makes it overlap its replacement",
    [GOLD, [replacing("gold"), OLD_GOLD, newBucket("b1")], OLD_GOLD],
    /^warn IRS-17 metadata\.annotations\[ack-role-resolver\.io\/replaces\]: .* until gold is deleted/],
]);

const overlap = (selectors: string): string => (
  `warn IRS-18 spec: the selector could share a resource with ${selectors}, but no such resource exists now. `
    + "Separate the selectors by namespace, type or label."
);
const ofKind = (name: string, kind: string, metadata?: JsonObject): JsonObject =>
  selectorObject(name, { arn: roleIn(FIRST), resourceTypeSelector: [{ kind }] }, metadata);
const withLabel = (name: string, names?: string[]): JsonObject => selectorObject(name, {
  arn: roleIn(FIRST),
  namespaceSelector: { ...(names !== undefined && { names }), labelSelector: { matchLabels: { team: "blue" } } },
});
const buckets = ofKind("buckets", "Bucket");
const blue = withLabel("blue");
const byName = selectorFor("by-name", FIRST, ["a", "b"]);
const OF_BLUE = overlap("1 other selector (blue)");
const [NS_A, NS_B] = [namespaceObject("a"), namespaceObject("b")];
const others = (count: number): JsonObject[] => repeat(count, (name) => selectorFor(name, FIRST, [name]));

testRows("IRS-18: warns about a possible overlap, unless IRS-17 reports it or a selector is replaced", of("IRS-18"), [
  ["one selector", [buckets, [GOLD]], overlap("1 other selector (gold)")],
  ["four selectors",
    [buckets, [GOLD, SILVER, selectorFor("bronze", FIRST, ["x"]), selectorFor("copper", FIRST, ["y"])]],
    overlap("4 other selectors (bronze, copper, gold and 1 more)")],
  ["IRS-17 reports the conflict", [buckets, [GOLD, newBucket("b1")]]],
  ["another kind", [ofKind("queues", "Queue"), [buckets]]],
  ["a replacement", [ofKind("new", "Bucket", replacesMetadata("buckets")), [buckets]]],
  ["the selector itself", [buckets, [buckets]]],
  ["more selectors than the scan visits between two pauses",
    [buckets, repeat(120, (name) => ofKind(name, "Queue"))]],
  ["a malformed selector", [selectorObject("new", {}), [buckets]]],
  ["neither named namespace has the label", [byName, [blue, NS_A, namespaceObject("b", { team: "red" })]]],
  ["a named namespace has the label", [byName, [blue, NS_A, namespaceObject("b", { team: "blue" })]], OF_BLUE],
  ["a named namespace does not exist yet and may get any labels", [byName, [blue, NS_A]], OF_BLUE],
  ["the selectors swapped", [blue, [byName, NS_A, NS_B]]],
  ["neither selector lists namespaces", [buckets, [blue, NS_A]], OF_BLUE],
  ["both list b", [byName, [selectorFor("too", FIRST, ["b", "c"]), NS_B]], overlap("1 other selector (too)")],
  ["only one selector lists the missing namespace",
    [byName, [withLabel("too", ["b", "c"]), namespaceObject("b", { team: "red" })]]],
  ["19 selectors", [buckets, others(19)], overlap("19 other selectors (b00, b01, b02 and 16 more)")],
  ["stops after 20", [buckets, others(200)], overlap("at least 20 other selectors (b00, b01, b02 and others)")],
]);
