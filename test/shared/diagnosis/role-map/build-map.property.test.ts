import { resolve } from "../../../../shared/core/resolve.ts";
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { queryOf } from "../../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { objectReference } from "../../../../shared/formats/object-meta.ts";
import type { RoleMap } from "../../../../shared/diagnosis/role-map/role-map.ts";
import { choice, labels, NAMESPACES, resource, SELECTOR_NAMES, spec } from "../../arbitraries.ts";
import { inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { parameters } from "../../property.ts";
import { mapped } from "./mapped.ts";

const selector = fc.tuple(fc.constantFrom(...SELECTOR_NAMES), spec)
  .map(([name, written]) => selectorObject(name, written));
const stored = fc.tuple(fc.constantFrom(...NAMESPACES.slice(0, 3)), labels, choice)
  .map(([name, own, annotations]) => namespaceObject(name, own, annotations));
const bucket = fc.tuple(resource, fc.constantFrom("one", "two", ""), choice).map(([one, name, annotations]) => ({
  apiVersion: `${one.group}/${one.version}`, kind: one.kind,
  metadata: { name, namespace: one.namespace, labels: one.labels, annotations },
}));
const runtime = fc.constantFrom("ack" as const, "extended" as const);
/** Returns each resource once: of two with the same name, the inventory keeps the last one. */
const named = (objects: readonly JsonObject[]): JsonObject[] => [...new Map(objects.map((object) => {
  const { group, kind, namespace, name } = objectReference(object);
  return [name === "" ? JSON.stringify(object) : [group, kind, namespace, name].join("/"), object];
})).values()];
const parts = fc.tuple(
  fc.uniqueArray(selector, { maxLength: 5, selector: (one) => JSON.stringify(one["metadata"]) }),
  fc.uniqueArray(stored, { maxLength: 3, selector: (one) => JSON.stringify(Object.values(one["metadata"] ?? {})[0]) }),
  fc.array(bucket, { maxLength: 8 }),
).map(([selectors, namespaces, resources]) => ({ others: [...selectors, ...namespaces], resources: named(resources) }));
const world = parts.map(({ others, resources }) => [...others, ...resources]);

test("a map has the same bytes for the same objects in any order", (t) => {
  const shuffled = world.chain((objects) => fc.record({
    objects: fc.constant(objects), again: fc.shuffledSubarray(objects, { minLength: objects.length }),
    before: fc.shuffledSubarray(objects), runtime,
  }));
  fc.assert(fc.property(shuffled, ({ objects, again, before, runtime: of }) => {
    const first = mapped(objects, { runtime: of, before });
    const second = mapped(again, { runtime: of, before: before.toReversed() });
    assert.equal(JSON.stringify(second), JSON.stringify(first));
  }), parameters(t, 300));
  t.end();
});

test("a map counts each resource once, with the outcome and the role that resolve returns", (t) => {
  fc.assert(fc.property(world, runtime, (objects, of) => {
    const map = mapped(objects, { runtime: of });
    const inventory = inventoryWith(objects, { runtime: of, origin: "file" });
    const resources = objects.filter(({ kind }) => kind === "Bucket" || kind === "Queue");
    const expected = resources.map((object) => {
      const query = queryOf(object, "default");
      const { outcome, roleARN } = resolve(inventory, query, { ...SETTINGS_BY_DEFAULT, runtime: of });
      return `${query.namespace} ${query.kind}.${query.group} ${query.name ?? "(no name)"} ${outcome} ${roleARN}`;
    });
    assert.deepEqual(resourcesOf(map).toSorted(), expected.toSorted());
    assert.equal(map.totals.resources, resources.length);
  }), parameters(t, 200));
  t.end();
});

/** Returns a text for each resource of the map. Throws if the map refers to a record that it lacks. */
function resourcesOf({ uses, namespaces, kinds, reasons, roles, selectors, findings }: RoleMap): string[] {
  return uses.flatMap(([namespace, kind, index, count, names]) => {
    const reason = reasons[index];
    assert(reason !== undefined && count === names.length);
    for (const one of reason.selectors) assert(selectors[one] !== undefined);
    for (const one of reason.findings) assert(findings[one] !== undefined);
    const arn = reason.role === null ? null : roles[reason.role]?.arn;
    return names.map((name) => `${namespaces[namespace]?.name} ${kinds[kind]} ${name} ${reason.outcome} ${arn}`);
  });
}
