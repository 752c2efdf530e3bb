import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import { test } from "tap";
import type { Inventory } from "../../../shared/core/inventory.ts";
import { type ResourceQuery, resourceOf } from "../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { resolutionAnnotations } from "../../../shared/core/resolution-annotations.ts";
import { explain } from "../../../shared/diagnosis/explain.ts";
import { conflictSentence, usedSelectors } from "../../../shared/ack/selection.ts";
import { bucketObject, inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";

const KEY = "ack-role-resolver.io/use-selector";
const use = (name: string): JsonObject => ({ [KEY]: name });
const roleOf = (name: string): string => `arn:aws:iam::111122223333:role/${name}`;
const selector = (name: string, namespace = "team-a"): JsonObject => (
  selectorObject(name, { arn: roleOf(name), namespaceSelector: { names: [namespace] } })
);
const BOTH = [selector("gold"), selector("silver"), selector("elsewhere", "team-b"), selectorObject("broken", {})];
const ONLY_GOLD = [selector("gold")];

interface Setup {
  /** The annotations of the resource. */
  readonly own?: JsonObject;
  /** The annotations of the namespace. */
  readonly namespace?: JsonObject;
  readonly selectors?: readonly JsonObject[];
  readonly runtime?: "ack" | "extended";
  readonly mode?: "selectors" | "carm";
}

function setUp({ own = {}, namespace = {}, selectors = BOTH, runtime = "extended" }: Setup): {
  readonly inventory: Inventory; readonly query: ResourceQuery;
} {
  const inventory = inventoryWith([namespaceObject("team-a", {}, namespace), ...selectors], { runtime });
  return { inventory, query: resourceOf(bucketObject({ annotations: own })) };
}

function resolved(setup: Setup): Resolution {
  const { inventory, query } = setUp(setup);
  const { runtime = "extended", mode = "selectors" } = setup;
  return resolve(inventory, query, { ...SETTINGS_BY_DEFAULT, runtime, mode });
}

const picked = (name: string, from = "resource"): string =>
  `${roleOf(name)} IAMRoleSelector ${name} selects the resource, and the annotation ${KEY} of the ${from} names it.`;
const refused = (name: string, state: string, select = "gold and silver select", from = "resource"): string => (
  `ERR_SELECTOR_CHOICE The annotation ${KEY} of the ${from} names IAMRoleSelector ${JSON.stringify(name)}, which `
    + `${state}. `
    + `${select} the resource.`
);
const NONE = "No IAMRoleSelector selects";
const ABSENT = ["missing", "Gold", "gold,silver", "", "__proto__"];

testRows("the annotation use-selector picks one of the selectors that select the resource, or refuses it",
  (setup: Setup) => {
    const { code, roleARN, message } = resolved(setup);
    return [`${code ?? roleARN} ${message}`];
  }, [
    ["of the resource", { own: use("gold") }, picked("gold")],
    ["the other selector", { own: use("silver") }, picked("silver")],
    ["the resource precedes the namespace", { own: use("silver"), namespace: use("gold") }, picked("silver")],
    ["of the namespace", { namespace: use("gold") }, picked("gold", "namespace")],
    ["the only selector", { own: use("gold"), selectors: ONLY_GOLD },
      `${roleOf("gold")} IAMRoleSelector gold selects the resource.`],
    ["another namespace", { own: use("elsewhere") }, refused("elsewhere", "does not select the resource")],
    ["a malformed selector", { own: use("broken") }, refused("broken", "is malformed")],
    ...ABSENT.map((name) => [`"${name}"`, { own: use(name) }, refused(name, "does not exist")] as const),
    ["no selector", { own: use("gold"), selectors: [] }, refused("gold", "does not exist", NONE)],
    ["an empty name precedes the namespace", { own: use(""), namespace: use("gold"), selectors: [] },
      refused("", "does not exist", NONE)],
    ["the only selector is not used either", { own: use("missing"), selectors: ONLY_GOLD },
      refused("missing", "does not exist", "gold selects")],
    ["a missing selector of the namespace", { namespace: use("missing") },
      refused("missing", "does not exist", undefined, "namespace")],
    ["--runtime ack: a conflict", { own: use("gold"), namespace: use("gold"), runtime: "ack" },
      /^ERR_SELECTOR_CONFLICT /],
    ["--runtime ack: the only selector", { own: use("missing"), selectors: ONLY_GOLD, runtime: "ack" },
      `${roleOf("gold")} IAMRoleSelector gold selects the resource.`],
    ["mode carm", { own: use("gold"), mode: "carm" }, /^null The namespace names no account, so/],
  ]);

test("a selected resource has the role and account of its selector, and a refused one has none", (t) => {
  t.match(resolved({ own: use("gold") }), {
    outcome: "selected", via: "selector", roleARN: roleOf("gold"), accountID: "111122223333",
    selectors: [{ name: "gold" }],
  });
  t.match(resolved({ own: use("missing") }), {
    outcome: "refused", via: "selector", selectors: [], roleARN: null, accountID: null, region: null,
  });
  t.end();
});

test("the annotations of the webhook record the chosen selector, or why the resource is refused", (t) => {
  t.match(Object.fromEntries(resolutionAnnotations(resolved({ own: use("gold") }))), {
    "ack-role-resolver.io/outcome": "selected", "ack-role-resolver.io/selector": "gold",
    "ack-role-resolver.io/role-arn": roleOf("gold"),
  });
  const none = resolutionAnnotations(resolved({ own: use("x".repeat(100_000)) }));
  t.same([...none.keys()].map((key) => key.split("/")[1]), ["outcome", "via", "reason"]);
  t.equal(none.get("ack-role-resolver.io/reason")?.length, 256);
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

testRows("returns each selector that a resource uses, or that a resource without a role can use later",
  (setup: Setup) => {
    const { inventory, query } = setUp(setup);
    return usedSelectors(inventory, query);
  }, [
    ["one of two", { own: use("gold") }, "gold"],
    ["a conflict", {}, "gold", "silver"],
    ["a selector that does not exist yet", { own: use("planned") }, "gold", "planned", "silver"],
    ["no name of a selector", { own: use("not a name") }, "gold", "silver"],
    ["no selector selects the resource", { selectors: [], runtime: "ack" }, "ack-role-resolver:default"],
  ]);

test("names at most 20 conflicting selectors, sorted by name", (t) => {
  const sentence = "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors:";
  t.equal(conflictSentence(["b", "a"]), `${sentence} [a, b]`);
  const names = Array.from({ length: 25 }, (_, i) => `s${String(i).padStart(2, "0")}`);
  t.equal(conflictSentence(names), `${sentence} [${names.slice(0, 20).join(", ")} and 5 more]`);
  t.end();
});
