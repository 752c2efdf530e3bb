import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, bucketObject, existingBucket, FIRST, mapObject, namespaceObject, roleIn, SECOND, TEAM_MAP,
} from "../objects.ts";
import { testRows } from "../rows.ts";
import { annotationLines } from "./findings.ts";

const owner = (value: string): JsonObject => ({ "services.k8s.aws/owner-account-id": value });
const team = (value: string): JsonObject => ({ "services.k8s.aws/team-id": value });
const MAPS = [
  mapObject(ACCOUNT_MAP, { [FIRST]: roleIn(FIRST), [SECOND]: roleIn(SECOND), alias: roleIn(FIRST, "b") }),
  mapObject(TEAM_MAP, { blue: roleIn(FIRST), red: roleIn(SECOND) }),
];
const line = (effect: string, key = "owner-account-id"): string => (
  `NS-04 metadata.annotations[services.k8s.aws/${key}]: the change ${effect}. Keep the annotation until these `
    + `resources are `
    + "deleted, or set the annotation to a key whose role is in the account of these resources."
);
const MOVE = `moves 1 resource from account ${FIRST} to account ${SECOND}: Bucket team-a/b1`;
const B1 = existingBucket("b1", FIRST);
const MANY = Array.from({ length: 150 }, (_, i) => (
  existingBucket(`b${String(i).padStart(3, "0")}`, i < 120 ? SECOND : FIRST)
));
const IN_FIRST = { controllerAccount: FIRST };
const GATE = { teamLevelCARM: true };

type Input = readonly [from: JsonObject, to: JsonObject, settings?: object, resources?: readonly JsonObject[]];
testRows("NS-04 denies an annotation that moves resources to another account or removes their role",
  ([from, to, settings = {}, resources = [B1]]: Input) => {
    const old = namespaceObject("team-a", {}, from);
    const known = [...MAPS, old, ...resources];
    return annotationLines("NS-04", to, { old, known, settings: { mode: "carm", ...settings } });
  }, [
    ["another account", [owner(FIRST), owner(SECOND)], `deny ${line(MOVE)}`],
    ["mode selectors", [owner(FIRST), owner(SECOND), { mode: "selectors" }], `warn ${line(MOVE)}`],
    ["another key of the same account", [owner(FIRST), owner("alias")]],
    ["the resource does not exist in AWS", [owner(FIRST), owner(SECOND), {}, [bucketObject()]]],
    ["no change", [owner(FIRST), owner(FIRST)]],
    ["a key without a role", [owner(FIRST), owner("none")],
      `deny ${line(`removes the role of 1 resource in account ${FIRST}: Bucket team-a/b1`)}`],
    ["without the annotation controllers look up the account of the resource", [owner(FIRST), {}]],
    ["the resource had no role before", [owner("none"), owner(FIRST)]],
    ["the resource was in another account before",
      [owner(FIRST), owner(SECOND), {}, [existingBucket("b1", "777788889999")]]],
    ["the controllers' account before", [{}, owner(SECOND), IN_FIRST], `deny ${line(MOVE)}`],
    ["the controllers' account after", [owner(FIRST), {}, IN_FIRST]],
    ["the account of the resource", [{}, owner(SECOND), IN_FIRST, [existingBucket("b2", SECOND)]]],
    ["another team", [team("blue"), team("red"), GATE], `deny ${line(MOVE, "team-id")}`],
    ["controllers do not read teams", [team("blue"), team("red")]],
    ["the team takes precedence", [{ ...team("blue"), ...owner(FIRST) }, { ...team("blue"), ...owner(SECOND) }, GATE]],
    ["at most 20 resources", [owner(FIRST), owner(SECOND), {}, MANY],
      `deny ${line(`moves at least 20 resources from account ${FIRST} to account ${SECOND}: `
        + "Bucket team-a/b120, Bucket team-a/b121, Bucket team-a/b122 and 17 more")}`],
  ]);
