import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import { checkChange } from "../selector-changes.ts";
import { ACCOUNT_MAP, CARM, existingBucket, linesOf, mapObject, ONE, roleIn, TEAM_MAP, TWO } from "../subjects.ts";

const owned = (name: string, id: string, key = "owner-account-id"): JsonObject => (
  namespaceObject(name, {}, { [`services.k8s.aws/${key}`]: id })
);
const FIX = "Delete the resources first, or annotate their namespaces with another key whose role is in the same "
  + "account. Then change or remove the key.";
const KNOWN = [
  owned("team-a", ONE), bucketObject(), existingBucket("b2", ONE), namespaceObject("team-b"),
  existingBucket("b3", TWO, { namespace: "team-b" }),
];

interface Options {
  readonly settings?: object;
  readonly known?: readonly JsonObject[];
  readonly map?: string;
  readonly namespace?: string;
}

/** Returns the findings of CM-08 for a change of the data of a CARM map, as lines. */
function lines(
  from: JsonObject, to: JsonObject,
  { settings = {}, known = KNOWN, map = ACCOUNT_MAP, namespace = "ack-system" }: Options = {},
): string[] {
  const old = mapObject(map, from, namespace);
  const changed = mapObject(map, to, namespace);
  return linesOf("CM-08", changed, { old, known: [old, ...known], settings: { ...CARM, ...settings } });
}

const line = (key: string, effect: string, users: string): string => (
  `deny CM-08 data[${key}]: the key ${effect}, but is used by ${users}. ${FIX}`
);
const USERS = "1 namespace: team-a; 2 resources: Bucket team-a/b1 and Bucket team-a/b2";

test("CM-08 denies the removal of a used key in mode carm, and only warns in mode selectors", (t) => {
  const removed = line(ONE, "loses its role", USERS);
  t.same(lines({ [ONE]: roleIn(ONE) }, {}), [removed]);
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { settings: { mode: "selectors" } }), [removed.replace("deny", "warn")]);
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: "" }), [removed], "an empty value");
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: "x" }), [removed], "a value that is not an ARN");
  t.same(lines({ other: roleIn(ONE) }, {}), [], "an unused key");
  t.same(lines({ [ONE]: "" }, {}), [], "the key had no role before");
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { namespace: "team-a" }), [], "controllers read another map");
  t.end();
});

test("CM-08 denies a role in another account for a used key, and allows a role in the same account", (t) => {
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(TWO) }), [
    line(ONE, `changes from account ${ONE} to account ${TWO}`, USERS),
  ]);
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(ONE, "b"), [TWO]: roleIn(TWO) }), []);
  t.end();
});

test("CM-08 counts a resource that exists in the account of the key if its namespace has no CARM annotation", (t) => {
  const removed = { [TWO]: roleIn(TWO) };
  t.same(lines(removed, {}), [line(TWO, "loses its role", "1 resource: Bucket team-b/b3")]);
  const settings = { controllerAccount: TWO };
  t.same(lines(removed, {}, { settings }), [], "in their own account controllers use their own role");
  const known = [owned("team-b", ONE), existingBucket("b3", TWO, { namespace: "team-b" })];
  t.same(lines(removed, {}, { known }), [], "the namespace names another key");
  t.same(lines(removed, {}, { map: TEAM_MAP }), [], "the key is in the team map");
  t.end();
});

test("CM-08 counts namespaces that name a team as users of the team map if TeamLevelCARM is on", (t) => {
  const options = { map: TEAM_MAP, known: [owned("team-a", "blue", "team-id"), bucketObject()] };
  t.same(lines({ blue: roleIn(ONE) }, {}, { ...options, settings: { teamLevelCARM: true } }), [
    line("blue", "loses its role", "1 namespace: team-a; 1 resource: Bucket team-a/b1"),
  ]);
  t.same(lines({ blue: roleIn(ONE) }, {}, options), []);
  t.end();
});

test("CM-08 looks up the plain key if the service key is missing", (t) => {
  const settings = { serviceLevelCARM: true };
  const both = { [ONE]: roleIn(ONE), [`s3.${ONE}`]: roleIn(ONE, "s3") };
  t.same(lines(both, { [ONE]: roleIn(ONE) }, { settings }), [], "the plain key has a role in the same account");
  t.same(lines(both, { [`s3.${ONE}`]: roleIn(ONE) }, { settings }), [
    line(ONE, "loses its role", "1 namespace: team-a"),
  ], "the Buckets use the key of their service, and resources of other services would have no role");
  t.same(lines({ [ONE]: roleIn(TWO), [`s3.${ONE}`]: roleIn(ONE) }, { [ONE]: roleIn(TWO) }, { settings }), [
    line(
      `s3.${ONE}`,
      `changes from account ${ONE} to account ${TWO}`,
      "2 resources: Bucket team-a/b1 and Bucket team-a/b2",
    ),
  ]);
  t.same(lines({ [`s3.${ONE}`]: roleIn(ONE) }, {}), [], "controllers do not read keys of services");
  t.end();
});

test("CM-08 lists at most 20 users of a key, and can be waived", (t) => {
  const buckets = Array.from({ length: 300 }, (_, i) => bucketObject({ name: `b${String(i).padStart(3, "0")}` }));
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { known: [owned("team-a", ONE), ...buckets] }), [
    line(ONE, "loses its role", "at least 1 namespace: team-a; at least 19 resources: "
      + "Bucket team-a/b000, Bucket team-a/b001, Bucket team-a/b002 and 16 more"),
  ]);
  const unaffected = Array.from({ length: 300 }, (_, i) => owned(`ns-${i}`, TWO));
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { known: unaffected }), []);
  const annotations = { "ack-role-resolver.io/allow": "CM-08" };
  const waived = {
    ...mapObject(ACCOUNT_MAP, {}),
    metadata: { name: ACCOUNT_MAP, namespace: "ack-system", annotations },
  };
  const old = mapObject(ACCOUNT_MAP, { [ONE]: roleIn(ONE) });
  t.equal(checkChange(waived, { old, known: KNOWN, settings: CARM }).denied, false);
  t.end();
});

test("CM-08 denies the deletion of a used map in mode carm, and only warns in mode selectors", (t) => {
  const linesFor = (
    data: JsonObject, known: readonly JsonObject[] = KNOWN, settings: object = CARM, namespace = "ack-system",
  ): string[] => {
    const map = mapObject(ACCOUNT_MAP, data, namespace);
    return linesOf("CM-08", map, { operation: "DELETE", known: [map, ...known], settings });
  };
  const used = [
    line(ONE, "loses its role", USERS), line(TWO, "loses its role", "1 resource: Bucket team-b/b3"),
  ];
  const data = { [ONE]: roleIn(ONE), [TWO]: roleIn(TWO) };
  t.same(linesFor(data), used);
  t.same(linesFor(data, KNOWN, {}), used.map((one) => one.replace("deny", "warn")));
  t.same(linesFor(data, [namespaceObject("team-a"), bucketObject()]), [], "no namespace names a key");
  t.same(linesFor({}), [], "an empty map");
  t.same(linesFor(data, KNOWN, CARM, "team-a"), [], "controllers do not read the map");
  t.end();
});
