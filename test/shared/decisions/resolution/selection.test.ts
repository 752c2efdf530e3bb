import { test } from "tap";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import { type ResourceQuery, resourceOf } from "../../../../shared/contract/ack-resource.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { resolutionAnnotations } from "../../../../shared/resolution/resolution-annotations.ts";
import { explain } from "../../../../shared/resolution/explain.ts";
import { type Resolution, resolve } from "../../../../shared/resolution/resolve.ts";
import { usedSelectors } from "../../../../shared/resolution/selection.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const KEY = "ack-role-resolver.io/use-selector";
const use = (name: string): JsonObject => ({ [KEY]: name });
const roleOf = (name: string): string => `arn:aws:iam::111122223333:role/${name}`;
const selector = (name: string, namespace = "team-a"): JsonObject => (
  selectorObject(name, { arn: roleOf(name), namespaceSelector: { names: [namespace] } })
);
const BOTH = [selector("gold"), selector("silver"), selector("elsewhere", "team-b"), selectorObject("broken", {})];

interface Setup {
  readonly own?: JsonObject;
  readonly namespace?: JsonObject;
  readonly selectors?: readonly JsonObject[];
  readonly runtime?: "ack" | "extended";
}

interface Subject {
  readonly inventory: Inventory;
  readonly query: ResourceQuery;
}

function setUp({ own = {}, namespace = {}, selectors = BOTH, runtime = "extended" }: Setup): Subject {
  const inventory = new Inventory({ runtime, origin: "cluster" });
  inventory.apply([namespaceObject("team-a", {}, namespace), ...selectors].map(put));
  return { inventory, query: resourceOf(bucketObject({ annotations: own })) };
}

function resolved(setup: Setup, mode: "selectors" | "carm" = "selectors"): Resolution {
  const { inventory, query } = setUp(setup);
  const { runtime = "extended" } = setup;
  return resolve(inventory, query, { ...SETTINGS_BY_DEFAULT, runtime, mode });
}

test("the annotation use-selector of a resource picks one of the selectors that select the resource", (t) => {
  t.match(resolved({ own: use("gold") }), {
    outcome: "selected", via: "selector", roleARN: roleOf("gold"), accountID: "111122223333", code: null,
    selectors: [{ name: "gold" }],
    message: `IAMRoleSelector gold selects the resource, and the annotation ${KEY} of the resource names it.`,
  });
  t.match(resolved({ own: use("silver") }), { roleARN: roleOf("silver") });
  t.match(resolved({ own: use("silver"), namespace: use("gold") }), { roleARN: roleOf("silver") }, "precedence");
  t.match(resolved({ namespace: use("gold") }), {
    outcome: "selected",
    message: `IAMRoleSelector gold selects the resource, and the annotation ${KEY} of the namespace names it.`,
  });
  t.match(resolved({ own: use("gold"), selectors: [selector("gold")] }), {
    outcome: "selected", message: "IAMRoleSelector gold selects the resource.",
  });
  t.end();
});

test("refuses a resource that names a selector which does not select it, and never falls back to another role", (t) => {
  const refused = (name: string, state: string, more: Setup = {}): void => {
    const names = more.selectors === undefined ? "gold and silver select" : "No IAMRoleSelector selects";
    const own = use(name);
    t.same(resolved({ own, ...more }), {
      outcome: "refused", via: "selector", selectors: [], roleARN: null, accountID: null, region: null,
      code: "ERR_SELECTOR_CHOICE",
      message: `The annotation ${KEY} of the resource names IAMRoleSelector ${JSON.stringify(name)}, which ${state}. `
        + `${names} the resource.`,
    });
  };
  refused("elsewhere", "does not select the resource");
  refused("missing", "does not exist");
  refused("broken", "is malformed");
  refused("Gold", "does not exist");
  refused("gold,silver", "does not exist");
  refused("", "does not exist");
  refused("__proto__", "does not exist");
  refused("gold", "does not exist", { selectors: [] });
  refused("", "does not exist", { namespace: use("gold"), selectors: [] });
  const { message } = resolved({ own: use("missing"), selectors: [selector("gold")] });
  t.match(message, /\. gold selects the resource\.$/, "the only selector is not used either");
  t.match(resolved({ namespace: use("missing") }).message, /^The annotation \S+ of the namespace names/);
  t.end();
});

test("the annotation use-selector has no effect with --runtime ack and in mode carm", (t) => {
  const both = { own: use("gold"), namespace: use("gold") };
  t.match(resolved({ ...both, runtime: "ack" }), { outcome: "conflict", selectors: [{ name: "gold" }, {}] });
  t.match(resolved({ own: use("missing"), selectors: [selector("gold")], runtime: "ack" }), { outcome: "selected" });
  t.match(resolved(both, "carm"), { outcome: "default" });
  t.end();
});

test("the annotations of the webhook record the chosen selector, or why the resource is refused", (t) => {
  t.match(Object.fromEntries(resolutionAnnotations(resolved({ own: use("gold") }))), {
    "ack-role-resolver.io/outcome": "selected", "ack-role-resolver.io/selector": "gold",
    "ack-role-resolver.io/role-arn": roleOf("gold"),
  });
  const refused = resolutionAnnotations(resolved({ own: use("x".repeat(100_000)) }));
  t.same([...refused.keys()].map((key) => key.split("/")[1]), ["outcome", "via", "reason"]);
  t.equal(refused.get("ack-role-resolver.io/reason")?.length, 256);
  t.end();
});

test("explains that the annotation use-selector does not name a selector that matches the resource", (t) => {
  const explained = (setup: Setup): unknown[] => {
    const { inventory, query } = setUp(setup);
    return explain(inventory, query).map(({ selector: name, selects, chosen, message }) => (
      [name, selects, chosen, message.includes(`The annotation ${KEY} does not name ${name}, so`)]
    ));
  };
  t.same(explained({ own: use("gold") }), [
    ["broken", false, false, false], ["elsewhere", false, false, false], ["gold", true, true, false],
    ["silver", true, false, true],
  ]);
  t.same(explained({ own: use("broken") })[0], ["broken", false, true, false]);
  t.same(explained({ own: use("gold"), runtime: "ack" })[3], ["silver", true, undefined, false]);
  t.end();
});

test("returns each selector that a resource uses, or that a resource without a role can use later", (t) => {
  const used = (setup: Setup): readonly string[] => {
    const { inventory, query } = setUp(setup);
    return usedSelectors(inventory, query);
  };
  t.same(used({ own: use("gold") }), ["gold"]);
  t.same(used({}), ["gold", "silver"]);
  t.same(used({ own: use("planned") }), ["gold", "planned", "silver"]);
  t.same(used({ own: use("not a name") }), ["gold", "silver"]);
  const empty = new Inventory({ runtime: "ack", origin: "cluster" });
  t.same(usedSelectors(empty, setUp({}).query), ["ack-role-resolver:default"], "no selector selects the resource");
  t.end();
});
