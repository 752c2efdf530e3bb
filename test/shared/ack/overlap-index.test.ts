import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { Inventory, type InventoryChange } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { type EffectiveSelector, selectsNamespace } from "../../../shared/core/effective-selector.ts";
import { canOverlap } from "../../../shared/ack/selector-overlap.ts";
import { labels, NAMESPACES, SELECTOR_NAMES, spec } from "../arbitraries.ts";
import { inventoryWith, namespaceObject, put, removal, ROLE, selectorObject } from "../objects.ts";
import { parameters } from "../property.ts";

const VALUES = fc.constantFrom("a", "b", "c", "d");
const byLabel = (key: string): fc.Arbitrary<JsonObject> => VALUES.map((value) => ({ matchLabels: { [key]: value } }));
/** Generates selectors that often cannot overlap. */
const narrow: fc.Arbitrary<JsonObject> = fc.record({
  namespaceSelector: fc.oneof(
    fc.constantFrom(...NAMESPACES).map((name) => ({ names: [name] })),
    byLabel("team").map((labelSelector) => ({ labelSelector })),
  ),
  resourceTypeSelector: fc.constantFrom("Bucket", "Queue", "Topic").map((kind) => [{ kind }]),
  resourceLabelSelector: byLabel("tier"),
}, { requiredKeys: [] });

const change: fc.Arbitrary<InventoryChange> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...SELECTOR_NAMES), fc.oneof(spec, narrow)).map(([name, parts]) => (
    put(selectorObject(name, { ...parts, arn: ROLE }))
  )) },
  { weight: 1, arbitrary: fc.constantFrom(...SELECTOR_NAMES)
    .map((name) => removal("services.k8s.aws", "IAMRoleSelector", name)) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...NAMESPACES), labels)
    .map(([name, own]) => put(namespaceObject(name, own))) },
  { weight: 1, arbitrary: fc.constantFrom(...NAMESPACES).map((name) => removal("", "Namespace", name)) },
);

/** Returns whether both selectors can select the same namespace. A namespace that does not exist can get any labels. */
function shareNamespace(inventory: Inventory, a: EffectiveSelector, b: EffectiveSelector): boolean {
  const listed = a.namespaces ?? b.namespaces;
  if (listed === null) return true;
  return [...listed].some((name) => {
    const ofName = inventory.namespaces.labelsOf(name);
    if (!inventory.namespaces.has(name) && (b.namespaces ?? listed).has(name)) return true;
    return selectsNamespace(a, name, ofName) && selectsNamespace(b, name, ofName);
  });
}

test("yields every overlapping selector once, after any changes of selectors and namespaces", (t) => {
  let [overlapping, skipped] = [0, 0];
  const input = fc.record({
    runtime: fc.constantFrom("ack" as const, "extended" as const),
    changes: fc.array(change, { minLength: 2, maxLength: 20, size: "max" }),
  });
  fc.assert(fc.property(input, ({ runtime, changes }) => {
    const inventory = new Inventory({ runtime, origin: "file" }, INVENTORY_KINDS);
    for (const one of changes) {
      inventory.apply([one]);
      const all = [...inventory.of(SELECTORS).values()];
      for (const selector of all) {
        const candidates = [...drain(inventory.of(SELECTORS).overlapCandidates(selector))];
        assert.equal(new Set(candidates).size, candidates.length);
        assert.ok(candidates.every((other) => all.includes(other)));
        const sharing = all.filter((other) => shareNamespace(inventory, selector, other));
        const matching = sharing.filter((other) => canOverlap(selector, other));
        assert.deepEqual(matching.filter((other) => !candidates.includes(other)), [], selector.name);
        overlapping += matching.length;
        skipped += all.length - candidates.length;
      }
    }
  }), parameters(t, 1_500));
  t.ok(overlapping > 10_000 && skipped > 10_000, `${overlapping} pairs overlap, ${skipped} pairs are not compared`);
  t.end();
});

const COUNT = 10_000;

/** Returns the number of pairs that an audit of the selectors compares. */
function comparedPairs(specOf: (i: number) => JsonObject, namespaces: readonly JsonObject[] = []): number {
  const inventory = inventoryWith(namespaces, { runtime: "extended", origin: "file" });
  const create = (i: number): InventoryChange => put(selectorObject(`s${i}`, { arn: ROLE, ...specOf(i) }));
  inventory.apply(Array.from({ length: COUNT }, (_, i) => create(i)));
  let pairs = 0;
  for (const selector of inventory.of(SELECTORS).values()) {
    for (const other of drain(inventory.of(SELECTORS).overlapCandidates(selector))) if (other !== selector) pairs++;
  }
  return pairs;
}

test("compares no pair of 10,000 selectors if each selector requires a different label, name or kind", (t) => {
  const byTeam = (i: number): JsonObject => ({
    namespaceSelector: { labelSelector: { matchLabels: { env: "prod", team: `t${i}` } } },
  });
  const team = (i: number): JsonObject[] => [{ key: "team", operator: "In", values: [`t${i}`, `u${i}`] }];
  const byExpression = (i: number): JsonObject => ({
    namespaceSelector: { labelSelector: { matchExpressions: team(i) } },
  });
  const byName = (i: number): JsonObject => ({ namespaceSelector: { names: [`n${i}`, `m${i}`] } });
  const byResourceLabel = (i: number): JsonObject => ({
    namespaceSelector: { names: ["n"] }, resourceLabelSelector: { matchLabels: { tier: `t${i}` } },
  });
  const byKind = (i: number): JsonObject => ({ resourceTypeSelector: [{ kind: `K${i}` }] });
  for (const specOf of [byTeam, byExpression, byName, byResourceLabel, byKind]) {
    t.equal(comparedPairs(specOf), 0, specOf.name);
  }
  t.equal(comparedPairs((i) => (i % 2 === 0 ? byKind(i) : { ...byTeam(i), ...byKind(i) })), 0, "two families");
  t.end();
});

test("compares a selector that lists names only with label selectors that match these names", (t) => {
  const namespaces = Array.from({ length: COUNT / 2 }, (_, i) => namespaceObject(`n${i}`, { team: `t${i}` }));
  const mixed = (i: number): JsonObject => ({
    namespaceSelector: i % 2 === 0
      ? { names: [`n${i / 2}`] } : { labelSelector: { matchLabels: { team: `t${(i - 1) / 2}` } } },
  });
  t.equal(comparedPairs(mixed, namespaces), COUNT, "each selector with one other selector");
  t.end();
});

test("builds the index in steps, between which selectors and namespaces may change", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  const ofTeam = (name: string, team: string): InventoryChange => (
    put(selectorObject(name, { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: { team } } } }))
  );
  inventory.apply(Array.from({ length: 1_000 }, (_, i) => ofTeam(`s${i}`, `t${i}`)));
  inventory.apply([put(selectorObject("searching", { arn: ROLE, namespaceSelector: { names: ["n"] } }))]);
  const searching = inventory.of(SELECTORS).get("searching");
  if (searching === undefined) throw new Error("the selector is malformed");
  const lookup = inventory.of(SELECTORS).overlapCandidates(searching);
  let steps = 0;
  while (steps < 100 && lookup.next().done !== true) steps++;
  t.equal(steps, 100, "the index is not complete");
  inventory.apply([
    ofTeam("s0", "new"), ofTeam("s999", "new"), ofTeam("s1000", "new"), put(namespaceObject("n", { team: "new" })),
    removal("services.k8s.aws", "IAMRoleSelector", "s1"), removal("services.k8s.aws", "IAMRoleSelector", "s998"),
  ]);
  const names = (found: Iterable<EffectiveSelector>): string[] => Array.from(found, ({ name }) => name).toSorted();
  const expected = ["s0", "s1000", "s999", "searching"];
  t.same(names(drain(inventory.of(SELECTORS).overlapCandidates(searching))), expected, "another lookup meanwhile");
  t.same(names(drain(lookup)), expected);
  t.equal(inventory.of(SELECTORS).overlapCandidates(searching).next().done, true, "the index is built only once");
  t.end();
});
