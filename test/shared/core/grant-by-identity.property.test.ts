import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { grantIdentity, grantToAnyNamespace } from "../../../shared/capa/grant-by-identity.ts";
import { readReferrer } from "../../../shared/capa/referrer.ts";
import { resolveReferrer } from "../../../shared/capa/resolve-identity.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { labels, NAMESPACES } from "../arbitraries.ts";
import { clusterObject, controllerIdentity, refTo, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

const namespaceNames = fc.subarray([...NAMESPACES]);
const allowed: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom({}, null, undefined, { selector: {} }, { list: null }, { list: [] }, "all"),
  fc.record({ list: namespaceNames }),
  fc.record({ selector: fc.record({ matchLabels: labels }) }),
  fc.record({
    list: namespaceNames,
    selector: fc.record({
      matchExpressions: fc.array(fc.constantFrom(
        { key: "team", operator: "Exists" }, { key: "team", operator: "NotIn", values: ["a"] },
        { key: "kubernetes.io/metadata.name", operator: "In", values: ["b", "unknown"] },
        { key: "team", operator: "x" },
      ), { maxLength: 2 }),
    }),
  }),
);

const ROLES = ["r1", "r2", "r3", "r4"] as const;
const worlds = fc.record({
  runtime: fc.constantFrom("ack" as const, "extended" as const),
  // The last namespace of the alphabet never exists.
  namespaces: fc.uniqueArray(
    fc.record({ name: fc.constantFrom(...NAMESPACES.slice(0, 3)), labels }),
    { maxLength: 3, selector: ({ name }) => name },
  ),
  controller: fc.option(allowed, { freq: 8 }),
  keys: fc.option(allowed, { freq: 8 }),
  roles: fc.tuple(...ROLES.map(() => fc.record({
    source: fc.constantFrom(
      "role/r1", "role/r2", "role/r3", "role/missing", "static/k", "static/k", "controller", null,
    ),
    allowed,
  }))),
});

test("grants an identity exactly if an object in the existing namespace can use it", (t) => {
  const counts = { granted: 0, denied: 0 };
  fc.assert(fc.property(worlds, ({ runtime, namespaces, controller, keys, roles }) => {
    const objects: JsonObject[] = [
      ...namespaces.map((one) => namespaceObject(one.name, one.labels)),
      ...(controller === null ? [] : [controllerIdentity(controller)]),
      ...(keys === null ? [] : [staticIdentity("k", keys)]),
      ...roles.map((role, i) => roleIdentity(ROLES[i] ?? "", role.source, role.allowed)),
    ];
    const inventory = inventoryWith(objects, { runtime });
    const query = { scope: null, settings: { ...SETTINGS_BY_DEFAULT, runtime }, allowedAudiences: [] };
    for (const text of [...ROLES.map((name) => `role/${name}`), "static/k", "controller"]) {
      const { kind, name } = refTo(text);
      const usable = NAMESPACES.filter((namespace) => {
        const referrer = readReferrer(clusterObject("c", text, namespace)) ?? assert.fail();
        const { outcome } = resolveReferrer(inventory, referrer, { region: null });
        const isUsable = inventory.namespaces.has(namespace) && outcome !== "refused";
        const { verdict } = grantIdentity(inventory, { kind, name, namespace }, query);
        assert.equal(verdict !== "denied", isUsable, `${text} in ${namespace}`);
        counts[isUsable ? "granted" : "denied"] += 1;
        return isUsable;
      });
      if (!text.startsWith("role/")) continue;
      const anywhere = grantToAnyNamespace(inventory, { kind: "AWSClusterRoleIdentity", name }, query);
      assert.equal(anywhere !== null, usable.length > 0, text);
    }
  }), parameters(t, 1_000));
  t.comment(`${counts.granted} granted, ${counts.denied} denied`);
  t.ok(counts.granted > 1_000 && counts.denied > 1_000);
  t.end();
});
