import { resourceName } from "../../../shared/core/ack-resource.ts";
import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import { RESOURCES } from "../../../shared/ack/resources.ts";
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { type Test, test } from "tap";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import type { Runtime } from "../../../shared/core/context.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import { drain, type Paced } from "../../../shared/formats/paced.ts";
import { type Transition, transitionsOfNamespace, transitionsOfSelector } from "../../../shared/ack/change-set.ts";
import type { EffectiveSelector } from "../../../shared/core/effective-selector.ts";
import { choice, labels, NAMESPACES, resource, SELECTOR_NAMES, spec } from "../arbitraries.ts";
import type { ModelSelector } from "../reference-model.ts";
import { inventoryWith, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

type Spec = ModelSelector["spec"];

/** Generates the objects of a cluster. The cluster never contains the last namespace of NAMESPACES. */
const world = fc.record({
  runtime: fc.constantFrom<Runtime>("ack", "extended"),
  selectors: fc.dictionary(fc.constantFrom(...SELECTOR_NAMES), spec, { minKeys: 1, maxKeys: 6 }),
  namespaces: fc.dictionary(fc.constantFrom(...NAMESPACES.slice(0, 3)), labels, { maxKeys: 3 }),
  resources: fc.array(fc.tuple(resource, choice), { minLength: 1, maxLength: 8 }),
  /** Maps a namespace to its annotation `use-selector`. */
  choices: fc.dictionary(fc.constantFrom(...NAMESPACES.slice(0, 3)), choice, { maxKeys: 3 }),
});

type World = (typeof world) extends fc.Arbitrary<infer W> ? W : never;

function inventoryOf({ runtime, selectors, namespaces, resources, choices }: World): Inventory {
  return inventoryWith([
    ...Object.entries(selectors).map(([name, stored]) => selectorObject(name, stored)),
    ...Object.entries(namespaces).map(([name, own]) => namespaceObject(name, own, choices[name])),
    ...resources.map(([{ namespace, group, version, kind, labels: own }, annotations], i) => (
      { apiVersion: `${group}/${version}`, kind, metadata: { namespace, name: `r${i}`, labels: own, annotations } }
    )),
  ], { runtime });
}

/** Returns a map from each resource to its outcome and its selectors. */
function resolved(inventory: Inventory, runtime: Runtime): Map<string, string> {
  const settings = { ...SETTINGS_BY_DEFAULT, runtime };
  return new Map(
    Array.from(inventory.of(RESOURCES).all(), (one) => [
      `${one.group} ${resourceName(one)}`,
      textOf(resolve(inventory, one, settings)),
    ]),
  );
}

/** Omits the selectors of a refused resource, because a resolution does not contain them. */
function textOf({ outcome, selectors }: Pick<Resolution, "outcome" | "selectors">): string {
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return `${outcome} ${outcome === "refused" ? "" : selectors.map(({ name }) => name).toSorted().join()}`;
}

const counts = new Map<string, number>();

function visited(
  scan: (visit: (transition: Transition) => boolean) => Paced<boolean>,
): Map<string, readonly [string, string]> {
  const found = new Map<string, readonly [string, string]>();
  drain(
    scan((one) => {
      const key = `${one.resource.group} ${resourceName(one.resource)}`;
      assert.ok(!found.has(key), `${key} is visited once`);
      found.set(key, [textOf(one.before), textOf(one.after)]);
      return true;
    }),
  );
  return found;
}

/**
 * Asserts that the transition of each visited resource equals its resolutions before and after the change, and that no
 * other resource changes.
 */
function assertAgrees(
  transitions: Map<string, readonly [string, string]>,
  before: Map<string, string>,
  after: Map<string, string>,
): void {
  for (const [key, was] of before) {
    const is = after.get(key) ?? "gone";
    if (was !== is) changed++;
    assert.deepEqual(transitions.get(key) ?? [was, was], [was, is], key);
  }
}

let changed = 0;

function assertSawEveryOutcome(t: Test): void {
  t.ok(changed > 500, `${changed} resources changed`);
  for (const outcome of ["selected", "default", "conflict", "refused"]) {
    t.ok((counts.get(outcome) ?? 0) > 500, `${outcome}: ${counts.get(outcome)} times`);
  }
  changed = 0;
  counts.clear();
}

test("visits the resources whose selectors differ between the inventories before and after the change", (t) => {
  const update = fc.tuple(world, fc.constantFrom(...SELECTOR_NAMES), fc.option(spec, { freq: 4 }));
  fc.assert(fc.property(update, ([there, name, updated]) => {
    const { [name]: old, ...others } = there.selectors;
    const [before, after] = [
      inventoryOf(there),
      inventoryOf({ ...there, selectors: updated === null ? others : { ...others, [name]: updated } }),
    ];
    const decoded = (one: Spec | null | undefined): EffectiveSelector | null =>
      one === null || one === undefined
        ? null
        : judgeSelector(selectorObject(name, one), { origin: "cluster", runtime: there.runtime }).effective;
    const transitions = visited((visit) =>
      transitionsOfSelector(before, { name, before: decoded(old), after: decoded(updated) }, visit),
    );
    assertAgrees(transitions, resolved(before, there.runtime), resolved(after, there.runtime));
  }), parameters(t, 3000));
  assertSawEveryOutcome(t);
  t.end();
});

/**
 * Generates selectors that match only by namespace labels, because few other selectors read the labels of a namespace.
 */
const byLabel: fc.Arbitrary<Spec> = fc.record({
  arn: fc.constant(ROLE),
  namespaceSelector: fc.record({ labelSelector: fc.record({ matchLabels: labels }) }),
});
const labeledWorld = fc
  .tuple(world, fc.dictionary(fc.constantFrom(...SELECTOR_NAMES), byLabel, { minKeys: 2, maxKeys: 6 }))
  .map(([one, selectors]): World => ({ ...one, selectors }));

test("the transitions of a namespace match the inventories before and after the change", (t) => {
  const update = fc.tuple(labeledWorld, fc.constantFrom(...NAMESPACES.slice(0, 3)), labels, choice);
  fc.assert(fc.property(update, ([there, name, updated, chosen]) => {
    const { namespaces, choices } = there;
    const [before, after] = [
      inventoryOf(there),
      inventoryOf({
        ...there, namespaces: { ...namespaces, [name]: updated }, choices: { ...choices, [name]: chosen },
      }),
    ];
    const state = { labels: after.namespaces.labelsOf(name), annotations: after.namespaces.annotationsOf(name) };
    const transitions = visited((visit) => transitionsOfNamespace(before, name, state, visit));
    assertAgrees(transitions, resolved(before, there.runtime), resolved(after, there.runtime));
  }), parameters(t, 3000));
  assertSawEveryOutcome(t);
  t.end();
});
