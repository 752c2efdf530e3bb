import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { describeRepairs } from "../../../shared/core/repair.ts";
import { mapObject, namespaceObject, ROLE, selectorObject } from "../objects.ts";
import { changeLines, findingsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

type Input = readonly [known: readonly JsonObject[], settings?: Partial<DecisionSettings>];
const owner = (name: string, annotation = "owner-account-id", value = "111122223333"): JsonObject =>
  namespaceObject(name, {}, { [`services.k8s.aws/${annotation}`]: value });
const accounts = (data: JsonObject): JsonObject => mapObject("ack-role-account-map", data);
const inUse = (uses: string): string => (
  `warn IRS-26 spec: CARM is still in use (${uses}), and controllers that run with CARM ignore selectors. `
    + "Run controllers with gate IAMRoleSelector and --enable-carm=false, then remove CARM maps and annotations."
);
const MAPS = "ConfigMap ack-system/ack-role-account-map has 2 keys; ConfigMap ack-system/ack-role-team-map has 1 key";

testRows("IRS-26: warns about every selector in mode carm, and about remains of CARM in mode selectors",
  ([known, settings = {}]: Input) => changeLines("IRS-26", { arn: ROLE }, { known, settings }), [
    ["mode carm", [[], { mode: "carm" }],
      "warn IRS-26 spec: the controllers resolve roles with CARM (--mode carm), so the selector has no effect. "
        + "Assign the role in the CARM maps, or switch the controllers and --mode to selectors."],
    ["no remains", [[]]],
    ["one map", [[accounts({ "111122223333": ROLE })]], inUse("ConfigMap ack-system/ack-role-account-map has 1 key")],
    ["namespaces", [[owner("d"), owner("c"), owner("b", "team-id", "x"), owner("a")]],
      inUse("4 annotated namespaces: a, b, c and 1 more")],
    ["maps and a namespace",
      [[accounts({ a: ROLE, b: ROLE }), mapObject("ack-role-team-map", { a: ROLE }), owner("a")]],
      inUse(`${MAPS}; 1 annotated namespace: a`)],
    ["maps that CARM does not read",
      [[accounts({}), mapObject("other", { a: ROLE }), mapObject("ack-role-team-map", { a: ROLE }, "elsewhere")]]],
    ["annotations that CARM does not read",
      [[owner("a", "owner-account-id", ""), owner("kube-system"), owner("b", "default-region")]]],
    ["an annotation that only --runtime extended reads", [[owner("c", "owner-team-id")]]],
    ["--runtime extended", [[owner("c", "owner-team-id")], { runtime: "extended" }],
      inUse("1 annotated namespace: c")],
    ["a removed annotation", [[owner("a"), namespaceObject("a")]]],
  ]);

test("IRS-26 removes a few remains of CARM at once", (t) => {
  const repairOf = (known: readonly JsonObject[]): unknown => (
    findingsOf("IRS-26", selectorObject("s", { arn: ROLE }), { known }).map(({ repairs, path }) => (
      describeRepairs(repairs ?? [], path)
    ))
  );
  t.same(repairOf([owner("a"), accounts({ a: ROLE })]), [
    "if no controller runs with CARM, remove metadata.annotations[services.k8s.aws/owner-account-id] from Namespace a "
      + "and delete ConfigMap ack-system/ack-role-account-map",
  ]);
  t.same(repairOf(["a", "b", "c", "d", "e", "f"].map((name) => owner(name))), [null]);
  t.end();
});
