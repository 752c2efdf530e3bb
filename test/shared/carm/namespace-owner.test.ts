import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, bucketObject, existingBucket, FIRST, mapObject, namespaceObject, roleIn, SECOND, TEAM_MAP,
} from "../objects.ts";
import { testRows } from "../rows.ts";
import { annotationLines, linesOf } from "../core/findings.ts";

const owner = (value: string): JsonObject => ({ "services.k8s.aws/owner-account-id": value });
const team = (value: string): JsonObject => ({ "services.k8s.aws/team-id": value });
const MAPS = [
  mapObject(ACCOUNT_MAP, {
    [FIRST]: roleIn(FIRST), [SECOND]: roleIn(SECOND), alias: roleIn(FIRST, "b"),
    same: roleIn(FIRST), "s3.only": roleIn(FIRST, "c"), "rds.x": roleIn(FIRST, "d"),
    user: `arn:aws:iam::${FIRST}:user/jane`,
  }),
  mapObject(TEAM_MAP, { blue: roleIn(FIRST), red: roleIn(SECOND), azure: roleIn(FIRST, "e") }),
];
const line = (effect: string, key = "owner-account-id"): string => (
  `NS-04 metadata.annotations[services.k8s.aws/${key}]: the change ${effect}. Keep the annotation until these `
    + `resources are `
    + "deleted, or set the annotation to a key whose role is in the account of these resources."
);
const LOST = `removes the role of 1 resource in account ${FIRST}: Bucket team-a/b1`;
const OWN_ROLE = `leaves 1 resource in account ${FIRST} with the controllers' own role: Bucket team-a/b1`;
const otherKey = (key: string, annotation = "team-id"): string => (
  `deny NS-04 metadata.annotations[services.k8s.aws/${annotation}]: with the change, the role of key "${key}" replaces `
    + `that of 1 resource in account ${FIRST}: Bucket team-a/b1. Keep the annotation, or first set key "${key}" to the `
    + "role that these resources use."
);
const MOVE = `moves 1 resource from account ${FIRST} to account ${SECOND}: Bucket team-a/b1`;
const B1 = existingBucket("b1", FIRST);
const MANY = Array.from({ length: 150 }, (_, i) => (
  existingBucket(`b${String(i).padStart(3, "0")}`, i < 120 ? SECOND : FIRST)
));
const IN_FIRST = { controllerAccount: FIRST };
const GATE = { teamLevelCARM: true };

const GATES = { ...GATE, serviceLevelCARM: true };
const EXTENDED = { ...GATE, runtime: "extended" };
const proposed = (value: string): JsonObject => ({ "services.k8s.aws/owner-team-id": value });

type Input = readonly [from: JsonObject, to: JsonObject, settings?: object, resources?: readonly JsonObject[]];
const ns04 = ([from, to, settings = {}, resources = [B1]]: Input): string[] => {
  const old = namespaceObject("team-a", {}, from);
  const known = [...MAPS, old, ...resources];
  return annotationLines("NS-04", to, { old, known, settings: { mode: "carm", ...settings } });
};

testRows("NS-04 denies an annotation that moves resources to another account or removes their role",
  ns04, [
    ["another account", [owner(FIRST), owner(SECOND)], `deny ${line(MOVE)}`],
    ["mode selectors", [owner(FIRST), owner(SECOND), { mode: "selectors" }], `warn ${line(MOVE)}`],
    ["another key of the same account", [owner(FIRST), owner("alias")]],
    ["the resource does not exist in AWS", [owner(FIRST), owner(SECOND), {}, [bucketObject()]]],
    ["no change", [owner(FIRST), owner(FIRST)]],
    ["a key without a role", [owner(FIRST), owner("none")],
      `deny ${line(LOST)}`],
    ["a key of another service", [owner(FIRST), owner("rds.x"), { serviceLevelCARM: true }], `deny ${line(LOST)}`],
    ["the resource had no role before", [owner("none"), owner(FIRST)]],
    ["the resource was in another account before",
      [owner(FIRST), owner(SECOND), {}, [existingBucket("b1", "777788889999")]]],
    ["the controllers' account before", [{}, owner(SECOND), IN_FIRST], `deny ${line(MOVE)}`],
    ["the account of the resource", [{}, owner(SECOND), IN_FIRST, [existingBucket("b2", SECOND)]]],
    ["another team", [team("blue"), team("red"), GATE], `deny ${line(MOVE, "team-id")}`],
    ["controllers do not read teams", [team("blue"), team("red")]],
    ["the team takes precedence", [{ ...team("blue"), ...owner(FIRST) }, { ...team("blue"), ...owner(SECOND) }, GATE]],
    ["at most 20 resources", [owner(FIRST), owner(SECOND), {}, MANY],
      `deny ${line(`moves at least 20 resources from account ${FIRST} to account ${SECOND}: `
        + "Bucket team-a/b120, Bucket team-a/b121, Bucket team-a/b122 and 17 more")}`],
  ]);

// The sidecar does not read the account in the status of a resource, so this account replaces no annotation.
testRows("NS-04 denies the removal of the annotation that chooses the role of a resource", ns04, [
  ["the account", [owner(FIRST), {}], `deny ${line(LOST)}`],
  ["the account becomes empty", [owner(FIRST), owner("")], `deny ${line(LOST)}`],
  ["a key that is no account", [owner("alias"), {}], `deny ${line(LOST)}`],
  ["mode selectors", [owner(FIRST), {}, { mode: "selectors" }], `warn ${line(LOST)}`],
  ["the controllers' account", [owner(FIRST), {}, IN_FIRST], `deny ${line(OWN_ROLE)}`],
  ["the resource does not exist in AWS", [owner(FIRST), {}, {}, [bucketObject()]],
    `deny ${line("leaves 1 resource with the controllers' own role: Bucket team-a/b1")}`],
  ["the team", [team("blue"), {}, GATE], `deny ${line(LOST, "team-id")}`],
  ["the team becomes empty", [team("blue"), team(""), GATE], `deny ${line(LOST, "team-id")}`],
  ["the team of the proposal", [proposed("blue"), {}, EXTENDED], `deny ${line(LOST, "owner-team-id")}`],
  ["controllers do not read the team of the proposal", [proposed("blue"), {}, GATE]],
  ["the team, before an account in another account", [{ ...team("blue"), ...owner(SECOND) }, owner(SECOND), GATE],
    `deny ${line(MOVE, "team-id")}`],
  ["the team, before another role in the same account", [{ ...team("blue"), ...owner("alias") }, owner("alias"), GATE],
    otherKey("alias")],
  ["the team, before an account without a role", [{ ...team("blue"), ...owner("none") }, owner("none"), GATE],
    `deny ${line(LOST, "team-id")}`],
  ["the team before an account without a role, and the resource does not exist in AWS",
    [{ ...team("blue"), ...owner("none") }, owner("none"), GATE, [bucketObject()]],
    `deny ${line("removes the role of 1 resource: Bucket team-a/b1", "team-id")}`],
  ["the team, before the same role", [{ ...team("blue"), ...owner(FIRST) }, owner(FIRST), GATE]],
  ["the team, before that of the proposal",
    [{ ...team("blue"), ...proposed("azure") }, proposed("azure"), EXTENDED], otherKey("azure")],
  ["an account that the team precedes", [{ ...team("blue"), ...owner(FIRST) }, team("blue"), GATE]],
  ["a team that controllers do not read", [{ ...team("blue"), ...owner(FIRST) }, owner(FIRST)]],
  ["a team in place of the account", [owner("alias"), team("blue"), GATE]],
  ["only the role of a service", [owner("only"), {}, { serviceLevelCARM: true }], `deny ${line(LOST)}`],
  ["the role of a service, before that of all",
    [{ ...team("blue"), ...owner("only") }, owner("only"), GATES], otherKey("s3.only")],
  ["the team, before a key of another service", [{ ...team("blue"), ...owner("rds.x") }, owner("rds.x"), GATES],
    `deny ${line(LOST, "team-id")}`],
  ["the annotation chose no role", [owner("none"), {}]],
  ["the annotation chose no role for a resource that does not exist in AWS", [owner("none"), {}, {}, [bucketObject()]]],
  ["the annotation named the ARN of a user", [owner("user"), {}]],
  ["the resource was in another account before", [owner(FIRST), {}, {}, [existingBucket("b1", SECOND)]]],
  ["no resource", [owner(FIRST), {}, {}, []]],
]);

const inTeamB = (account: string): JsonObject => existingBucket("b2", account, { namespace: "team-b" });
const ofStatus = inTeamB(FIRST);
const UNNAMED = "deny NS-04 metadata.annotations[services.k8s.aws/owner-account-id]: no other namespace names account "
  + `${FIRST}, so the sidecar no longer grants the role of 1 resource whose namespace names none: Bucket team-b/b2. `
  + "First annotate the namespaces of these resources with their account.";
const others = (...annotated: readonly JsonObject[]): readonly JsonObject[] => [
  ofStatus, namespaceObject("team-b"), ...annotated,
];
const named = (name: string, annotations: JsonObject): JsonObject => namespaceObject(name, {}, annotations);

testRows("NS-04 denies that the last namespace stops naming the account that only a status names elsewhere", ns04, [
  ["the annotation is removed", [owner(FIRST), {}, {}, others()], UNNAMED],
  ["another account is named", [owner(FIRST), owner(SECOND), {}, others()], UNNAMED],
  ["a team takes its place", [owner(FIRST), { ...owner(FIRST), ...team("red") }, GATE, others()], UNNAMED],
  ["a namespace without a team still names it", [owner(FIRST), {}, GATE, others(named("team-c", owner(FIRST)))]],
  ["it is kept", [owner(FIRST), { ...owner(FIRST), "example.com/a": "b" }, {}, others()]],
  ["no account was named", [{}, owner(SECOND), {}, others()]],
  ["another namespace names the same role", [owner(FIRST), {}, {}, others(named("team-c", owner("same")))]],
  ["its own namespace names it", [owner(FIRST), {}, {}, [ofStatus, named("team-b", owner(FIRST))]]],
  ["its own namespace names another account", [owner(FIRST), {}, {}, [ofStatus, named("team-b", owner(SECOND))]]],
  ["the account has no role", [owner("none"), {}, {}, [inTeamB("none"), named("team-b", {})]]],
  ["a resource of another account", [owner(FIRST), {}, {}, [inTeamB(SECOND), named("team-b", {})]]],
]);

test("NS-04 denies the deletion of the last namespace that names such an account", (t) => {
  const object = namespaceObject("team-a", {}, owner(FIRST));
  const settings = { mode: "carm" } as const;
  const lines = (...known: readonly JsonObject[]): readonly string[] => (
    linesOf("NS-04", object, { old: object, operation: "DELETE", known: [...MAPS, object, ...known], settings })
  );
  t.same(lines(...others()), [UNNAMED]);
  t.same(lines(B1), [], "its own resources are deleted with it");
  t.end();
});
