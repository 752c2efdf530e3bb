import { runChecks } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { RESOURCES } from "../../../shared/ack/resources.ts";
import { test } from "tap";
import { Inventory, type InventoryChange } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  attemptedBucket, existingBucket, FIRST, namespaceObject, newBucket, OWN, put, repeat, replacesMetadata, roleIn,
  selectorFor, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";
import { accountLines, checkChange, lineOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const LATER = { deletionTimestamp: "2026-11-21T00:00:00Z" };
const B1 = existingBucket("b1", FIRST);
const policy = (value: string): JsonObject => ({ annotations: { "services.k8s.aws/deletion-policy": value } });

type Input = readonly [known: readonly JsonObject[], settings?: object, selector?: JsonObject];
/** Returns the lines of a check for the deletion of a selector, by default of team-a. */
const of = (id: string) => ([known, settings = {}, selector = TEAM_A]: Input): string[] =>
  accountLines(id, selector, { known: [selector, ...known], operation: "DELETE", settings });

const ELSEWHERE = newBucket("b3", { namespace: "team-b" });
const NEW = selectorFor("new", FIRST, ["team-a"], replacesMetadata("team-a"));
testRows("IRS-30: denies the deletion of the only selector that selects a resource", of("IRS-30"), [
  ["two resources", [[B1, newBucket("b2"), ELSEWHERE]],
    "deny IRS-30 metadata.name: 2 resources would fall back to the controller's own role and account, because no other "
      + `selector matches: Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in account ${FIRST}. Delete the `
      + "resources first, or create a replacement: a selector with another name, the spec of team-a, a role in the "
      + "same "
      + "account and the annotation ack-role-resolver.io/replaces: team-a. Then retry the deletion of team-a."],
  ["at least 20", [repeat(20, newBucket)],
    /^deny IRS-30 metadata.name: at least 20 resources .*, Bucket team-a\/b02 in account 111122223333 and others\. /],
  ["no resource is selected", [[ELSEWHERE]]],
  ["another selector selects all the resources", [[B1, NEW]]],
  ["the replacement selects only some of the resources",
    [[NEW, newBucket("b1"), ELSEWHERE], {}, selectorFor("team-a", FIRST, ["team-a", "team-b"])],
    /^deny IRS-30 metadata.name: 1 resource .*: Bucket team-b\/b3 in account 111122223333\./],
  ["mode carm", [[B1], { mode: "carm" }]],
  ["a malformed selector", [[newBucket("b1")], {}, selectorObject("team-a", { arn: "" })]],
]);

/** Returns the lines of IRS-30 for the deletion of a selector if the inventory could not list two kinds. */
function withUnlisted(object: JsonObject): string[] {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const unlisted = (what: string): InventoryChange => ({ type: "unlisted", store: RESOURCES, item: what });
  inventory.apply([put(object), unlisted("Queue.sqs.services.k8s.aws"), unlisted("Bucket.s3.services.k8s.aws")]);
  const input = { object, old: null, operation: "DELETE", requester: null, origin: "cluster", inventory } as const;
  return runChecks(input, SETTINGS_BY_DEFAULT).findings.filter(({ code }) => code === "IRS-30").map(lineOf);
}
const ofGroup = (group: string): JsonObject => selectorObject("team-a", {
  arn: roleIn(FIRST), namespaceSelector: { names: ["team-a"] }, resourceTypeSelector: [{ group, kind: "Bucket" }],
});
const unlistedKinds = (kinds: string): RegExp =>
  new RegExp(`^deny IRS-30 \\S+: the objects of ${kinds} are not listed, so the selector may select some of them`);
const BOTH = unlistedKinds("Bucket.s3.services.k8s.aws and Queue.sqs.services.k8s.aws");

testRows("IRS-30: denies the deletion if the resources of a selected kind are not listed", withUnlisted, [
  ["every kind", TEAM_A, BOTH],
  ["one group", ofGroup("s3.services.k8s.aws"), unlistedKinds("Bucket.s3.services.k8s.aws")],
  ["an empty group", ofGroup(""), BOTH],
  ["the selector cannot select the unlisted kinds", ofGroup("sns.services.k8s.aws")],
  ["a malformed selector", selectorObject("team-a", {})],
]);

const place = (name: string, why: string): string => `Bucket team-a/${name} in account ${FIRST} (${why})`;
const retainIn = namespaceObject("team-a", {}, { "s3.services.k8s.aws/deletion-policy": "retain" });
testRows("IRS-31: denies a deletion that puts resources of another account at risk", of("IRS-31"), [
  ["three of four resources", [[
    existingBucket("b1", FIRST, LATER), existingBucket("b2", FIRST), existingBucket("b3", FIRST, policy("retain")),
    existingBucket("b4", FIRST, { ...policy("retain"), ...LATER }),
  ]],
    `deny IRS-31 metadata.name: 3 resources would be deleted or orphaned with the controller's own credentials for `
      + `account ${OWN}: ${place("b1", "being deleted")}, ${place("b2", "deletion policy delete")} and `
      + `${place("b4", "being deleted")}. Create a replacement selector with a role in the same account and the `
      + "annotation ack-role-resolver.io/replaces: NAME of this selector. Otherwise, wait until the resources that are "
      + "being deleted no longer exist, and annotate all other resources with services.k8s.aws/deletion-policy: "
      + "retain."],
  ["ACK recorded the account of a failed attempt", [[attemptedBucket("b1", FIRST)]],
    /1 resource .*deletion-policy: retain\. The status of Bucket team-a\/b1 has no ARN: if the creation failed, /],
  ["retained", [[existingBucket("b1", FIRST, policy("retain"))]]],
  ["controllers treat an unknown policy as retain", [[existingBucket("b1", FIRST, policy("Delete"))]]],
  ["not yet created", [[newBucket("b1")]]],
  ["in the controller's account", [[existingBucket("b1", OWN)]]],
  ["the controller's account is unknown", [[B1], { controllerAccount: null }]],
  ["the namespace has a deletion policy for the service", [[retainIn, B1]]],
  ["the policy of the resource takes precedence", [[retainIn, existingBucket("b1", FIRST, policy("delete"))]],
    /deletion policy delete/],
]);

test("IRS-30 can be waived, IRS-31 cannot", (t) => {
  const annotations = { "ack-role-resolver.io/allow": "IRS-30,IRS-31" };
  const waived = selectorFor("team-a", FIRST, ["team-a"], { annotations });
  const settings = { controllerAccount: OWN };
  const result = checkChange(waived, { known: [waived, B1], operation: "DELETE", settings });
  t.equal(result.denied, true);
  t.match(result.findings.map(lineOf), [/^warn \(waived\) IRS-30/, /^deny IRS-31/]);
  t.end();
});
