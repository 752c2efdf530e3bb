import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { judgeSelector } from "../../../shared/checks/judge-selector.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../shared/resolution/grant-decision.ts";
import type { Grant, RoleQuery } from "../../../shared/resolution/grant.ts";
import { Inventory } from "../../../shared/inventory/inventory.ts";
import type { ResourceQuery } from "../../../shared/contract/ack-resource.ts";
import { type Resolution, resolve } from "../../../shared/resolution/resolve.ts";
import { choice, GROUPS, KINDS, NAMESPACES, SELECTOR_NAMES, spec, VERSIONS } from "../arbitraries.ts";
import type { ModelSelector } from "../reference-model.ts";
import { namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

const KNOWN_NAMESPACES = NAMESPACES.slice(0, 3);
const ROLES = [
  "arn:aws:iam::111122223333:role/one",
  "arn:aws-cn:iam::444455556666:role/a/b/two",
  "arn:aws:iam::111122223333:role/x",
] as const;
const groups = fc.subarray([...GROUPS], { minLength: 1 });
const runtime = fc.constantFrom("ack" as const, "extended" as const);

const extras = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { "ack-role-resolver.io/external-id": "one" },
      { "ack-role-resolver.io/external-id": "not one" },
      { "ack-role-resolver.io/session-tags": "for={group}" },
    ),
  },
);
const selectors = fc.uniqueArray(
  fc.record({ name: fc.constantFrom(...SELECTOR_NAMES), stored: spec, annotations: extras }),
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
  const inventory = new Inventory({ runtime: context.runtime, origin: "file" }, judgeSelector);
  const objects = context.selectors.map(({ name, stored, annotations }) =>
    selectorObject(name, stored, { annotations }),
  );
  const namespaces = KNOWN_NAMESPACES.map((name) => namespaceObject(name, { team: name }, context.chosen));
  inventory.apply([...namespaces, ...objects].map(put));
  return inventory;
}

/** Returns whether a type entry of the selector covers the group. */
function coversGroup({ resourceTypeSelector = [] }: ModelSelector["spec"], group: string): boolean {
  return resourceTypeSelector.length === 0 || resourceTypeSelector.some((entry) => {
    const entryGroup = entry.apiVersion === undefined ? entry.group : entry.apiVersion.split("/")[0];
    return (entryGroup ?? "") === "" || entryGroup === group;
  });
}

const seen = new Map<string, number>();

function count(outcome: string): void {
  seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
}

function outcomeOf(grant: Grant): string {
  return grant.verdict === "denied" ? grant.code : grant.verdict;
}

test("grants a role by ARN exactly if it grants the role by the name of some selector", (t) => {
  seen.clear();
  const input = fc.record({ runtime, selectors, groups, scope: fc.option(fc.constantFrom(...KNOWN_NAMESPACES)) });
  fc.assert(fc.property(input, ({ groups: served, scope, ...context }) => {
    const inventory = inventoryOf(context);
    const query: RoleQuery = {
      groups: served,
      kinds: [],
      scope,
      settings: { ...SETTINGS_BY_DEFAULT, runtime: context.runtime },
    };
    for (const roleARN of ROLES) {
      const grant = grantRole(inventory, roleARN, query);
      count(outcomeOf(grant));
      const byName = context.selectors.map(({ name }) => ({ name, grant: grantSelector(inventory, name, query) }));
      const granting = byName.filter((one) => one.grant.verdict === "role" && one.grant.roleARN === roleARN);
      assert.equal(grant.verdict, granting.length > 0 ? "role" : "denied");
      if (grant.verdict !== "role") continue;
      const first = granting.map(({ name }) => name).toSorted()[0];
      assert.deepEqual(grant, granting.find(({ name }) => name === first)?.grant);
      const { stored } = context.selectors.find(({ name }) => name === first) ?? assert.fail();
      assert.equal(stored.arn, roleARN);
      assert.ok(served.some((group) => coversGroup(stored, group)));
    }
  }), parameters(t, 3_000));
  const outcomes = ["role", "ERR_SELECTOR_NOT_GRANTED", "ERR_SELECTOR_MALFORMED", "ERR_SELECTOR_EXTRAS"];
  for (const outcome of outcomes) t.ok((seen.get(outcome) ?? 0) > 50, `${outcome}: ${seen.get(outcome)} times`);
  t.end();
});

/** Contains a label set for every combination of these keys and values, also without some of the keys. */
const LABEL_SETS = ["team", "constructor", "example.com/x", "kubernetes.io/metadata.name"].reduce<
  ReadonlyMap<string, string>[]
>(
  (sets, key) => sets.flatMap((set) => [set, ...["", "a", "b"].map((value) => new Map([...set, [key, value]]))]),
  [new Map()],
);

function* resourcesIn(
  namespace: string, served: readonly string[], annotations: ResourceQuery["annotations"],
): Iterable<ResourceQuery> {
  const hypothetical = { name: null, annotations, status: { ownerAccountID: null, region: null } };
  for (const group of served) {
    for (const kind of [...KINDS, "Other"]) {
      for (const version of [...VERSIONS, "v2"])
        yield * LABEL_SETS.map((labels) => ({ group, kind, version, namespace, labels, ...hypothetical }));
    }
  }
}

test("grants a role in a scope only if some resource in the scope can resolve to the role", (t) => {
  seen.clear();
  const input = fc.record({ runtime, selectors, groups, chosen: choice, scope: fc.constantFrom(...KNOWN_NAMESPACES) });
  fc.assert(fc.property(input, ({ groups: served, scope, ...context }) => {
    const inventory = inventoryOf(context);
    const settings = { ...SETTINGS_BY_DEFAULT, runtime: context.runtime };
    for (const roleARN of ROLES) {
      const grant = grantRole(inventory, roleARN, { groups: served, kinds: [], scope, settings });
      count(grant.verdict);
      if (grant.verdict !== "role") continue;
      // The resource names the selector, which has an effect only with --runtime extended.
      const annotations = new Map([["ack-role-resolver.io/use-selector", grant.selectors[0] ?? ""]]);
      const found = Array.from(resourcesIn(scope, served, annotations)).some((resource) => {
        const { outcome, selectors: [selector] } = resolve(inventory, resource, settings);
        return outcome === "selected" && selector?.name === grant.selectors[0];
      });
      assert.ok(found, `${roleARN} in ${scope}`);
    }
  }), parameters(t, 1_000));
  t.ok((seen.get("role") ?? 0) > 50, `granted ${seen.get("role")} times`);
  t.end();
});

/** Returns the verdict or error code that a grant must have if a resource has this resolution. */
function expectedOutcome({ outcome, selectors: [selector] }: Resolution, inventory: Inventory): string {
  if (outcome === "default") return "base";
  if (outcome === "conflict") return "ERR_SELECTOR_CONFLICT";
  if (outcome === "refused") return "ERR_SELECTOR_CHOICE";
  return inventory.selectors.faulty.has(selector?.name ?? "") ? "ERR_SELECTOR_MALFORMED" : "role";
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
    const query = { namespace, groups: [kind.group], kinds: [kind], unmatched: "base", settings } as const;
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
