import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import {
  ACCOUNT_MAP, annotationLines, CARM, existingBucket, mapObject, ONE, roleIn, TEAM_MAP, TWO,
} from "../subjects.ts";

const owner = (value: string): JsonObject => ({ "services.k8s.aws/owner-account-id": value });
const team = (value: string): JsonObject => ({ "services.k8s.aws/team-id": value });
const MAPS = [
  mapObject(ACCOUNT_MAP, { [ONE]: roleIn(ONE), [TWO]: roleIn(TWO), alias: roleIn(ONE, "b") }),
  mapObject(TEAM_MAP, { blue: roleIn(ONE), red: roleIn(TWO) }),
];
const FIX = "Keep the annotation until these resources are deleted, or set the annotation to a key whose role is in "
  + "the account of these resources.";
const PATH = "NS-04 metadata.annotations[services.k8s.aws/owner-account-id]";
const MOVE = `the change moves 1 resource from account ${ONE} to account ${TWO}: Bucket team-a/b1`;

interface Options {
  readonly settings?: object;
  readonly resources?: readonly JsonObject[];
}

/** Returns the findings of NS-04 if the annotations of namespace team-a change. */
function lines(
  from: JsonObject, to: JsonObject, { settings = {}, resources = [existingBucket("b1", ONE)] }: Options = {},
): string[] {
  const old = namespaceObject("team-a", {}, from);
  return annotationLines("NS-04", to, { old, known: [...MAPS, old, ...resources], settings: { ...CARM, ...settings } });
}

test("NS-04 denies an annotation that moves resources to another account, and warns in mode selectors", (t) => {
  t.same(lines(owner(ONE), owner(TWO)), [`deny ${PATH}: ${MOVE}. ${FIX}`]);
  t.same(lines(owner(ONE), owner(TWO), { settings: { mode: "selectors" } }), [`warn ${PATH}: ${MOVE}. ${FIX}`]);
  t.same(lines(owner(ONE), owner("alias")), [], "another key of the same account");
  t.same(lines(owner(ONE), owner(TWO), { resources: [bucketObject()] }), [], "the resource does not exist in AWS");
  t.same(lines(owner(ONE), owner(ONE)), []);
  t.end();
});

test("NS-04 denies a change that leaves existing resources without a role", (t) => {
  t.same(lines(owner(ONE), owner("none")), [
    `deny ${PATH}: the change removes the role of 1 resource in account ${ONE}: Bucket team-a/b1. ${FIX}`,
  ]);
  t.same(lines(owner(ONE), {}), [], "without the annotation controllers look up the account of the resource");
  t.same(lines(owner("none"), owner(ONE)), [], "the resource had no role before");
  const resources = [existingBucket("b1", "777788889999")];
  t.same(lines(owner(ONE), owner(TWO), { resources }), [], "the resource was in another account before");
  t.end();
});

test("NS-04 uses the controllers' account for a namespace without an annotation", (t) => {
  const settings = { controllerAccount: ONE };
  t.same(lines({}, owner(TWO), { settings }), [`deny ${PATH}: ${MOVE}. ${FIX}`]);
  t.same(lines(owner(ONE), {}, { settings }), []);
  t.same(lines({}, owner(TWO), { settings, resources: [existingBucket("b2", TWO)] }), []);
  t.end();
});

test("NS-04 checks only the team annotation if TeamLevelCARM is on", (t) => {
  const settings = { teamLevelCARM: true };
  t.same(lines(team("blue"), team("red"), { settings }), [
    `deny NS-04 metadata.annotations[services.k8s.aws/team-id]: ${MOVE}. ${FIX}`,
  ]);
  t.same(lines(team("blue"), team("red")), [], "controllers do not read teams");
  t.same(lines({ ...team("blue"), ...owner(ONE) }, { ...team("blue"), ...owner(TWO) }, { settings }), []);
  t.end();
});

test("NS-04 lists at most 20 resources", (t) => {
  const resources = Array.from({ length: 150 }, (_, i) => (
    existingBucket(`b${String(i).padStart(3, "0")}`, i < 120 ? TWO : ONE)
  ));
  t.same(lines(owner(ONE), owner(TWO), { resources }), [
    `deny ${PATH}: the change moves at least 20 resources from account ${ONE} to account ${TWO}: `
    + `Bucket team-a/b120, Bucket team-a/b121, Bucket team-a/b122 and 17 more. ${FIX}`,
  ]);
  t.end();
});
