import { test } from "tap";
import { rewriteTypeEntries } from "../../../shared/core/resource-types.ts";
import { ROLE, selectorObject } from "../objects.ts";

const rewritten = (resourceTypeSelector: unknown): unknown =>
  rewriteTypeEntries(selectorObject("a", { arn: ROLE, resourceTypeSelector }));
const G_V1 = { group: "g.services.k8s.aws", version: "v1", kind: "" };

test("rewrites each type entry in place to group, version and kind", (t) => {
  t.same(
    rewritten([
      { apiVersion: "g.services.k8s.aws/v1", kind: "K" },
      { kind: "K" },
      { apiVersion: "g.services.k8s.aws/v1" },
    ]),
    [
      { op: "replace", path: "/spec/resourceTypeSelector/0", value: { ...G_V1, kind: "K" } },
      { op: "replace", path: "/spec/resourceTypeSelector/1", value: { group: "", version: "", kind: "K" } },
      { op: "replace", path: "/spec/resourceTypeSelector/2", value: G_V1 },
    ],
  );
  t.end();
});

test("treats null and empty fields as absent, and preserves unknown fields", (t) => {
  t.same(rewritten([{ apiVersion: "g.services.k8s.aws/v1", group: null, version: "", kind: null, extra: 1 }]), [
    { op: "replace", path: "/spec/resourceTypeSelector/0", value: { ...G_V1, extra: 1 } },
  ]);
  const empty = [{ op: "replace", path: "/spec/resourceTypeSelector/0", value: { group: "", version: "", kind: "" } }];
  for (const entry of [{}, { apiVersion: null }, { group: null }]) t.same(rewritten([entry]), empty);
  t.end();
});

test("does not change a type entry that has a fault", (t) => {
  for (const entry of [
    { apiVersion: "g", kind: "K" },
    { apiVersion: "/v1" },
    { apiVersion: "g/" },
    { apiVersion: "g/v1/x" },
    { apiVersion: "" },
    { apiVersion: 5 },
    { apiVersion: "g/v1", group: "g" },
    { apiVersion: "g/v1", version: "v1" },
    { apiVersion: "g/v1", kind: 5 },
    { apiVersion: "g/v1", group: 5 },
    { apiVersion: "g/v1", version: [] },
    { group: 5 },
    null,
    "g/v1",
    ["g/v1"],
  ])
    t.same(rewritten([entry]), [], JSON.stringify(entry));
  for (const entries of [undefined, null, {}, "x"]) t.same(rewritten(entries), []);
  t.same(rewriteTypeEntries({}), []);
  t.end();
});

test("does not change a type entry that is already rewritten", (t) => {
  t.same(rewritten([G_V1, { ...G_V1, kind: "K" }]), []);
  t.end();
});
