import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { namespaceObject, selectorObject } from "../../objects.ts";
import {
  existingBucket, findingLines, FIRST, newBucket, repeat, replacesMetadata, roleIn, SECOND, selectorFor,
} from "../account-fixtures.ts";
import { needsOf } from "../selector-changes.ts";

const GOLD = selectorFor("gold", FIRST, ["team-a"]);
const SILVER = selectorFor("silver", FIRST, ["team-a", "team-b"]);

const STOPS = "would be selected by more than one IAMRoleSelector, "
  + "and controllers do not reconcile such a resource";
const FIX = "Restrict new or gold so that only one of them selects each resource. If new is to replace gold: "
  + "annotate new with ack-role-resolver.io/replaces: gold, apply new, then delete gold.";

test("IRS-17: denies a new selector that selects resources of another selector, and suggests a replacement", (t) => {
  const known = [GOLD, existingBucket("b1", FIRST), newBucket("b2"), newBucket("b3", { namespace: "team-b" })];
  t.same(findingLines("IRS-17", selectorFor("new", FIRST, ["team-a"]), { known }), [
    `deny IRS-17 spec: 2 resources ${STOPS}: Bucket team-a/b1 in account ${FIRST} (also selected by gold) and Bucket `
      + `team-a/b2 (also selected by gold). ${FIX}`,
  ]);
  t.same(
    findingLines("IRS-17", selectorFor("new", FIRST, ["team-b"]), { known }),
    [],
    "a namespace that gold does not select",
  );
  t.same(findingLines("IRS-17", GOLD, { known }), [], "the stored selector itself");
  t.same(findingLines("IRS-17", selectorFor("new", FIRST, ["team-a"]), { known: [GOLD] }), [], "no resource exists");
  t.equal(needsOf("IRS-17", {}, { origin: "file" }), "resources");
  t.end();
});

test("IRS-17: for a selector of a kro instance, suggests a label selector for the instance", (t) => {
  const selector = selectorFor("new", FIRST, ["team-a"]);
  const ofInstance = { ...selector, metadata: { name: "new", labels: { "kro.run/instance-name": "b2" } } };
  const [line] = findingLines("IRS-17", ofInstance, { known: [GOLD, newBucket("b1")] });
  t.match(line, /\. Restrict new and gold to the resources of their kro instances\. To do so, add /);
  t.end();
});

test("IRS-17: lists at most 3 selectors in its fix", (t) => {
  const fixFor = (count: number): string => {
    const others = Array.from({ length: count }, (_, i) => selectorFor(`s${i}`, FIRST, ["team-a"]));
    const known = [...others, newBucket("b")];
    return findingLines("IRS-17", selectorFor("new", FIRST, ["team-a"]), { known })[0]?.split("Restrict ")[1] ?? "";
  };
  t.equal(
    fixFor(3),
    "new or s0, s1 and s2 so that only one of them selects each resource. If new is to replace s0, s1 and s2: "
      + "annotate new with ack-role-resolver.io/replaces: s0,s1,s2, apply new, then delete s0, s1 and s2.",
  );
  t.equal(
    fixFor(500),
    "new or s0, s1, s10 and 497 more so that only one of them selects each resource. "
      + "If new is to replace s0, s1, s10 and 497 more: annotate new with ack-role-resolver.io/replaces: "
      + "s0,s1,s10,... (list all 500 selectors), apply new, then delete s0, s1, s10 and 497 more.",
  );
  t.end();
});

test("IRS-17: stops the scan after 20 conflicting resources", (t) => {
  const lineOf = (count: number): string =>
    findingLines("IRS-17", selectorFor("new", FIRST, ["team-a"]), { known: [GOLD, ...repeat(count, newBucket)] })[0] ??
    "";
  const list = ["b00", "b01", "b02"]
    .map((name) => `Bucket team-a/${name} (also selected by gold)`)
    .join(", ");
  t.equal(lineOf(19), `deny IRS-17 spec: 19 resources ${STOPS}: ${list} and 16 more. ${FIX}`);
  t.equal(lineOf(20), `deny IRS-17 spec: at least 20 resources ${STOPS}: ${list} and others. ${FIX}`);
  t.equal(lineOf(300), lineOf(20));
  t.end();
});

test("IRS-17: denies an update that causes new conflicts, and only warns about existing conflicts", (t) => {
  const old = selectorFor("new", FIRST, ["team-a"]);
  const known = [GOLD, SILVER, old, newBucket("b1"), newBucket("b2", { namespace: "team-b" })];
  const both = selectorFor("new", FIRST, ["team-a", "team-b"]);
  t.same(findingLines("IRS-17", both, { known, old }), [
    `deny IRS-17 spec: 1 resource ${STOPS}: Bucket team-b/b2 (also selected by silver). `
      + FIX.replaceAll("gold", "silver"),
    "warn IRS-17 spec: 1 resource would stay in conflict: Bucket team-a/b1 (also selected by gold and silver). "
      + "Restrict the selectors so that only one of them selects each resource. "
      + "To rename a selector or rotate its role, create the new selector with the annotation "
      + "ack-role-resolver.io/replaces: OLD-NAME, so that this overlap is only a warning. Then delete the old "
      + "selector.",
  ]);
  t.same(
    findingLines("IRS-17", selectorFor("new", FIRST, ["team-c"]), { known, old }),
    [],
    "the update ends a conflict",
  );
  t.end();
});

test("IRS-17: warns but does not deny if the new selector replaces all conflicting selectors", (t) => {
  const known = [GOLD, existingBucket("b1", FIRST)];
  const path = "metadata.annotations[ack-role-resolver.io/replaces]";
  const waits = `warn IRS-17 ${path}: 1 resource would be in conflict, and not be reconciled, until gold is `
    + `deleted: `
    + `Bucket team-a/b1 in account ${FIRST} (also selected by gold).`;
  const then =
    "Apply this change, then delete gold: the deletion is allowed once every resource resolves to the replacement in "
      + "the same account.";
  t.same(findingLines("IRS-17", selectorFor("new", FIRST, ["team-a"], replacesMetadata("gold")), { known }), [
    `${waits} ${then}`,
  ]);
  t.same(
    findingLines("IRS-17", selectorFor("new", FIRST, ["team-a"], replacesMetadata(" none , gold,")), { known }),
    [`${waits} ${then}`],
    "the list of replaced selectors contains spaces",
  );
  t.same(findingLines("IRS-17", selectorFor("new", SECOND, ["team-a"], replacesMetadata("gold")), { known }), [
    `${waits} Use a role for new in the same account as gold, because existing resources cannot move to account `
      + `${SECOND}.`,
  ]);
  const denied = (object: JsonObject, others: readonly JsonObject[]): boolean =>
    findingLines("IRS-17", object, { known: [...others, existingBucket("b1", FIRST)] }).some((line) =>
      line.startsWith("deny"),
    );
  t.equal(
    denied(selectorFor("new", FIRST, ["team-a"], replacesMetadata("silver")), [GOLD]),
    true,
    "the new selector replaces a different selector",
  );
  t.equal(
    denied(selectorFor("new", FIRST, ["team-a"], replacesMetadata("gold")), [GOLD, SILVER]),
    true,
    "the new selector replaces only one of two selectors",
  );
  t.equal(denied(selectorFor("new", FIRST, ["team-a"], replacesMetadata("gold,silver")), [GOLD, SILVER]), false);
  t.end();
});

test("IRS-17: warns but does not deny if an update makes a selector overlap its replacement", (t) => {
  const replacer = selectorFor("new", FIRST, ["team-a"], replacesMetadata("gold"));
  const old = selectorFor("gold", FIRST, ["team-b"]);
  t.same(
    findingLines("IRS-17", GOLD, { known: [replacer, old, newBucket("b1")], old }).map((line) => line.split(":")[0]),
    ["warn IRS-17 metadata.annotations[ack-role-resolver.io/replaces]"],
  );
  t.match(findingLines("IRS-17", GOLD, { known: [replacer, old, newBucket("b1")], old })[0], /until gold is deleted/);
  t.end();
});

test("IRS-17: reports nothing in mode carm or for a malformed selector", (t) => {
  const known = [GOLD, newBucket("b1")];
  t.same(findingLines("IRS-17", selectorFor("new", FIRST, ["team-a"]), { known, settings: { mode: "carm" } }), []);
  t.same(
    findingLines("IRS-17", selectorObject("new", { arn: "", namespaceSelector: { names: ["team-a"] } }), { known }),
    [],
  );
  t.end();
});

const overlapLine = (selectors: string): string => (
  `warn IRS-18 spec: the selector could share a resource with ${selectors}, but no such resource exists now. `
    + "Separate the selectors by namespace, type or label."
);
const buckets = selectorObject("buckets", { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Bucket" }] });

test("IRS-18: warns about a possible overlap, unless IRS-17 reports it or one selector replaces the other", (t) => {
  t.same(findingLines("IRS-18", buckets, { known: [GOLD] }), [overlapLine("1 other selector (gold)")]);
  t.same(
    findingLines("IRS-18", buckets, {
      known: [GOLD, SILVER, selectorFor("bronze", FIRST, ["x"]), selectorFor("copper", FIRST, ["y"])],
    }),
    [overlapLine("4 other selectors (bronze, copper, gold and 1 more)")],
  );
  t.same(findingLines("IRS-18", buckets, { known: [GOLD, newBucket("b1")] }), [], "IRS-17 reports the conflict");
  t.same(
    findingLines(
      "IRS-18",
      selectorObject("queues", { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Queue" }] }),
      { known: [buckets] },
    ),
    [],
    "a different kind",
  );
  t.same(
    findingLines(
      "IRS-18",
      selectorObject(
        "new",
        { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Bucket" }] },
        replacesMetadata("buckets"),
      ),
      { known: [buckets] },
    ),
    [],
  );
  t.same(findingLines("IRS-18", buckets, { known: [buckets] }), []);
  const queues = repeat(120, (name) =>
    selectorObject(name, { arn: roleIn(FIRST), resourceTypeSelector: [{ kind: "Queue" }] }),
  );
  t.same(
    findingLines("IRS-18", buckets, { known: queues }),
    [],
    "there are more selectors than the scan visits between two pauses",
  );
  t.same(findingLines("IRS-18", selectorObject("new", {}), { known: [buckets] }), [], "the new selector is malformed");
  t.end();
});

test("IRS-18: compares the current labels of the namespaces that a selector lists by name", (t) => {
  const blue = selectorObject("blue", {
    arn: roleIn(FIRST),
    namespaceSelector: { labelSelector: { matchLabels: { team: "blue" } } },
  });
  const byName = selectorFor("by-name", FIRST, ["a", "b"]);
  const expected = [overlapLine("1 other selector (blue)")];
  t.same(
    findingLines("IRS-18", byName, { known: [blue, namespaceObject("a"), namespaceObject("b", { team: "red" })] }),
    [],
    "neither namespace has the label",
  );
  t.same(
    findingLines("IRS-18", byName, { known: [blue, namespaceObject("a"), namespaceObject("b", { team: "blue" })] }),
    expected,
  );
  t.same(
    findingLines("IRS-18", byName, { known: [blue, namespaceObject("a")] }),
    expected,
    "namespace b does not exist yet and may get any labels",
  );
  t.same(
    findingLines("IRS-18", blue, { known: [byName, namespaceObject("a"), namespaceObject("b")] }),
    [],
    "the same namespaces with the roles of the selectors swapped",
  );
  t.same(
    findingLines("IRS-18", buckets, { known: [blue, namespaceObject("a")] }),
    expected,
    "neither selector lists namespaces",
  );
  t.same(findingLines("IRS-18", byName, { known: [selectorFor("too", FIRST, ["b", "c"]), namespaceObject("b")] }), [
    overlapLine("1 other selector (too)"),
  ]);
  const labelled = selectorObject("too", {
    arn: roleIn(FIRST),
    namespaceSelector: { names: ["b", "c"], labelSelector: { matchLabels: { team: "blue" } } },
  });
  t.same(
    findingLines("IRS-18", byName, { known: [labelled, namespaceObject("b", { team: "red" })] }),
    [],
    "namespace a does not exist, but only one selector lists it",
  );
  t.end();
});

test("IRS-18: stops the scan after 20 overlapping selectors", (t) => {
  const others = (count: number): JsonObject[] => repeat(count, (name) => selectorFor(name, FIRST, [name]));
  t.same(findingLines("IRS-18", buckets, { known: others(19) }), [
    overlapLine("19 other selectors (b00, b01, b02 and 16 more)"),
  ]);
  t.same(findingLines("IRS-18", buckets, { known: others(200) }), [
    overlapLine("at least 20 other selectors (b00, b01, b02 and others)"),
  ]);
  t.end();
});
