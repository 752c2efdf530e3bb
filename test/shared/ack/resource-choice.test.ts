import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { choiceFor } from "../../../shared/ack/role-inputs.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";
import { accessOf, type Circumstances } from "../core/findings.ts";
import {
  annotated, CLUSTER_OBJECTS, findingLines, GOLD, type Input, of as shipped, owned, SILVER, tiered, tierSelector,
} from "./resource-lines.ts";

const KEY = "ack-role-resolver.io/use-selector";
const PATH = `metadata.annotations[${KEY}]`;
const GOLD_ACCOUNT = "111122223333";

/** Returns a Bucket of team-a that has a label for each tier and an annotation that names the selector. */
const choosing = (name: string, ...tiers: readonly string[]): JsonObject =>
  annotated({ [KEY]: name }, tiered(...tiers));

/** Returns the finding lines of a check with --runtime extended. */
const of = (id: string) => ([object, { settings, ...rest } = {}]: Input): string[] =>
  findingLines(id, object, { ...rest, settings: { runtime: "extended", ...settings } });

testRows("ACK-36 warns about the annotation use-selector if it has no effect", of("ACK-36"), [
  ["--runtime ack", [choosing("gold", "gold"), { settings: { runtime: "ack" } }],
    `warn ACK-36 ${PATH}: the annotation has no effect with --runtime ack. Remove it and restrict the selectors, `
      + "or set --runtime extended if every controller supports it."],
  ["--mode carm", [choosing("gold"), { settings: { mode: "carm" } }],
    `warn ACK-36 ${PATH}: the annotation has no effect with --mode carm. Remove the annotation, or switch the `
      + "controllers and --mode to selectors."],
  ["--runtime extended", [choosing("gold", "gold")]],
  ["no annotation", [tiered("gold"), { settings: { runtime: "ack" } }]],
]);

test("the annotation use-selector chooses no selector in mode carm", (t) => {
  const inventory = new Inventory({ runtime: "extended", origin: "file" }, INVENTORY_KINDS);
  const resource = { namespace: "team-a", annotations: new Map([[KEY, "gold"]]) };
  const choice = (mode: "carm" | "selectors"): unknown => choiceFor({
    inventory, operation: "CREATE", origin: "file", requester: null, settings: { ...SETTINGS_BY_DEFAULT, mode },
  }, resource);
  t.match(choice("selectors"), { name: "gold" });
  t.equal(choice("carm"), null);
  t.end();
});

testRows("ACK-03 warns if a resource names a selector that does not select the resource", of("ACK-03"), [
  ["another selector", [choosing("gold", "silver")],
    `warn ACK-03 metadata: The annotation ${KEY} of the resource names IAMRoleSelector "gold", which does not select `
      + `the resource. silver selects the resource. Name a selector that selects the resource in ${KEY}, or remove the `
      + "annotation."],
  ["one of two", [choosing("gold", "gold", "silver")]],
  ["a conflict", [tiered("gold", "silver")], new RegExp(`Restrict or delete selectors .*, or name one in ${KEY}\\.$`)],
]);

testRows("ACK-31 warns about the deletion of a resource that names a missing selector", of("ACK-31"), [
  ["missing", [choosing("missing", "gold"), { operation: "DELETE" }],
    /the deletion will hang until a role resolves: .* Name a selector that selects the resource/],
]);

const KEEP = `Keep the annotation ${KEY}, or ask the owner of the selectors to move the resource.`;
const TO_SILVER = `from the role "${GOLD}" to the role "${SILVER}"`;
const GOLD_OF_TWO = choosing("gold", "gold", "silver");
const SILVER_OF_TWO = choosing("silver", "gold", "silver");
const BOTH = tiered("gold", "silver");
const REFUSED = choosing("missing", "gold");
/** The namespace names silver. */
const BY_NAMESPACE = { known: [...CLUSTER_OBJECTS, namespaceObject("team-a", {}, { [KEY]: "silver" })] };

testRows("ACK-06 denies an annotation that moves a resource that is not in AWS to another role", of("ACK-06"), [
  ["another choice", [SILVER_OF_TWO, { old: GOLD_OF_TWO }],
    `deny ACK-06 ${PATH}: the new annotations move the resource ${TO_SILVER}. ${KEEP}`],
  ["the resource is not pinned to an account", [SILVER_OF_TWO, { old: BOTH }]],
  ["--runtime ack: a conflict", [SILVER_OF_TWO, { old: GOLD_OF_TWO, settings: { runtime: "ack" } }]],
  ["not pinned: ACK-03 warns", [REFUSED, { old: tiered("gold") }]],
  ["permission to use silver", [SILVER_OF_TWO, { old: GOLD_OF_TWO, access: accessOf({ silver: "allowed" }) }]],
  ["no permission to use silver",
    [SILVER_OF_TWO, { old: GOLD_OF_TWO, access: accessOf({ silver: "denied", gold: "allowed" }) }],
    new RegExp(`Keep the annotation ${KEY}, or ask an administrator for the verb use on IAMRoleSelector silver\\.$`)],
]);

testRows("ACK-06 denies each change of a Bucket in the account of gold during which its role changes or is missing",
  ([from, to, rest]: [JsonObject, JsonObject, Circumstances?]) =>
    of("ACK-06")([to, { old: owned(GOLD_ACCOUNT, from), ...rest }]), [
    ["a label and an annotation", [tiered("gold"), SILVER_OF_TWO],
      `deny ACK-06 metadata: the new labels and annotations move the resource ${TO_SILVER}. Keep the labels that `
        + `selectors match and the annotation ${KEY}, or ask the owner of the selectors to move the resource.`],
    ["the role stays", [tiered("gold"), choosing("gold", "gold")]],
    ["the annotation is removed", [choosing("gold", "gold"), tiered("gold")]],
    ["a second selector changes nothing", [choosing("gold", "gold"), GOLD_OF_TWO]],
    ["either role of the conflict may manage the resource", [BOTH, SILVER_OF_TWO],
      /the new annotations move the resource from a conflict between gold and silver to the role/],
    ["the annotation of the namespace applies", [GOLD_OF_TWO, BOTH, BY_NAMESPACE],
      new RegExp(`the new annotations move .* ${TO_SILVER}`)],
    ["the annotation of the namespace is the same choice", [SILVER_OF_TWO, BOTH, BY_NAMESPACE]],
    ["silver may select the resource later", [tiered("gold"), choosing("silver", "gold")],
      /^deny .*: the new annotations leave the resource without a role: The annotation .* IAMRoleSelector "silver"/],
    ["an unrelated change", [REFUSED, annotated({ [KEY]: "missing", team: "x" }, tiered("gold"))]],
    ["back to the only role", [REFUSED, tiered("gold")]],
    ["another selector", [REFUSED, choosing("missing", "gold", "silver")]],
    ["from no role to another role", [choosing("missing", "gold", "silver"), SILVER_OF_TWO],
      new RegExp(`the new annotations move the resource from no role to the role "${SILVER}"`)],
    ["without a selector for the role", [REFUSED, choosing("missing", "silver")],
      "deny ACK-06 metadata.labels: the new labels leave the resource without a role and without a selector for the "
        + "role "
        + `"${GOLD}", which may manage the resource. Keep the labels that selectors match, or ask the owner of the `
        + "selectors to move the resource."],
    ["without the controller's own role", [choosing("missing"), REFUSED],
      /without a selector for the controller's own role/],
    ["from no role to gold", [choosing("missing"), choosing("gold", "gold")], /from no role to the role/],
    ["the controller's own role", [choosing("missing"), tiered()]],
  ]);

const TWIN = { known: [...CLUSTER_OBJECTS, tierSelector("twin", SILVER)] };
const inGold = (...tiers: readonly string[]): JsonObject => owned(GOLD_ACCOUNT, tiered(...tiers));
testRows("ACK-06 with --runtime ack denies each step of a role change during which selectors conflict",
  shipped("ACK-06"), [
    ["a conflict without gold", [tiered("silver", "twin"), { old: inGold("gold"), ...TWIN }],
      /without a selector for the role "arn:aws:iam::111122223333:role\/gold"/],
    ["another conflict without gold", [tiered("silver", "twin"), { old: inGold("gold", "silver"), ...TWIN }],
      /without a selector for the role/],
    ["a conflict with gold", [tiered("gold", "silver", "twin"), { old: inGold("gold", "silver"), ...TWIN }]],
  ]);

const OWNED_GOLD = { old: owned(GOLD_ACCOUNT, GOLD_OF_TWO) };
testRows("ACK-07 reports an annotation that names a selector whose role is in another account", of("ACK-07"), [
  ["the resource names silver", [SILVER_OF_TWO, OWNED_GOLD],
    `deny ACK-07 ${PATH}: the resource is in account "111122223333" but its role is in account "444455556666", so `
      + `controllers never reconcile it. In the annotation ${KEY} of the resource, name a selector that selects the `
      + "resource and has a role in the account that the status records."],
  ["the namespace names silver", [BOTH, { ...OWNED_GOLD, ...BY_NAMESPACE }],
    /^deny ACK-07 metadata: .* In the annotation/],
]);

const checkSeverities = new Map([["ACK-09", "deny"]] as const);
const uses = (name: string, verb = "selects"): RegExp =>
  new RegExp(`may use IAMRoleSelector ${name}, which ${verb} the resource`);
testRows("ACK-09 requires permission to use each selector that a resource uses now or can use later",
  ([object, { settings, ...rest } = {}]: Input) =>
    of("ACK-09")([object, { access: new Map(), ...rest, settings: { checkSeverities, ...settings } }]), [
    ["not silver", [GOLD_OF_TWO], uses("gold")],
    ["before and after", [GOLD_OF_TWO, { old: SILVER_OF_TWO }], uses("silver", "selected"), uses("gold")],
    ["it may select the resource later", [choosing("planned", "gold")], uses("gold"),
      /may use IAMRoleSelector planned/],
    ["no name of a selector", [choosing("not a name", "gold")], uses("gold")],
    ["mode carm", [choosing("gold", "gold"), { settings: { mode: "carm" } }]],
  ]);
