import { test } from "tap";
import { applyEdits, remove, type Repair, set } from "../../../shared/core/repair.ts";
import { isReplacement, objectNameOf, ObjectsByName } from "../../../shared/diagnosis/object-changes.ts";
import { offeredRepairs } from "../../../shared/diagnosis/offered-repairs.ts";
import { RelatedObjects } from "../../../shared/diagnosis/related.ts";
import { selectorName } from "../../../shared/ack/selector-conditions.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  bucketObject, existingBucket, FIRST, inventoryWith, namespaceObject, newBucket, roleIn, SECOND, selectorFor,
  SETTINGS_BY_DEFAULT,
} from "../objects.ts";

const NO_CONTROLLERS = { controllers: [], others: [], unread: null };

interface Offer {
  readonly origin?: "file" | "cluster";
  readonly isWhole?: boolean;
  readonly when?: string;
  readonly settings?: DecisionSettings;
}

/** Returns when to choose the repair of the object; null if it is not offered. */
function offered(
  object: JsonObject, others: readonly JsonObject[], edits: Repair["edits"],
  { origin = "cluster", isWhole = true, settings = SETTINGS_BY_DEFAULT, ...way }: Offer = {},
): string | null {
  const found = { object };
  const all = [found, ...others.map((one) => ({ object: one }))];
  const inventory = inventoryWith(all.map((one) => one.object), { origin });
  const scope = {
    inventory, settings, origin, related: new RelatedObjects(all, NO_CONTROLLERS), isWhole,
    subject: found,
  };
  const [repair] = offeredRepairs([{ edits, ...way }], found, scope);
  return repair === undefined ? null : repair.when ?? "";
}

const TEAM_A = namespaceObject("team-a");
const NAMES = ["spec", "namespaceSelector", "names"];
const ofSelector = (name: string): { readonly of: ReturnType<typeof selectorName> } => ({ of: selectorName(name) });

test("offers no repair that the webhook would deny", (t) => {
  const mine = selectorFor("mine", FIRST, ["other"]);
  const select = [{ ...ofSelector("mine"), ...set([...NAMES, 1], "team-a") }];
  t.equal(offered(newBucket("b1"), [TEAM_A, mine], select), "", "an update of a selector");
  t.equal(offered(newBucket("b1"), [TEAM_A, mine, selectorFor("theirs", SECOND, ["team-a"])], select), null, "IRS-17");
  const create = [{ ...ofSelector("new"), ...set([], selectorFor("new", FIRST, ["team-a"])) }];
  t.equal(offered(newBucket("b1"), [TEAM_A], create), "", "a creation");
  const broken = [{ ...ofSelector("new"), ...set([], selectorFor("new", "1", ["team-a"])) }];
  t.equal(offered(newBucket("b1"), [TEAM_A], broken), null, "a creation of a malformed selector");
  const used = [TEAM_A, selectorFor("used", FIRST, ["team-a"])];
  const deletion = [{ ...ofSelector("used"), ...remove([]) }];
  t.equal(offered(existingBucket("b1", FIRST), used, deletion), null, "the deletion of a selector in use");
  t.equal(offered(newBucket("b1"), [TEAM_A], deletion), "", "what is deleted already");
  t.end();
});

test("replaces a selector whose role changes, because the API server rejects the update", (t) => {
  const role = set(["spec", "arn"], "arn:aws:iam::111122223333:role/b");
  const selector = selectorFor("mine", FIRST, ["team-a"]);
  const byCopy = "spec.arn cannot be changed, so a copy with the new role replaces the selector";
  t.equal(offered(selector, [TEAM_A], [role]), byCopy);
  const roles = `from ${roleIn(FIRST, "mine")} to ${roleIn(FIRST, "b")}`;
  const effect = `this also changes the role of Bucket team-a/b1 ${roles}`;
  t.equal(offered(selector, [TEAM_A, existingBucket("b1", FIRST)], [role]), `${byCopy}; ${effect}`);
  const elsewhere = set(["spec", "arn"], `arn:aws:iam::${SECOND}:role/b`);
  t.equal(offered(selector, [TEAM_A, existingBucket("b1", FIRST)], [elsewhere]), null, "the bucket is in an account");
  t.equal(offered(selector, [TEAM_A, existingBucket("b1", FIRST)], [role], { origin: "file" }),
    effect, "a file does not tell what is stored");
  const twice = selectorFor("mine", FIRST, ["team-a", "team-a"]);
  t.equal(offered(twice, [TEAM_A], [role], { origin: "file" }), "", "it had another fault before");
  t.equal(offered(selector, [TEAM_A], [set(["spec", "arn"], "x")], { origin: "file" }), null);
  const secret = set(["metadata", "annotations"], { "ack-role-resolver.io/external-id": "hush" });
  const withSecret = applyEdits(selector, [secret]) ?? {};
  t.equal(offered(withSecret, [TEAM_A], [role]), null, "the copy would show the external ID");
  t.equal(isReplacement(selector, bucketObject()), true);
  t.equal(isReplacement({ kind: "Unknown" }, { kind: "Unknown", spec: 1 }), false);
  t.end();
});

test("offers no repair after which another resource is worse off, and says whose role changes", (t) => {
  const others = [TEAM_A, selectorFor("mine", FIRST, ["other"]), newBucket("b2")];
  const edits = [{ ...ofSelector("mine"), ...set([...NAMES, 1], "team-a") }];
  const effect = "this also changes the role of Bucket team-a/b2 from the controller's own role to "
    + roleIn(FIRST, "mine");
  t.equal(offered(newBucket("b1"), others, edits), effect);
  t.equal(offered(newBucket("b1"), others, edits, { when: "if mine is meant" }), `if mine is meant; ${effect}`);
  t.equal(offered(newBucket("b1"), others, edits, { isWhole: false }), "", "not known without all resources");
  t.equal(offered(newBucket("b1"), others, [set(["metadata", "labels", { key: "a" }], "b")]), "", "only its own");
  const labeled = newBucket("b1", { labels: { tier: "gold" } });
  const narrow = [{ ...ofSelector("all"), ...set([...NAMES, 0], "other") }];
  const all = [TEAM_A, selectorFor("all", FIRST, ["team-a"]), newBucket("b2")];
  t.equal(offered(labeled, all, narrow), null, "b2 falls back to the controller's own role");
  const observed = { ...SETTINGS_BY_DEFAULT, checkSeverities: new Map([["*", "warn"] as const]) };
  t.equal(offered(labeled, all, narrow, { settings: observed }), null, "also if the webhook only warns");
  const both = [TEAM_A, selectorFor("one", FIRST, ["team-a"]), selectorFor("two", FIRST, ["team-a"]), newBucket("b2")];
  t.equal(offered(newBucket("b1"), both, [{ ...ofSelector("two"), ...remove([]) }]),
    `this also changes the role of Bucket team-a/b2 from none (conflict) to ${roleIn(FIRST, "one")}`);
  const conflict = [TEAM_A, selectorFor("one", FIRST, ["team-a"]), selectorFor("two", FIRST, ["team-b"]),
    namespaceObject("team-b", {}), newBucket("b2", { namespace: "team-b" })];
  const more = [{ of: objectNameOf(namespaceObject("team-b")), ...set(["metadata", "labels", { key: "x" }], "y") }];
  t.equal(offered(newBucket("b1"), conflict, more), "", "another object without an effect");
  t.end();
});

test("groups the edits of a repair by object", (t) => {
  const found = { object: bucketObject() };
  const [own, other] = [set(["spec", "a"], 1), { ...ofSelector("s"), ...set(["spec", "b"], 2) }];
  const changes = new ObjectsByName([found]).changesOf({ edits: [own, other, set(["spec", "c"], 3)] }, found);
  t.same(changes.map(({ name, edits }) => [name.kind, edits.length]), [["Bucket", 2], ["IAMRoleSelector", 1]]);
  t.same(changes[1]?.found, null);
  t.same(objectNameOf(TEAM_A), { apiVersion: "v1", kind: "Namespace", namespace: null, name: "team-a" });
  t.end();
});
