import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { resolve } from "../../../shared/core/resolve.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import * as fc from "fast-check";
import jsonPatch from "fast-json-patch";
import { Inventory } from "../../../shared/core/inventory.ts";
import { queryOf } from "../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { rewriteTypeEntries } from "../../../shared/core/resource-types.ts";
import { labels, NAMESPACES, resource, SELECTOR_NAMES, spec } from "../../shared/arbitraries.ts";
import type { ModelResource, ModelSelector } from "../../shared/reference-model.ts";
import { namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import { parameters } from "../../shared/property.ts";
import { withOracle } from "./with-oracle.ts";

interface Case {
  readonly writes: readonly { readonly object: JsonObject; readonly remove: boolean }[];
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly resources: readonly ModelResource[];
}

interface Selection {
  /** The names of the effective selectors, sorted. */
  readonly cached: readonly string[];
  readonly selecting: readonly (readonly string[])[];
}

/**
 * Returns whether an API server would store the spec. The types must match the schema, and the webhook must be able to
 * rewrite each `apiVersion`.
 */
function isStorable({ arn, namespaceSelector, resourceTypeSelector = [] }: ModelSelector["spec"]): boolean {
  const isPlain = resourceTypeSelector.every((entry) => entry.apiVersion === undefined
    || (/^[^/]+\/[^/]+$/.test(entry.apiVersion) && (entry.group ?? "") === "" && (entry.version ?? "") === ""));
  return typeof arn !== "number" && typeof namespaceSelector?.names !== "string" && isPlain;
}

const write = fc.record({
  object: fc.tuple(fc.constantFrom(...SELECTOR_NAMES), spec.filter(isStorable))
    .map(([name, stored]) => selectorObject(name, stored)),
  remove: fc.boolean().chain((isLikely) => (isLikely ? fc.constantFrom(true, false, false) : fc.constant(false))),
});

const cases: fc.Arbitrary<Case> = fc.record({
  writes: fc.array(write, { maxLength: 8, size: "max" }),
  namespaces: fc.tuple(labels, labels, labels, labels)
    .map((all) => Object.fromEntries(NAMESPACES.map((name, i) => [name, all[i] ?? {}]))),
  resources: fc.array(resource, { minLength: 1, maxLength: 6 }),
});

/**
 * Returns the input of the controllers: the selectors after the webhook has rewritten them, and the namespaces with
 * their name labels.
 */
function queryFor({ writes, namespaces, resources }: Case): object {
  const stored = writes.map(({ object, remove }) => {
    const patch = [...rewriteTypeEntries(object)];
    return { remove, object: jsonPatch.applyPatch(object, patch, false, false).newDocument };
  });
  const labelsOf = (name: string): object => ({ ...namespaces[name], "kubernetes.io/metadata.name": name });
  const withLabels = resources.map((one) => ({ ...one, namespaceLabels: labelsOf(one.namespace) }));
  return { selection: { writes: stored, resources: withLabels } };
}

/** Returns the result of this project's code, to compare with the oracle. */
function selectResources({ writes, namespaces, resources }: Case): Selection {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  inventory.apply(Object.entries(namespaces).map(([name, own]) => put(namespaceObject(name, own))));
  for (const { object, remove } of writes) {
    inventory.apply([remove ? removal("services.k8s.aws", "IAMRoleSelector", nameOf(object)) : put(object)]);
  }
  return {
    cached: [...inventory.of(SELECTORS).keys()].toSorted(),
    selecting: resources.map(({ group, version, kind, namespace, labels: own }) => {
      const metadata = { namespace, labels: own };
      const query = queryOf({ apiVersion: `${group}/${version}`, kind, metadata }, "default");
      return resolve(inventory, query, SETTINGS_BY_DEFAULT).selectors.map(({ name }) => name);
    }),
  };
}

function nameOf({ metadata }: JsonObject): string {
  return String(Object.entries(metadata ?? {}).find(([key]) => key === "name")?.[1]);
}

withOracle("selects like the selector cache of the ACK runtime", async (t, query) => {
  const all = fc.sample(cases, parameters(t, 4000));
  const results = await query<Selection>(all.map(queryFor));
  const differing = all.flatMap((one, i) => {
    const [actual, expected] = [selectResources(one), results[i]];
    return JSON.stringify(actual) === JSON.stringify(expected) ? [] : [{ case: one, actual, expected }];
  });
  t.same(differing.slice(0, 3), [], `${differing.length} of ${all.length} cases differ`);
  const counts = results.flatMap(({ selecting }) => selecting).map((names) => Math.min(names.length, 2));
  for (const [outcome, count] of [["default", 0], ["selected", 1], ["conflict", 2]] as const) {
    const times = counts.filter((one) => one === count).length;
    t.ok(times > 1000, `${outcome} occurred ${times} times`);
  }
});
