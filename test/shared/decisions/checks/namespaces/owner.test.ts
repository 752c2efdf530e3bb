import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import type { Circumstances } from "../selector-changes.ts";
import {
  ACCOUNT_MAP, annotationLines, CARM, existing, linesOf, mapObject, ONE, roleIn, TEAM_MAP, TWO,
} from "../subjects.ts";

const owner = (value: string): JsonObject => ({ "services.k8s.aws/owner-account-id": value });
const team = (value: string): JsonObject => ({ "services.k8s.aws/team-id": value });
const MAPS = [
  mapObject(ACCOUNT_MAP, { [ONE]: roleIn(ONE), [TWO]: roleIn(TWO), alias: roleIn(ONE, "b") }),
  mapObject(TEAM_MAP, { blue: roleIn(ONE), red: roleIn(TWO) }),
];
const FIX = "Leave the annotation until these resources are gone, or name a key whose role is in their account.";
const PATH = "NS-04 metadata.annotations[services.k8s.aws/owner-account-id]";

/** What a step of team-a between these annotations does to what exists there. */
function lines(from: JsonObject, to: JsonObject, { settings = {}, resources = [existing("b1", ONE)] }: { settings?: object; resources?: readonly JsonObject[] } = {}): string[] {
  const old = namespaceObject("team-a", {}, from);
  const circumstances: Circumstances = { old, known: [...MAPS, old, ...resources], settings: { ...CARM, ...settings } };
  return annotationLines("NS-04", to, circumstances);
}

test("NS-04: another account for what exists is refused in mode carm, and told in mode selectors", (t) => {
  const message = `${PATH}: the change moves 1 resource from account ${ONE} to account ${TWO}: Bucket team-a/b1. ${FIX}`;
  t.same(lines(owner(ONE), owner(TWO)), [`deny ${message}`]);
  t.same(lines(owner(ONE), owner(TWO), { settings: { mode: "selectors" } }), [`warn ${message}`]);
  t.same(lines(owner(ONE), owner("alias")), [], "another key of the same account");
  t.same(lines(owner(ONE), owner(TWO), { resources: [bucketObject()] }), [], "what does not exist is nowhere");
  t.same(lines(owner(ONE), owner(ONE)), []);
  t.end();
});

test("NS-04: no role for what exists is refused", (t) => {
  t.same(lines(owner(ONE), owner("none")), [`deny ${PATH}: the change leaves 1 resource of account ${ONE} without a role: Bucket team-a/b1. ${FIX}`]);
  t.same(lines(owner(ONE), {}), [], "without the annotation controllers look up the account that it exists in");
  const elsewhere = existing("b1", "777788889999");
  t.same(lines(owner("none"), owner(ONE)), [], "it mends what had no role");
  t.same(lines(owner(ONE), owner(TWO), { resources: [elsewhere] }), [], "it was cut off before");
  t.end();
});

test("NS-04: without an annotation what exists in the controllers' account stays there", (t) => {
  const settings = { controllerAccount: ONE };
  t.same(lines({}, owner(TWO), { settings }), [`deny ${PATH}: the change moves 1 resource from account ${ONE} to account ${TWO}: Bucket team-a/b1. ${FIX}`]);
  t.same(lines(owner(ONE), {}, { settings }), []);
  t.same(lines({}, owner(TWO), { settings, resources: [existing("b2", TWO)] }), []);
  t.end();
});

test("NS-04: a team that is read decides alone", (t) => {
  const settings = { teamLevelCARM: true };
  t.same(lines(team("blue"), team("red"), { settings }), [
    `deny NS-04 metadata.annotations[services.k8s.aws/team-id]: the change moves 1 resource from account ${ONE} to account ${TWO}: Bucket team-a/b1. ${FIX}`,
  ]);
  t.same(lines(team("blue"), team("red")), [], "nobody reads it");
  t.same(lines({ ...team("blue"), ...owner(ONE) }, { ...team("blue"), ...owner(TWO) }, { settings }), []);
  t.end();
});

test("NS-04: it looks no further than 20, in pieces", (t) => {
  const resources = Array.from({ length: 150 }, (_, i) => existing(`b${String(i).padStart(3, "0")}`, i < 120 ? TWO : ONE));
  t.same(lines(owner(ONE), owner(TWO), { resources }), [
    `deny ${PATH}: the change moves at least 20 resources from account ${ONE} to account ${TWO}: Bucket team-a/b120, Bucket team-a/b121, Bucket team-a/b122 and 17 more. ${FIX}`,
  ]);
  t.end();
});

test("NS-13: what a namespace takes with it is told", (t) => {
  const known = [existing("b1", ONE), bucketObject({ name: "b2" }), bucketObject({ namespace: "team-b" })];
  t.same(linesOf("NS-13", namespaceObject("team-a"), { operation: "DELETE", known }), [
    "warn NS-13 metadata.name: with the namespace go 2 resources: Bucket team-a/b1 and Bucket team-a/b2. Leave the namespace's labels and annotations and the selectors of its resources as they are until it is gone.",
  ]);
  t.same(linesOf("NS-13", namespaceObject("team-c"), { operation: "DELETE", known }), []);
  t.same(linesOf("NS-13", namespaceObject("team-a"), { known }), [], "at CREATE");
  t.end();
});
