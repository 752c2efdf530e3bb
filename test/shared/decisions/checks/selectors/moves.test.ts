import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { selectorObject } from "../../objects.ts";
import {
  attemptedBucket, existingBucket, findingLines, FIRST, newBucket, OWN, repeat, replacesMetadata, roleIn, SECOND,
  selectorFor,
} from "../account-fixtures.ts";

const MOVE = "would move to a different account, which controllers reject";
const MOVE_FIX = "Restrict the selector or use a role in the account of the resources. "
  + "To move a resource, delete it and create it again.";

test("IRS-19: denies a selector that moves existing resources to another account", (t) => {
  const linesOf = (...known: readonly JsonObject[]): string[] =>
    findingLines("IRS-19", selectorFor("new", SECOND, ["team-a"]), { known });
  t.same(linesOf(existingBucket("b1", FIRST), existingBucket("b2", OWN), existingBucket("b3", SECOND)), [
    `deny IRS-19 spec: 2 resources ${MOVE}: Bucket team-a/b1 from account ${FIRST} to account ${SECOND} and `
      + `Bucket team-a/b2 from account ${OWN} to account ${SECOND}. ${MOVE_FIX}`,
  ]);
  t.same(
    linesOf(existingBucket("b3", SECOND), newBucket("b4"), existingBucket("b5", FIRST, { namespace: "team-b" })),
    [],
    "the resource is already in the account, does not exist in AWS, or is not selected",
  );
  t.match(
    linesOf(...repeat(30, (name) => existingBucket(name, FIRST)))[0],
    /^deny IRS-19 spec: at least 20 resources .* and others\. /,
  );
  t.end();
});

test("IRS-19: denies a move of a resource without an ARN, and its fix explains how to recreate the resource", (t) => {
  const hint = (names: string): string => `The status of ${names} has no ARN: if the creation failed, `
    + "delete the resource now, while its old role is in use, and create it again after the change.";
  const linesOf = (...known: readonly JsonObject[]): string[] =>
    findingLines("IRS-19", selectorFor("new", SECOND, ["team-a"]), { known });
  t.same(linesOf(attemptedBucket("b1", FIRST), existingBucket("b2", FIRST)), [
    `deny IRS-19 spec: 2 resources ${MOVE}: Bucket team-a/b1 from account ${FIRST} to account ${SECOND} and `
      + `Bucket team-a/b2 from account ${FIRST} to account ${SECOND}. ${MOVE_FIX} ${hint("Bucket team-a/b1")}`,
  ]);
  t.same(linesOf(attemptedBucket("b1", SECOND)), [], "the status records the account of the new role");
  t.end();
});

test("IRS-19: denies a replacement in another account and the deletion of its predecessor", (t) => {
  const gold = selectorFor("gold", FIRST, ["team-a"]);
  const replacer = selectorFor("new", SECOND, ["team-a"], replacesMetadata("gold"));
  const line = `deny IRS-19 spec: 1 resource ${MOVE}: Bucket team-a/b1 from account ${FIRST} to account ${SECOND}.`;
  for (const bucket of [attemptedBucket("b1", FIRST), existingBucket("b1", FIRST), bucketWithARN("b1")]) {
    const known = [gold, bucket];
    const isMove = (lines: readonly string[]): boolean => lines.length === 1 && lines[0]?.startsWith(line) === true;
    t.ok(isMove(findingLines("IRS-19", replacer, { known })), "CREATE");
    const narrow = selectorFor("new", SECOND, ["team-b"], replacesMetadata("gold"));
    t.ok(isMove(findingLines("IRS-19", replacer, { known: [...known, narrow], old: narrow })), "UPDATE");
    const conflict = { known: [...known, replacer], operation: "DELETE" } as const;
    t.ok(isMove(findingLines("IRS-19", gold, conflict)), "DELETE of the replaced selector");
    t.same(findingLines("IRS-19", gold, { known: [gold, newBucket("b1"), replacer], operation: "DELETE" }), []);
  }
  t.end();
});

test("IRS-19: allows a replacement in the same account, and an update that overlaps with a replacement", (t) => {
  const gold = selectorFor("gold", FIRST, ["team-a"]);
  const bucket = existingBucket("b1", FIRST);
  const replacer = selectorFor("new", FIRST, ["team-a"], replacesMetadata("gold"));
  t.same(findingLines("IRS-19", replacer, { known: [gold, bucket] }), []);
  t.same(findingLines("IRS-19", gold, { known: [gold, bucket, replacer], operation: "DELETE" }), []);
  const old = selectorFor("other", SECOND, ["team-b"]);
  const replacing = selectorFor("gold", FIRST, ["team-a"], replacesMetadata("other"));
  const widened = selectorFor("other", SECOND, ["team-a"]);
  t.same(findingLines("IRS-19", widened, { known: [replacing, old, bucket], old }), [], "gold remains");
  t.end();
});

/** Returns a Bucket that has an ARN, but no account. */
function bucketWithARN(name: string): JsonObject {
  return { ...newBucket(name), status: { ackResourceMetadata: { arn: `arn:aws:s3:::${name}` } } };
}

test("IRS-19: treats a synced resource without an account as a resource in the controller's account", (t) => {
  const synced = { ...newBucket("b1"), status: { conditions: [{ type: "ACK.ResourceSynced", status: "True" }] } };
  const linesOf = (settings: object): string[] =>
    findingLines("IRS-19", selectorFor("new", SECOND, ["team-a"]), { known: [synced], settings });
  t.equal(linesOf({}).length, 1);
  t.same(
    linesOf({ controllerAccount: null, controllerRole: roleIn(OWN) }),
    linesOf({}),
    "the account of --controller-role",
  );
  t.same(linesOf({ controllerAccount: null }), []);
  t.end();
});

test("IRS-19: denies an update or deletion that moves resources to another account, but ignores old drift", (t) => {
  const first = selectorFor("first", FIRST, ["team-a"]);
  const second = selectorFor("second", SECOND, ["team-a"]);
  const known = [first, second, existingBucket("b1", FIRST)];
  t.same(findingLines("IRS-19", first, { known, operation: "DELETE" }), [
    `deny IRS-19 spec: 1 resource ${MOVE}: Bucket team-a/b1 from account ${FIRST} to account ${SECOND}. `
      + MOVE_FIX,
  ]);
  t.equal(findingLines("IRS-19", selectorFor("first", FIRST, ["team-b"]), { known, old: first }).length, 1);
  t.same(
    findingLines("IRS-19", second, { known, operation: "DELETE" }),
    [],
    "the remaining selector has the account of the resource",
  );
  t.same(
    findingLines("IRS-19", selectorFor("second", SECOND, ["team-a", "team-b"]), {
      known: [second, existingBucket("b1", FIRST)],
      old: second,
    }),
    [],
    "the drift existed before",
  );
  t.end();
});

const FALL = "would fall back to the controller's own role and account, because no other selector matches";
const FALL_FIX =
  "Keep selecting the resources with team-a, or first create a replacement: a selector for the resources, with a "
    + "role in the same account and the annotation ack-role-resolver.io/replaces: team-a. Then apply this change "
    + "again.";

test("IRS-20: denies an update that leaves resources without a selector", (t) => {
  const old = selectorFor("team-a", FIRST, ["team-a", "team-b"]);
  const narrow = selectorFor("team-a", FIRST, ["team-b"]);
  const known = [old, existingBucket("b1", FIRST), newBucket("b2"), newBucket("b3", { namespace: "team-b" })];
  t.same(findingLines("IRS-20", narrow, { known, old }), [
    `deny IRS-20 spec: 2 resources ${FALL}: Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in account `
      + `${FIRST}. ${FALL_FIX}`,
  ]);
  t.same(
    findingLines("IRS-20", narrow, { known: [...known, selectorFor("new", FIRST, ["team-a"])], old }),
    [],
    "another selector selects the resource",
  );
  t.same(findingLines("IRS-20", old, { known, old: narrow }), [], "the selector becomes broader");
  t.equal(
    findingLines("IRS-20", selectorObject("team-a", { arn: "" }), { known, old }).length,
    1,
    "controllers drop the malformed selector",
  );
  t.same(findingLines("IRS-20", narrow, { known, old, settings: { mode: "carm" } }), []);
  t.end();
});
