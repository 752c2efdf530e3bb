import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, bucketObject, existingBucket, FIRST, mapObject, namespaceObject, roleIn, SECOND, TEAM_MAP, withWaiver,
} from "../objects.ts";
import { testRows } from "../rows.ts";
import { checkChange, linesOf } from "../core/findings.ts";

const CARM = { mode: "carm" } as const;
const owned = (name: string, id: string, key = "owner-account-id"): JsonObject => (
  namespaceObject(name, {}, { [`services.k8s.aws/${key}`]: id })
);
const B3 = existingBucket("b3", SECOND, { namespace: "team-b" });
const KNOWN = [owned("team-a", FIRST), bucketObject(), existingBucket("b2", FIRST), namespaceObject("team-b"), B3];
const BUCKETS = Array.from({ length: 300 }, (_, i) => bucketObject({ name: `b${String(i).padStart(3, "0")}` }));

interface Options {
  readonly settings?: object;
  readonly known?: readonly JsonObject[];
  readonly map?: string;
  readonly namespace?: string;
}
/** The data before and after the change of a CARM map. Without data after it, the map is deleted. */
type Input = readonly [from: JsonObject, to: JsonObject | null, options?: Options];

function lines([from, to, options = {}]: Input): string[] {
  const { settings = {}, known = KNOWN, map = ACCOUNT_MAP, namespace = "ack-system" } = options;
  const old = mapObject(map, from, namespace);
  const change = to === null ? { operation: "DELETE" } as const : { old };
  const object = to === null ? old : mapObject(map, to, namespace);
  return linesOf("CM-08", object, { ...change, known: [old, ...known], settings: { ...CARM, ...settings } });
}

const line = (key: string, effect: string, users: string, severity = "deny"): string => (
  `${severity} CM-08 data[${key}]: the key ${effect}, but is used by ${users}. Delete the resources first, or annotate `
    + "their namespaces with another key whose role is in the same account. Then change or remove the key."
);
const TWO = "2 resources: Bucket team-a/b1 and Bucket team-a/b2";
const loses = (key: string, users: string, severity?: string): string => line(key, "loses its role", users, severity);
const REMOVED = loses(FIRST, `1 namespace: team-a; ${TWO}`);
const MOVED = `changes from account ${FIRST} to account ${SECOND}`;
const OF_B3 = loses(SECOND, "1 resource: Bucket team-b/b3");
const DATA = { [FIRST]: roleIn(FIRST) };
const OF_SECOND = { [SECOND]: roleIn(SECOND) };
const SELECTORS = { settings: { mode: "selectors" } };
const TEAM = { map: TEAM_MAP, known: [owned("team-a", "blue", "team-id"), bucketObject()] };
const SERVICE = { settings: { serviceLevelCARM: true } };
const S3 = { [`s3.${FIRST}`]: roleIn(FIRST) };

testRows("CM-08 denies the removal or move of a used key in mode carm, and only warns in mode selectors", lines, [
  ["removed", [DATA, {}], REMOVED],
  ["removed in mode selectors", [DATA, {}, SELECTORS], REMOVED.replace("deny", "warn")],
  ["an empty value", [DATA, { [FIRST]: "" }], REMOVED],
  ["a value that is not an ARN", [DATA, { [FIRST]: "x" }], REMOVED],
  ["the ARN of the root user", [DATA, { [FIRST]: `arn:aws:iam::${FIRST}:root` }], REMOVED],
  ["the ARN of the root user before", [{ [FIRST]: `arn:aws:iam::${FIRST}:root` }, {}]],
  ["an unused key", [{ other: roleIn(FIRST) }, {}]],
  ["the key had no role before", [{ [FIRST]: "" }, {}]],
  ["controllers read another map", [DATA, {}, { namespace: "team-a" }]],
  ["another account", [DATA, { [FIRST]: roleIn(SECOND) }], line(FIRST, MOVED, `1 namespace: team-a; ${TWO}`)],
  ["the same account", [DATA, { [FIRST]: roleIn(FIRST, "b"), ...OF_SECOND }]],
  ["a resource in the account of the key, without an annotation", [OF_SECOND, {}], OF_B3],
  ["in their own account controllers use their own role", [OF_SECOND, {}, { settings: { controllerAccount: SECOND } }]],
  ["the namespace names another key", [OF_SECOND, {}, { known: [owned("team-b", FIRST), B3] }]],
  ["the key is in the team map", [OF_SECOND, {}, { map: TEAM_MAP }]],
  ["a team", [{ blue: roleIn(FIRST) }, {}, { ...TEAM, settings: { teamLevelCARM: true } }],
    loses("blue", "1 namespace: team-a; 1 resource: Bucket team-a/b1")],
  ["controllers do not read teams", [{ blue: roleIn(FIRST) }, {}, TEAM]],
  ["the plain key has a role in the same account", [{ ...DATA, [`s3.${FIRST}`]: roleIn(FIRST, "s3") }, DATA, SERVICE]],
  ["resources of other services than the key's would have no role", [{ ...DATA, ...S3 }, S3, SERVICE],
    loses(FIRST, "1 namespace: team-a")],
  ["the plain key has a role in another account",
    [{ [FIRST]: roleIn(SECOND), ...S3 }, { [FIRST]: roleIn(SECOND) }, SERVICE], line(`s3.${FIRST}`, MOVED, TWO)],
  ["controllers do not read keys of services", [S3, {}]],
  ["at most 20 users", [DATA, {}, { known: [owned("team-a", FIRST), ...BUCKETS] }],
    loses(FIRST, "at least 1 namespace: team-a; at least 19 resources: "
      + "Bucket team-a/b000, Bucket team-a/b001, Bucket team-a/b002 and 16 more")],
  ["300 namespaces of another key", [DATA, {}, { known: BUCKETS.map((_, i) => owned(`ns-${i}`, SECOND)) }]],
  ["the deletion of a used map", [{ ...DATA, ...OF_SECOND }, null], REMOVED, OF_B3],
  ["the deletion in mode selectors", [OF_SECOND, null, SELECTORS], OF_B3.replace("deny", "warn")],
  ["no namespace names a key", [DATA, null, { known: [namespaceObject("team-a"), bucketObject()] }]],
  ["an empty map", [{}, null]],
  ["the deletion of a map that controllers do not read", [DATA, null, { namespace: "team-a" }]],
]);

test("CM-08 can be waived", (t) => {
  const { metadata } = mapObject(ACCOUNT_MAP, {});
  const waived = withWaiver({ ...mapObject(ACCOUNT_MAP, {}), metadata }, "CM-08");
  t.equal(checkChange(waived, { old: mapObject(ACCOUNT_MAP, DATA), known: KNOWN, settings: CARM }).denied, false);
  t.end();
});
