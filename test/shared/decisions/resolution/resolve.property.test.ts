import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { Inventory, type InventoryChange } from "../../../../shared/decisions/inventory/inventory.ts";
import { queryOf, type ResourceQuery } from "../../../../shared/decisions/kubernetes/ack-resource.ts";
import { type Resolution, resolve } from "../../../../shared/decisions/resolution/resolve.ts";
import { GROUPS, KINDS, labels, NAMESPACES, resource, SELECTOR_NAMES, spec, VERSIONS } from "../arbitraries.ts";
import {
  type ModelContext, modelMalformed, type ModelResource, modelSelecting, type ModelSelector, type ModelWorld,
} from "../model.ts";
import { kindObject, namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

interface Change {
  /** The world's part after the change, and what the inventory is told. */
  readonly to: (world: MutableWorld) => void;
  readonly told: InventoryChange;
}

interface MutableWorld {
  readonly selectors: Map<string, ModelSelector["spec"]>;
  readonly namespaces: Map<string, Readonly<Record<string, string>>>;
  readonly storage: Map<string, string>;
}

const selectorChange = fc.tuple(fc.constantFrom(...SELECTOR_NAMES), fc.option(spec, { freq: 5 })).map(([name, written]): Change => (written === null
  ? { to: ({ selectors }) => selectors.delete(name), told: removal("services.k8s.aws", "IAMRoleSelector", name) }
  : { to: ({ selectors }) => selectors.set(name, written), told: put(selectorObject(name, written)) }));

const namespaceChange = fc.tuple(fc.constantFrom(...NAMESPACES.slice(0, 3)), fc.option(labels, { freq: 5 })).map(([name, carried]): Change => (carried === null
  ? { to: ({ namespaces }) => namespaces.delete(name), told: removal("", "Namespace", name) }
  : { to: ({ namespaces }) => namespaces.set(name, carried), told: put(namespaceObject(name, carried)) }));

const kindChange = fc.tuple(fc.constantFrom(...KINDS), fc.constantFrom(...GROUPS), fc.constantFrom("none", "gone", ...VERSIONS)).map(([kind, group, storage]): Change => {
  const key = `${kind}.${group}`;
  const versions = VERSIONS.map((name) => ({ name, served: true, storage: name === storage }));
  return {
    to: (world) => (VERSIONS.some((version) => version === storage) ? world.storage.set(key, storage) : world.storage.delete(key)),
    told: storage === "gone" ? removal("apiextensions.k8s.io", "CustomResourceDefinition", `${kind.toLowerCase()}s.${group}`) : put(kindObject(kind, group, versions)),
  };
});

const change = fc.oneof({ weight: 5, arbitrary: selectorChange }, { weight: 3, arbitrary: namespaceChange }, { weight: 1, arbitrary: kindChange });

const context = fc.record({ runtime: fc.constantFrom("ack" as const, "extended" as const), origin: fc.constantFrom("file" as const, "cluster" as const) });

/** Each change is followed by questions, so that what the inventory keeps between them is there to go stale. */
const history = fc.array(fc.tuple(change, fc.array(resource, { minLength: 1, maxLength: 4 })), { minLength: 1, maxLength: 24, size: "max" });

function query({ namespace, group, version, kind, labels: carried }: ModelResource): ResourceQuery {
  return queryOf({ apiVersion: `${group}/${version}`, kind, metadata: { namespace, name: "r", labels: carried } }, "default");
}

function worldOf({ selectors, namespaces, storage }: MutableWorld, { runtime, origin }: ModelContext): ModelWorld {
  return { runtime, origin, namespaces, storage, selectors: [...selectors].map(([name, written]) => ({ name, spec: written })) };
}

function assertAgrees(resolution: Resolution, selecting: readonly string[]): void {
  const outcome = ["default", "selected"][selecting.length] ?? "conflict";
  seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  assert.deepEqual([resolution.outcome, resolution.selectors.map(({ name }) => name)], [outcome, selecting]);
}

/** How often each outcome was met: a property that never meets a conflict says nothing of conflicts. */
const seen = new Map<string, number>();

/** Applies the changes one by one; after each, everything that the inventory says must be what the model says. */
function follow(settings: ModelContext, steps: readonly (readonly [Change, readonly ModelResource[]])[]): void {
  const inventory = new Inventory(settings);
  const state: MutableWorld = { selectors: new Map(), namespaces: new Map(), storage: new Map() };
  for (const [{ to, told }, resources] of steps) {
    to(state);
    inventory.apply([told]);
    const world = worldOf(state, settings);
    for (const one of resources) {
      assertAgrees(resolve(inventory, query(one), { ...SETTINGS_BY_DEFAULT, runtime: settings.runtime }), modelSelecting(world, one));
    }
    assertSorted(inventory, world);
  }
  const anew = new Inventory(settings);
  anew.apply([...state.selectors].map(([name, written]) => put(selectorObject(name, written))));
  assert.deepEqual([inventory.readsNamespaceLabels, [...inventory.faulty.keys()].toSorted()], [anew.readsNamespaceLabels, [...anew.faulty.keys()].toSorted()]);
}

/** Each selector either takes part or is malformed, as the model says. */
function assertSorted(inventory: Inventory, world: ModelWorld): void {
  const [malformed, takingPart] = [true, false].map((which) => world.selectors.filter((one) => modelMalformed(one, world) === which).map(({ name }) => name).toSorted());
  seen.set("malformed", (seen.get("malformed") ?? 0) + inventory.malformed.size);
  assert.deepEqual([[...inventory.malformed.keys()].toSorted(), [...inventory.selectors.keys()].toSorted()], [malformed, takingPart]);
}

test("after any history of changes, everything resolves as the model says, and as a new inventory does", (t) => {
  fc.assert(fc.property(context, history, follow), parameters(t, 1500));
  t.comment(`met: ${[...seen].map(([what, times]) => `${what} ${times}`).join(", ")}`);
  for (const what of ["selected", "default", "conflict", "malformed"]) t.ok((seen.get(what) ?? 0) > 500, `${what} is common enough to mean something`);
  t.end();
});
