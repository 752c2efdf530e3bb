import { test } from "tap";
import type { DecisionSettings } from "../../../../../shared/contract/context.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { namespaceObject, ROLE } from "../../objects.ts";
import { changeLines } from "../selector-changes.ts";

const linesOf = (known: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): string[] =>
  changeLines("IRS-26", { arn: ROLE }, { known, settings });
const mapObject = (name: string, data: JsonObject, namespace = "ack-system"): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace },
  data,
});
const owner = (name: string, annotation = "owner-account-id", value = "111122223333"): JsonObject =>
  namespaceObject(name, {}, { [`services.k8s.aws/${annotation}`]: value });
const inUse = (uses: string): string[] => [
  `IRS-26 spec: CARM is still in use (${uses}), and controllers that run with CARM ignore selectors. `
    + "Run controllers with gate IAMRoleSelector and --enable-carm=false, then remove CARM maps and annotations.",
];

test("IRS-26: warns about every selector in mode carm", (t) => {
  t.same(linesOf([], { mode: "carm" }), [
    "IRS-26 spec: the controllers resolve roles with CARM (--mode carm), so the selector has no effect. "
      + "Assign the role in the CARM maps, or switch the controllers and --mode to selectors.",
  ]);
  t.same(linesOf([]), []);
  t.end();
});

test("IRS-26: reports remaining CARM maps and annotations in mode selectors", (t) => {
  t.same(
    linesOf([mapObject("ack-role-account-map", { "111122223333": ROLE })]),
    inUse("ConfigMap ack-system/ack-role-account-map has 1 key"),
  );
  t.same(
    linesOf([owner("d"), owner("c"), owner("b", "team-id", "x"), owner("a")]),
    inUse("4 annotated namespaces: a, b, c and 1 more"),
  );
  t.same(
    linesOf([
      mapObject("ack-role-account-map", { a: ROLE, b: ROLE }),
      mapObject("ack-role-team-map", { a: ROLE }),
      owner("a"),
    ]),
    inUse(
      "ConfigMap ack-system/ack-role-account-map has 2 keys; ConfigMap ack-system/ack-role-team-map has 1 key; 1 "
        + "annotated namespace: a",
    ),
  );
  t.end();
});

test("IRS-26: ignores maps and annotations that CARM does not read", (t) => {
  t.same(
    linesOf([
      mapObject("ack-role-account-map", {}),
      mapObject("other", { a: ROLE }),
      mapObject("ack-role-team-map", { a: ROLE }, "elsewhere"),
    ]),
    [],
  );
  t.same(
    linesOf([
      owner("a", "owner-account-id", ""),
      owner("kube-system"),
      owner("b", "default-region"),
      owner("c", "owner-team-id"),
    ]),
    [],
  );
  t.same(linesOf([owner("c", "owner-team-id")], { runtime: "extended" }), inUse("1 annotated namespace: c"));
  t.same(linesOf([owner("a"), namespaceObject("a")]), [], "a removed annotation");
  t.end();
});
