import { test } from "tap";
import { missingFields, unknownFields } from "../../../shared/core/shape.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ACK_FIELDS } from "../../../shared/core/iamroleselector.ts";
import { completionPatch } from "../../../shared/ack/selector.ts";
import { ROLE, selectorObject } from "../objects.ts";

const patchOf = (spec: JsonObject): unknown => completionPatch(selectorObject("a", { arn: ROLE, ...spec }));
const add = (path: string, value: unknown): object => ({ op: "add", path: `/spec/${path}`, value });

test("adds the empty fields that ACK's CRD requires", (t) => {
  t.same(patchOf({ namespaceSelector: { labelSelector: {} }, resourceLabelSelector: { matchLabels: null } }), [
    add("namespaceSelector/names", []),
    add("namespaceSelector/labelSelector/matchLabels", {}),
    add("resourceLabelSelector/matchLabels", {}),
  ]);
  t.same(patchOf({ namespaceSelector: { names: null }, resourceTypeSelector: [{ kind: "Bucket" }] }), [
    add("namespaceSelector/names", []),
    { op: "replace", path: "/spec/resourceTypeSelector/0", value: { group: "", version: "", kind: "Bucket" } },
  ]);
  t.end();
});

test("does not change a complete selector or a field of a wrong type", (t) => {
  t.same(patchOf({}), []);
  t.same(patchOf({ namespaceSelector: { names: [] }, resourceLabelSelector: { matchLabels: {} } }), []);
  t.same(patchOf({ namespaceSelector: ["team-a"], resourceLabelSelector: "tier", resourceTypeSelector: {} }), []);
  t.same(patchOf({ namespaceSelector: { names: "team-a" } }), []);
  t.same(completionPatch({}), []);
  t.end();
});

test("finds the fields that a schema requires or does not define", (t) => {
  const object = selectorObject("a", {
    namespaceSelector: { labelSelector: { matchExpressions: [] } },
    resourceTypeSelector: [{ apiVersion: "g/v1", kind: "K" }, "x", { group: "", version: null, kind: "" }],
    resourceLabelSelector: { matchLabels: { matchExpressions: "a label" } },
    extra: { deep: 1 },
  });
  t.same([...missingFields(ACK_FIELDS, object)], [
    ["spec", "arn"],
    ["spec", "namespaceSelector", "names"],
    ["spec", "namespaceSelector", "labelSelector", "matchLabels"],
    ["spec", "resourceTypeSelector", 0, "group"],
    ["spec", "resourceTypeSelector", 0, "version"],
    ["spec", "resourceTypeSelector", 2, "version"],
  ]);
  t.same([...unknownFields(ACK_FIELDS, object)].map(({ path }) => path), [
    ["spec", "namespaceSelector", "labelSelector", "matchExpressions"],
    ["spec", "resourceTypeSelector", 0, "apiVersion"],
    ["spec", "extra"],
  ]);
  t.end();
});
