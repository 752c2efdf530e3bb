import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { grantInNamespace } from "../../../shared/core/grant-decision.ts";
import type { Grant } from "../../../shared/core/grant.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import {
  choice, GROUPS, KINDS, NAMESPACES, SELECTOR_NAMES, sessionSettings, spec, VERSIONS,
} from "../arbitraries.ts";
import type { ModelSelector } from "../reference-model.ts";
import { inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

const KNOWN_NAMESPACES = NAMESPACES.slice(0, 3);
const runtime = fc.constantFrom("ack" as const, "extended" as const);

const selectors = fc.uniqueArray(
  fc.record({ name: fc.constantFrom(...SELECTOR_NAMES), stored: spec, annotations: sessionSettings }),
  { minLength: 1, maxLength: SELECTOR_NAMES.length, selector: ({ name }) => name, size: "max" },
);

interface Selectors {
  /** The annotations that every namespace of the inventory has. */
  readonly chosen?: Readonly<Record<string, string>>;
  readonly runtime: "ack" | "extended";
  readonly selectors: readonly {
    readonly name: string;
    readonly stored: ModelSelector["spec"];
    readonly annotations: object;
  }[];
}

function inventoryOf(context: Selectors): Inventory {
  const objects = context.selectors.map(({ name, stored, annotations }) =>
    selectorObject(name, stored, { annotations }),
  );
  const namespaces = KNOWN_NAMESPACES.map((name) => namespaceObject(name, { team: name }, context.chosen));
  return inventoryWith([...namespaces, ...objects], { runtime: context.runtime, origin: "file" });
}

const seen = new Map<string, number>();

function count(outcome: string): void {
  seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
}

function outcomeOf(grant: Grant): string {
  return grant.verdict === "denied" ? grant.code : grant.verdict;
}

/** Contains a label set for every combination of these keys and values, also without some of the keys. */
const LABEL_SETS = ["team", "constructor", "example.com/x", "kubernetes.io/metadata.name"].reduce<
  ReadonlyMap<string, string>[]
>(
  (sets, key) => sets.flatMap((set) => [set, ...["", "a", "b"].map((value) => new Map([...set, [key, value]]))]),
  [new Map()],
);

/** Returns the verdict or error code that a grant must have if a resource has this resolution. */
function expectedOutcome({ outcome, selectors: [selector] }: Resolution, inventory: Inventory): string {
  if (outcome === "default") return "base";
  if (outcome === "conflict") return "ERR_SELECTOR_CONFLICT";
  if (outcome === "refused") return "ERR_SELECTOR_CHOICE";
  return inventory.of(SELECTORS).faulty.has(selector?.name ?? "") ? "ERR_SELECTOR_MALFORMED" : "role";
}

test("grants in a namespace exactly the role that a resource without annotations resolves to", (t) => {
  seen.clear();
  const type = fc.record({
    kind: fc.constantFrom(...KINDS), version: fc.constantFrom(...VERSIONS), group: fc.constantFrom(...GROUPS),
  });
  const namespaces = fc.constantFrom(...KNOWN_NAMESPACES);
  const input = fc.record({ runtime, selectors, type, chosen: choice, namespace: namespaces });
  fc.assert(fc.property(input, ({ type: kind, namespace, ...context }) => {
    const inventory = inventoryOf(context);
    const settings = { ...SETTINGS_BY_DEFAULT, runtime: context.runtime };
    const scope = { groups: [kind.group], kinds: [kind], settings, sessionDefaults: NO_EXTRAS };
    const query = { ...scope, namespace, unmatched: "base" } as const;
    const hypothetical = { ...kind, namespace, name: null, annotations: new Map() };
    const resolutions = LABEL_SETS.map((labels) => {
      const status = { ownerAccountID: null, region: null };
      const resolution = resolve(inventory, { ...hypothetical, labels, status }, settings);
      const grant = grantInNamespace(inventory, { ...query, labels });
      count(outcomeOf(grant));
      if (outcomeOf(grant) !== "ERR_SELECTOR_EXTRAS") {
        assert.equal(outcomeOf(grant), expectedOutcome(resolution, inventory));
      }
      if (grant.verdict === "role") assert.equal(grant.selectors[0], resolution.selectors[0]?.name);
      return resolution;
    });
    const grant = grantInNamespace(inventory, { ...query, labels: null });
    if (grant.verdict !== "role") return;
    count("role without labels");
    assert.ok(resolutions.every(({ selectors: [selector] }) => selector?.name === grant.selectors[0]));
  }), parameters(t, 500));
  const outcomes = [
    "role", "base", "ERR_SELECTOR_CONFLICT", "ERR_SELECTOR_CHOICE", "ERR_SELECTOR_MALFORMED", "role without labels",
  ];
  for (const outcome of outcomes) t.ok((seen.get(outcome) ?? 0) > 50, `${outcome}: ${seen.get(outcome)} times`);
  t.end();
});
