import * as fc from "fast-check";
import jsonPatch from "fast-json-patch";
import { Inventory } from "../../../shared/decisions/inventory/inventory.ts";
import { queryOf } from "../../../shared/decisions/kubernetes/ack-resource.ts";
import type { JsonObject } from "../../../shared/decisions/kubernetes/json.ts";
import { resolve } from "../../../shared/decisions/resolution/resolve.ts";
import { rewriteTypeEntries } from "../../../shared/decisions/selectors/type-entry.ts";
import { labels, NAMESPACES, resource, SELECTOR_NAMES, spec } from "../../shared/decisions/arbitraries.ts";
import type { ModelResource, ModelSelector } from "../../shared/decisions/model.ts";
import { namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../../shared/decisions/objects.ts";
import { parameters } from "../../shared/decisions/property.ts";
import { withOracle } from "./ask.ts";

interface Case {
  readonly writes: readonly { readonly object: JsonObject; readonly remove: boolean }[];
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly resources: readonly ModelResource[];
}

interface Selection {
  readonly cached: readonly string[];
  readonly selecting: readonly (readonly string[])[];
}

/** What an API server stores: types as the schema has them, and `apiVersion` of the form that admission rewrites. */
function isStorable({ arn, namespaceSelector, resourceTypeSelector = [] }: ModelSelector["spec"]): boolean {
  const isPlain = resourceTypeSelector.every((entry) => entry.apiVersion === undefined
    || (/^[^/]+\/[^/]+$/.test(entry.apiVersion) && (entry.group ?? "") === "" && (entry.version ?? "") === ""));
  return typeof arn !== "number" && typeof namespaceSelector?.names !== "string" && isPlain;
}

const write = fc.record({
  object: fc.tuple(fc.constantFrom(...SELECTOR_NAMES), spec.filter(isStorable)).map(([name, written]) => selectorObject(name, written)),
  remove: fc.boolean().chain((likely) => (likely ? fc.constantFrom(true, false, false) : fc.constant(false))),
});

const cases: fc.Arbitrary<Case> = fc.record({
  writes: fc.array(write, { maxLength: 8, size: "max" }),
  namespaces: fc.tuple(labels, labels, labels, labels).map((all) => Object.fromEntries(NAMESPACES.map((name, i) => [name, all[i] ?? {}]))),
  resources: fc.array(resource, { minLength: 1, maxLength: 6 }),
});

/** As the controllers get it: what admission lets be stored, and what a namespace carries in a cluster. */
function question({ writes, namespaces, resources }: Case): object {
  const stored = writes.map(({ object, remove }) => ({ remove, object: jsonPatch.applyPatch(object, [...rewriteTypeEntries(object)], false, false).newDocument }));
  const carried = (name: string): object => ({ ...namespaces[name], "kubernetes.io/metadata.name": name });
  return { selection: { writes: stored, resources: resources.map((one) => ({ ...one, namespaceLabels: carried(one.namespace) })) } };
}

function ours({ writes, namespaces, resources }: Case): Selection {
  const inventory = new Inventory({ runtime: "ack", origin: "file" });
  inventory.apply(Object.entries(namespaces).map(([name, carried]) => put(namespaceObject(name, carried))));
  for (const { object, remove } of writes) inventory.apply([remove ? removal("services.k8s.aws", "IAMRoleSelector", nameOf(object)) : put(object)]);
  return {
    cached: [...inventory.selectors.keys()].toSorted(),
    selecting: resources.map(({ group, version, kind, namespace, labels: carried }) => {
      const query = queryOf({ apiVersion: `${group}/${version}`, kind, metadata: { namespace, labels: carried } }, "default");
      return resolve(inventory, query, SETTINGS_BY_DEFAULT).selectors.map(({ name }) => name);
    }),
  };
}

function nameOf({ metadata }: JsonObject): string {
  return String(Object.entries(metadata ?? {}).find(([key]) => key === "name")?.[1]);
}

withOracle("selectors take part, and select, exactly as in the cache that ACK controllers ship", async (t, ask) => {
  const all = fc.sample(cases, parameters(t, 4000));
  const answers = await ask<Selection>(all.map(question));
  const differing = all.flatMap((one, i) => (JSON.stringify(ours(one)) === JSON.stringify(answers[i]) ? [] : [{ case: one, ours: ours(one), shipped: answers[i] }]));
  t.same(differing.slice(0, 3), [], `${differing.length} of ${all.length} cases differ`);
  const counts = answers.flatMap(({ selecting }) => selecting).map((names) => Math.min(names.length, 2));
  for (const [outcome, count] of [["default", 0], ["selected", 1], ["conflict", 2]] as const) {
    const times = counts.filter((one) => one === count).length;
    t.ok(times > 1000, `${outcome} was met ${times} times`);
  }
});
