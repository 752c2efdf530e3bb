import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { Inventory, type InventoryChange } from "../../../shared/core/inventory.ts";
import { queryOf, type ResourceQuery } from "../../../shared/core/ack-resource.ts";
import { choice, GROUPS, KINDS, labels, NAMESPACES, resource, SELECTOR_NAMES, spec, VERSIONS } from "../arbitraries.ts";
import {
  type ModelChoices, type ModelContext, modelMalformed, modelOutcome, type ModelResource, type ModelSelector,
  type ModelWorld,
} from "../reference-model.ts";
import { kindObject, namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

interface Change {
  /** Applies the change to the model. */
  readonly applyTo: (world: MutableWorld) => void;
  /** Applies the same change to the inventory. */
  readonly change: InventoryChange;
}

interface MutableWorld {
  readonly selectors: Map<string, ModelSelector["spec"]>;
  readonly namespaces: Map<string, Readonly<Record<string, string>>>;
  /** Maps each namespace to its annotations. */
  readonly annotations: Map<string, Readonly<Record<string, string>>>;
  readonly storage: Map<string, string>;
}

const selectorChange = fc
  .tuple(fc.constantFrom(...SELECTOR_NAMES), fc.option(spec, { freq: 5 }))
  .map(([name, stored]): Change =>
    stored === null
      ? {
          applyTo: ({ selectors }) => selectors.delete(name),
          change: removal("services.k8s.aws", "IAMRoleSelector", name),
        }
      : { applyTo: ({ selectors }) => selectors.set(name, stored), change: put(selectorObject(name, stored)) },
  );

const namespaceChange = fc
  .tuple(fc.constantFrom(...NAMESPACES.slice(0, 3)), fc.option(labels, { freq: 5 }), choice)
  .map(([name, own, chosen]): Change => ({
    applyTo: ({ namespaces, annotations }) => {
      if (own === null) namespaces.delete(name);
      else namespaces.set(name, own);
      annotations.set(name, own === null ? {} : chosen);
    },
    change: own === null ? removal("", "Namespace", name) : put(namespaceObject(name, own, chosen)),
  }));

const kindChange = fc
  .tuple(fc.constantFrom(...KINDS), fc.constantFrom(...GROUPS), fc.constantFrom("none", "gone", ...VERSIONS))
  .map(([kind, group, storage]): Change => {
    const key = `${kind}.${group}`;
    const versions = VERSIONS.map((name) => ({ name, served: true, storage: name === storage }));
    return {
      applyTo: (world) =>
        VERSIONS.some((version) => version === storage) ? world.storage.set(key, storage) : world.storage.delete(key),
      change:
        storage === "gone"
          ? removal("apiextensions.k8s.io", "CustomResourceDefinition", `${kind.toLowerCase()}s.${group}`)
          : put(kindObject(kind, group, versions)),
    };
  });

const change = fc.oneof(
  { weight: 5, arbitrary: selectorChange },
  { weight: 3, arbitrary: namespaceChange },
  { weight: 1, arbitrary: kindChange },
);

const context = fc.record({
  runtime: fc.constantFrom("ack" as const, "extended" as const),
  origin: fc.constantFrom("file" as const, "cluster" as const),
});

const lookup = fc.tuple(resource, choice);
/** Generates resources to resolve after each change, so that the test finds a stale cache of the inventory. */
const history = fc.array(fc.tuple(change, fc.array(lookup, { minLength: 1, maxLength: 4 })), {
  minLength: 1,
  maxLength: 24,
  size: "max",
});

type Lookup = readonly [ModelResource, Readonly<Record<string, string>>];

function query([{ namespace, group, version, kind, labels: own }, annotations]: Lookup): ResourceQuery {
  const metadata = { namespace, name: "r", labels: own, annotations };
  return queryOf({ apiVersion: `${group}/${version}`, kind, metadata }, "default");
}

function worldOf({ selectors, namespaces, storage }: MutableWorld, { runtime, origin }: ModelContext): ModelWorld {
  return {
    runtime,
    origin,
    namespaces,
    storage,
    selectors: [...selectors].map(([name, stored]) => ({ name, spec: stored })),
  };
}

function assertAgrees({ outcome, selectors }: Resolution, expected: string): void {
  seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  assert.equal(`${outcome} ${selectors.map(({ name }) => name).join()}`, expected);
}

/** Counts the generated cases by outcome. If no case had a conflict, the test would prove nothing about conflicts. */
const seen = new Map<string, number>();

function choicesOf([{ namespace }, own]: Lookup, { annotations }: MutableWorld): ModelChoices {
  const key = "ack-role-resolver.io/use-selector";
  return { ofResource: own[key], ofNamespace: annotations.get(namespace)?.[key] };
}

/** Applies the changes one by one. After each change, the inventory must agree with the model. */
function follow(settings: ModelContext, steps: readonly (readonly [Change, readonly Lookup[]])[]): void {
  const inventory = new Inventory(settings, INVENTORY_KINDS);
  const state: MutableWorld = {
    selectors: new Map(), namespaces: new Map(), annotations: new Map(), storage: new Map(),
  };
  for (const [{ applyTo, change: step }, resources] of steps) {
    applyTo(state);
    inventory.apply([step]);
    const world = worldOf(state, settings);
    for (const one of resources) {
      assertAgrees(
        resolve(inventory, query(one), { ...SETTINGS_BY_DEFAULT, runtime: settings.runtime }),
        modelOutcome(world, one[0], choicesOf(one, state)),
      );
    }
    assertSorted(inventory, world);
  }
  const rebuilt = new Inventory(settings, INVENTORY_KINDS);
  rebuilt.apply([...state.selectors].map(([name, stored]) => put(selectorObject(name, stored))));
  assert.deepEqual(
    [inventory.of(SELECTORS).readsNamespaceLabels, [...inventory.of(SELECTORS).faulty.keys()].toSorted()],
    [rebuilt.of(SELECTORS).readsNamespaceLabels, [...rebuilt.of(SELECTORS).faulty.keys()].toSorted()],
  );
}

/** Asserts that the same selectors are effective and malformed as in the model. */
function assertSorted(inventory: Inventory, world: ModelWorld): void {
  const [malformed, effective] = [true, false].map((which) =>
    world.selectors
      .filter((one) => modelMalformed(one, world) === which)
      .map(({ name }) => name)
      .toSorted(),
  );
  seen.set("malformed", (seen.get("malformed") ?? 0) + inventory.of(SELECTORS).malformed.size);
  assert.deepEqual(
    [[...inventory.of(SELECTORS).malformed.keys()].toSorted(), [...inventory.of(SELECTORS).keys()].toSorted()],
    [malformed, effective],
  );
}

test("after any changes, an inventory resolves roles like the model and like a new inventory", (t) => {
  fc.assert(fc.property(context, history, follow), parameters(t, 1500));
  t.comment(`cases: ${[...seen].map(([what, times]) => `${what} ${times}`).join(", ")}`);
  for (const what of ["selected", "default", "conflict", "refused", "malformed"])
    t.ok((seen.get(what) ?? 0) > 500, `${what} is frequent`);
  t.end();
});
