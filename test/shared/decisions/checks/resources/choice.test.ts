import { test } from "tap";
import { choiceFor } from "../../../../../shared/checks/resource-change.ts";
import { Inventory } from "../../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { namespaceObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import {
  annotated, type Circumstances, CLUSTER_OBJECTS, findingLines, GOLD, owned, SILVER, tiered, tierSelector,
} from "../resource-lines.ts";

const KEY = "ack-role-resolver.io/use-selector";
const PATH = `metadata.annotations[${KEY}]`;
const EXTENDED = { settings: { runtime: "extended" } } as const;
const GOLD_ACCOUNT = "111122223333";

/** Returns a Bucket of team-a that has a label for each tier and an annotation that names the selector. */
function choosing(name: string, ...tiers: readonly string[]): JsonObject {
  return annotated({ [KEY]: name }, tiered(...tiers));
}

/** Returns the finding lines of a check with --runtime extended. */
function lines(id: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  return findingLines(id, object, { ...EXTENDED, ...circumstances });
}

/** Returns the finding lines of ACK-06 for an update of a Bucket that exists in the account of the selector gold. */
function moves(from: JsonObject, to: JsonObject, circumstances: Circumstances = {}): string[] {
  return lines("ACK-06", to, { old: owned(GOLD_ACCOUNT, from), ...circumstances });
}

test("ACK-36 warns about the annotation use-selector if it has no effect", (t) => {
  t.same(findingLines("ACK-36", choosing("gold", "gold")), [
    `warn ACK-36 ${PATH}: the annotation has no effect with --runtime ack. Remove it and restrict the selectors, `
    + "or set --runtime extended if every controller supports it.",
  ]);
  t.same(lines("ACK-36", choosing("gold"), { settings: { runtime: "extended", mode: "carm" } }), [
    `warn ACK-36 ${PATH}: the annotation has no effect with --mode carm. Remove the annotation, or switch the `
    + "controllers and --mode to selectors.",
  ]);
  t.same(lines("ACK-36", choosing("gold", "gold")), []);
  t.same(findingLines("ACK-36", tiered("gold")), []);
  t.end();
});

test("the annotation use-selector chooses no selector in mode carm", (t) => {
  const inventory = new Inventory({ runtime: "extended", origin: "file" });
  const resource = { namespace: "team-a", annotations: new Map([[KEY, "gold"]]) };
  const choice = (mode: "carm" | "selectors"): unknown => choiceFor({
    inventory, operation: "CREATE", origin: "file", requester: null, settings: { ...SETTINGS_BY_DEFAULT, mode },
  }, resource);
  t.match(choice("selectors"), { name: "gold" });
  t.equal(choice("carm"), null);
  t.end();
});

test("ACK-03 warns if a resource names a selector that does not select the resource", (t) => {
  t.same(lines("ACK-03", choosing("gold", "silver")), [
    `warn ACK-03 metadata: The annotation ${KEY} of the resource names IAMRoleSelector "gold", which does not select `
    + "the resource. silver selects the resource. Name a selector that selects the resource in "
    + `${KEY}, or remove the annotation.`,
  ]);
  t.same(lines("ACK-03", choosing("gold", "gold", "silver")), []);
  t.match(lines("ACK-03", tiered("gold", "silver")), [
    new RegExp(`Restrict or delete selectors .*, or name one in ${KEY}\\.$`),
  ]);
  t.match(lines("ACK-31", choosing("missing", "gold"), { operation: "DELETE" }), [
    /the deletion will hang until a role resolves: .* Name a selector that selects the resource/,
  ]);
  t.end();
});

const KEEP = `Keep the annotation ${KEY}, or ask the owner of the selectors to move the resource.`;
const TO_SILVER = `from the role "${GOLD}" to the role "${SILVER}"`;

test("ACK-06 denies an annotation that moves a resource to another role", (t) => {
  t.same(lines("ACK-06", choosing("silver", "gold", "silver"), { old: choosing("gold", "gold", "silver") }), [
    `deny ACK-06 ${PATH}: the new annotations move the resource ${TO_SILVER}. ${KEEP}`,
  ]);
  t.same(moves(tiered("gold"), choosing("silver", "gold", "silver")), [
    `deny ACK-06 metadata: the new labels and annotations move the resource ${TO_SILVER}. Keep the labels that `
    + `selectors match and the annotation ${KEY}, or ask the owner of the selectors to move the resource.`,
  ]);
  t.same(moves(tiered("gold"), choosing("gold", "gold")), [], "the role stays");
  t.same(moves(choosing("gold", "gold"), tiered("gold")), []);
  t.same(moves(choosing("gold", "gold"), choosing("gold", "gold", "silver")), [], "a second selector changes nothing");
  t.match(moves(tiered("gold", "silver"), choosing("silver", "gold", "silver")), [
    /the new annotations move the resource from a conflict between gold and silver to the role/,
  ], "either role of the conflict may manage the resource");
  const silver = choosing("silver", "gold", "silver");
  t.same(lines("ACK-06", silver, { old: tiered("gold", "silver") }), [], "the resource is not pinned to an account");
  t.same(findingLines("ACK-06", silver, { old: choosing("gold", "gold", "silver") }), [], "--runtime ack: a conflict");
  t.end();
});

test("ACK-06 applies the annotation of the namespace if an update removes the annotation of a resource", (t) => {
  const known = [...CLUSTER_OBJECTS, namespaceObject("team-a", {}, { [KEY]: "silver" })];
  const own = choosing("gold", "gold", "silver");
  t.match(moves(own, tiered("gold", "silver"), { known }), [new RegExp(`the new annotations move .* ${TO_SILVER}`)]);
  t.same(moves(choosing("silver", "gold", "silver"), tiered("gold", "silver"), { known }), [], "the same choice");
  t.end();
});

test("ACK-06 denies each step of a role change during which the resource has no role", (t) => {
  t.match(moves(tiered("gold"), choosing("silver", "gold")), [
    /^deny .*: the new annotations leave the resource without a role: The annotation .* names IAMRoleSelector "silver"/,
  ], "silver may select the resource later");
  const refused = choosing("missing", "gold");
  t.same(moves(refused, annotated({ [KEY]: "missing", team: "x" }, tiered("gold"))), [], "an unrelated change");
  t.same(moves(refused, tiered("gold")), [], "back to the only role");
  t.same(moves(refused, choosing("missing", "gold", "silver")), []);
  t.match(moves(choosing("missing", "gold", "silver"), choosing("silver", "gold", "silver")), [
    new RegExp(`the new annotations move the resource from no role to the role "${SILVER}"`),
  ]);
  t.same(moves(refused, choosing("missing", "silver")), [
    `deny ACK-06 metadata.labels: the new labels leave the resource without a role and without a selector for the role `
    + `"${GOLD}", which may manage the resource. Keep the labels that selectors match, or ask the owner of the `
    + "selectors to move the resource.",
  ]);
  const selected = choosing("missing", "gold");
  t.match(moves(choosing("missing"), selected), [/without a selector for the controller's own role/]);
  t.match(moves(choosing("missing"), choosing("gold", "gold")), [/from no role to the role/]);
  t.same(moves(choosing("missing"), tiered()), [], "the controller's own role");
  t.same(lines("ACK-06", choosing("missing", "gold"), { old: tiered("gold") }), [], "not pinned: ACK-03 warns");
  t.end();
});

test("ACK-06 with --runtime ack denies each step of a role change during which selectors conflict", (t) => {
  const known = [...CLUSTER_OBJECTS, tierSelector("twin", SILVER)];
  const first = findingLines("ACK-06", tiered("silver", "twin"), { old: owned(GOLD_ACCOUNT, tiered("gold")), known });
  t.match(first, [/without a selector for the role "arn:aws:iam::111122223333:role\/gold"/]);
  const both = owned(GOLD_ACCOUNT, tiered("gold", "silver"));
  t.match(findingLines("ACK-06", tiered("silver", "twin"), { old: both, known }), [/without a selector for the role/]);
  t.same(findingLines("ACK-06", tiered("gold", "silver", "twin"), { old: both, known }), []);
  t.end();
});

test("ACK-06 allows the choice of another selector if the requester has permission to use this selector", (t) => {
  const change = { old: choosing("gold", "gold", "silver") };
  const linesWith = (access: Circumstances["access"] & object): string[] => (
    lines("ACK-06", choosing("silver", "gold", "silver"), { ...change, access })
  );
  t.same(linesWith(new Map([["silver", "allowed"]])), []);
  t.match(linesWith(new Map([["silver", "denied"], ["gold", "allowed"]])), [
    new RegExp(`Keep the annotation ${KEY}, or ask an administrator for the verb use on IAMRoleSelector silver\\.$`),
  ]);
  t.end();
});

test("ACK-07 reports an annotation that names a selector whose role is in another account", (t) => {
  const old = owned(GOLD_ACCOUNT, choosing("gold", "gold", "silver"));
  const fix = `In the annotation ${KEY} of the resource, name a selector that selects the resource and has a role in `
    + "the account that the status records.";
  t.same(lines("ACK-07", choosing("silver", "gold", "silver"), { old }), [
    `deny ACK-07 ${PATH}: the resource is in account "111122223333" but its role is in account "444455556666", so `
    + `controllers never reconcile it. ${fix}`,
  ]);
  const known = [...CLUSTER_OBJECTS, namespaceObject("team-a", {}, { [KEY]: "silver" })];
  t.match(lines("ACK-07", tiered("gold", "silver"), { old, known }), [/^deny ACK-07 metadata: .* In the annotation/]);
  t.end();
});

test("ACK-09 requires permission to use each selector that a resource uses now or can use later", (t) => {
  const settings = { runtime: "extended", checkSeverities: new Map([["ACK-09", "deny"]] as const) } as const;
  const used = (object: JsonObject, more: Circumstances = {}): string[] => (
    findingLines("ACK-09", object, { settings, access: new Map(), ...more })
      .map((line) => line.replace(/^.* may use IAMRoleSelector (\S+), which (\S+) .*$/, "$1 $2"))
  );
  t.same(used(choosing("gold", "gold", "silver")), ["gold selects"], "not silver");
  t.same(used(choosing("gold", "gold", "silver"), { old: choosing("silver", "gold", "silver") }), [
    "silver selected", "gold selects",
  ]);
  t.same(used(choosing("planned", "gold")), ["gold selects", "planned selects"], "it may select the resource later");
  t.same(used(choosing("not a name", "gold")), ["gold selects"]);
  t.same(used(choosing("gold", "gold"), { settings: { ...settings, mode: "carm" } }), []);
  t.end();
});
