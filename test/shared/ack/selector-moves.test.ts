import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  attemptedBucket, existingBucket, FIRST, newBucket, OWN, repeat, replacesMetadata, roleIn, SECOND, selectorFor,
  selectorObject,
} from "../objects.ts";
import { accountLines, type Circumstances } from "../core/findings.ts";
import { testRows } from "../rows.ts";

type Input = readonly [object: JsonObject, known: readonly JsonObject[], rest?: Circumstances];
const of = (id: string) => ([object, known, rest]: Input): string[] => accountLines(id, object, { known, ...rest });
const DELETE = { operation: "DELETE" } as const;

const MOVE = "would move to a different account, which controllers reject";
const FIX = "Restrict the selector or use a role in the account of the resources. "
  + "To move a resource, delete it and create it again.";
const bucket = (name: string, account: string): string =>
  `Bucket team-a/${name} from account ${account} to account ${SECOND}`;
const ONE = `deny IRS-19 spec: 1 resource ${MOVE}: ${bucket("b1", FIRST)}. ${FIX}`;
const NEW = selectorFor("new", SECOND, ["team-a"]);
const synced = { ...newBucket("b1"), status: { conditions: [{ type: "ACK.ResourceSynced", status: "True" }] } };

testRows("IRS-19: denies a selector that moves existing resources to another account", of("IRS-19"), [
  ["two of three", [NEW, [existingBucket("b1", FIRST), existingBucket("b2", OWN), existingBucket("b3", SECOND)]],
    `deny IRS-19 spec: 2 resources ${MOVE}: ${bucket("b1", FIRST)} and ${bucket("b2", OWN)}. ${FIX}`],
  ["already in the account, not in AWS, or not selected",
    [NEW, [existingBucket("b3", SECOND), newBucket("b4"), existingBucket("b5", FIRST, { namespace: "team-b" })]]],
  ["more than 20", [NEW, repeat(30, (name) => existingBucket(name, FIRST))],
    /^deny IRS-19 spec: at least 20 resources .* and others\. /],
  ["a resource without an ARN", [NEW, [attemptedBucket("b1", FIRST), existingBucket("b2", FIRST)]],
    `deny IRS-19 spec: 2 resources ${MOVE}: ${bucket("b1", FIRST)} and ${bucket("b2", FIRST)}. ${FIX} The status of `
      + "Bucket team-a/b1 has no ARN: if the creation failed, delete the resource now, while its old role is in use, "
      + "and create it again after the change."],
  ["the status records the account of the new role", [NEW, [attemptedBucket("b1", SECOND)]]],
  ["a synced resource is in the controller's account", [NEW, [synced]], /from account 777788889999/],
  ["the account of --controller-role",
    [NEW, [synced], { settings: { controllerAccount: null, controllerRole: roleIn(OWN) } }],
    /from account 777788889999/],
  ["the controller's account is unknown", [NEW, [synced], { settings: { controllerAccount: null } }]],
]);

const gold = selectorFor("gold", FIRST, ["team-a"]);
const replacer = selectorFor("new", SECOND, ["team-a"], replacesMetadata("gold"));
const narrow = selectorFor("new", SECOND, ["team-b"], replacesMetadata("gold"));
/** Has an ARN, but no account. */
const withARN = { ...newBucket("b1"), status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1" } } };
const B1 = existingBucket("b1", FIRST);
for (const [what, one] of Object.entries({ attempted: attemptedBucket("b1", FIRST), existing: B1, withARN })) {
  const moves = new RegExp(`^deny IRS-19 spec: 1 resource ${MOVE}: ${bucket("b1", FIRST)}\\.`);
  testRows(`IRS-19: denies a replacement in another account: ${what}`, of("IRS-19"), [
    ["CREATE", [replacer, [gold, one]], moves],
    ["UPDATE", [replacer, [gold, one, narrow], { old: narrow }], moves],
    ["DELETE of the replaced selector", [gold, [gold, one, replacer], DELETE], moves],
  ]);
}

const sameAccount = selectorFor("new", FIRST, ["team-a"], replacesMetadata("gold"));
const old = selectorFor("other", SECOND, ["team-b"]);
const replacing = selectorFor("gold", FIRST, ["team-a"], replacesMetadata("other"));
const [first, second] = [selectorFor("first", FIRST, ["team-a"]), selectorFor("second", SECOND, ["team-a"])];

testRows("IRS-19: denies an update or deletion that moves resources, and allows replacements and old drift",
  of("IRS-19"), [
    ["a new bucket", [gold, [gold, newBucket("b1"), replacer], DELETE]],
    ["a replacement in the same account", [sameAccount, [gold, B1]]],
    ["the deletion of its predecessor", [gold, [gold, B1, sameAccount], DELETE]],
    ["gold remains", [selectorFor("other", SECOND, ["team-a"]), [replacing, old, B1], { old }]],
    ["a deletion", [first, [first, second, B1], DELETE], ONE],
    ["an update", [selectorFor("first", FIRST, ["team-b"]), [first, second, B1], { old: first }], ONE],
    ["the remaining selector has the account of the resource", [second, [first, second, B1], DELETE]],
    ["the drift existed before",
      [selectorFor("second", SECOND, ["team-a", "team-b"]), [second, B1], { old: second }]],
  ]);

const wide = selectorFor("team-a", FIRST, ["team-a", "team-b"]);
const narrowed = selectorFor("team-a", FIRST, ["team-b"]);
const known = [wide, B1, newBucket("b2"), newBucket("b3", { namespace: "team-b" })];

testRows("IRS-20: denies an update that leaves resources without a selector", of("IRS-20"), [
  ["two resources", [narrowed, known, { old: wide }],
    "deny IRS-20 spec: 2 resources would fall back to the controller's own role and account, because no other selector "
      + `matches: Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in account ${FIRST}. `
      + "Keep selecting the resources with team-a, or first create a replacement: a selector for the resources, with a "
      + "role in the same account and the annotation ack-role-resolver.io/replaces: team-a. Then apply this change "
      + "again."],
  ["another selector selects the resource",
    [narrowed, [...known, selectorFor("new", FIRST, ["team-a"])], { old: wide }]],
  ["the selector becomes broader", [wide, known, { old: narrowed }]],
  ["controllers drop the malformed selector", [selectorObject("team-a", { arn: "" }), known, { old: wide }], /^deny/],
  ["mode carm", [narrowed, known, { old: wide, settings: { mode: "carm" } }]],
]);
