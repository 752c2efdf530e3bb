import { test } from "tap";
import type { DecisionSettings } from "../../../../../shared/decisions/context.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { namespaceObject, ROLE } from "../../objects.ts";
import { changeLines } from "../selector-changes.ts";

const found = (known: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): string[] => changeLines("IRS-26", { arn: ROLE }, { known, settings });
const mapObject = (name: string, data: JsonObject, namespace = "ack-system"): JsonObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data });
const owner = (name: string, annotation = "owner-account-id", value = "111122223333"): JsonObject => namespaceObject(name, {}, { [`services.k8s.aws/${annotation}`]: value });
const inUse = (uses: string): string[] => [
  `IRS-26 spec: CARM is still in use (${uses}), and controllers that run with it ignore selectors. `
    + "Run every controller with the feature gate IAMRoleSelector and --enable-carm=false, then remove the maps and the annotations.",
];

test("IRS-26: in mode carm a selector has no effect", (t) => {
  t.same(found([], { mode: "carm" }), [
    "IRS-26 spec: the controllers resolve roles by CARM (--mode carm), so the selector will have no effect. "
      + "Give the namespace its role by the CARM maps, or switch the controllers and --mode to selectors.",
  ]);
  t.same(found([]), []);
  t.end();
});

test("IRS-26: in mode selectors the maps and annotations that are left are told", (t) => {
  t.same(found([mapObject("ack-role-account-map", { "111122223333": ROLE })]), inUse("ConfigMap ack-system/ack-role-account-map has 1 key"));
  t.same(found([owner("d"), owner("c"), owner("b", "team-id", "x"), owner("a")]), inUse("4 namespaces annotated: a, b, c and 1 more"));
  t.same(
    found([mapObject("ack-role-account-map", { a: ROLE, b: ROLE }), mapObject("ack-role-team-map", { a: ROLE }), owner("a")]),
    inUse("ConfigMap ack-system/ack-role-account-map has 2 keys; ConfigMap ack-system/ack-role-team-map has 1 key; 1 namespace annotated: a"),
  );
  t.end();
});

test("IRS-26: what CARM does not read is not told", (t) => {
  t.same(found([mapObject("ack-role-account-map", {}), mapObject("other", { a: ROLE }), mapObject("ack-role-team-map", { a: ROLE }, "elsewhere")]), []);
  t.same(found([owner("a", "owner-account-id", ""), owner("kube-system"), owner("b", "default-region"), owner("c", "owner-team-id")]), []);
  t.same(found([owner("c", "owner-team-id")], { runtime: "extended" }), inUse("1 namespace annotated: c"));
  t.same(found([owner("a"), namespaceObject("a")]), [], "an annotation that is gone");
  t.end();
});
