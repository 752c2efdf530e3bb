import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { Circumstances } from "../core/findings.ts";
import { repairsOf, type RepairRow } from "../core/repair-rows.ts";
import {
  ACCOUNT_MAP, existingBucket, FIRST, mapObject, namespaceObject, roleIn, SECOND, TEAM_MAP,
} from "../objects.ts";

const OWNER = "services.k8s.aws/owner-account-id";
const TEAM = "services.k8s.aws/team-id";
const ROLE = roleIn(FIRST);
const map = (data: JsonObject, namespace = "ack-system"): JsonObject => mapObject(ACCOUNT_MAP, data, namespace);
const owned = (annotations: JsonObject, name = "team-a"): JsonObject => namespaceObject(name, {}, annotations);
const CARM: Circumstances = { settings: { mode: "carm" } };
const MAPS = [
  map({ [FIRST]: ROLE, payments: ROLE, blanks: ` ${ROLE}` }), mapObject(TEAM_MAP, { search: ROLE }),
];
const KNOWN: Circumstances = { ...CARM, known: MAPS };
const TEAMS: Circumstances = { settings: { mode: "carm", teamLevelCARM: true }, known: MAPS };
const LOW = "000123456789";

const ROWS: readonly RepairRow[] = [
  ["CM-01", "blanks around the ARN", map({ a: ` ${ROLE}` }), [`safe a="${ROLE}"`], CARM],
  ["CM-01", "an empty value", map({ a: "" }), ["if no namespace annotation names the key: a removed"], CARM],
  ["CM-01", "the value before", map({ a: "x" }), [`to keep the role: a="${ROLE}"`], { ...CARM, old: map({ a: ROLE }) }],
  ["CM-01", "no ARN", map({ a: "x" }), [], CARM],
  ["CM-01", "a role in another account", map({ [SECOND]: ROLE }), [], CARM],
  ["CM-04", "a misspelled service", map({ "ss3.a": ROLE }), [`ss3.a removed, s3.a="${ROLE}"`], CARM],
  ["CM-04", "a misspelled service beside the right one", map({ "ss3.a": ROLE, "s3.a": ROLE }), [], CARM],
  ["CM-07", "a map that no controller reads", map({ a: ROLE }, "default"), ['namespace="ack-system"'], CARM],
  ["CM-07", "a stored map that no controller reads", map({ a: ROLE }, "default"), [],
    { ...CARM, old: map({}, "default") }],
  ["CM-09", "a new map", map({ a: ROLE }), ["(object) removed"]],
  ["CM-09", "a new entry", map({ a: ROLE }), ["data={}"], { old: map({}) }],
  ["CM-16", "zeros that are lost", map({ [Number(LOW)]: roleIn(LOW) }),
    [`safe 123456789 removed, ${LOW}="${roleIn(LOW)}"`], CARM],
  ["NS-03", "a misspelled id", owned({ [OWNER]: "paymnets" }), [`${OWNER}="payments"`], KNOWN],
  ["NS-03", "another misspelled id", owned({ [OWNER]: "payment" }), [`${OWNER}="payments"`], KNOWN],
  ["NS-03", "groups of digits", owned({ [OWNER]: "1111-2222-3333" }), [`safe ${OWNER}="${FIRST}"`], KNOWN],
  ["NS-03", "blanks in the map", owned({ [OWNER]: "blanks" }), [`${ACCOUNT_MAP} blanks="${ROLE}"`], KNOWN],
  ["NS-03", "the id before", owned({ [OWNER]: "other" }), [`${OWNER}="payments"`],
    { ...KNOWN, old: owned({ [OWNER]: "payments" }) }],
  ["NS-05", "a team and an account", owned({ [OWNER]: FIRST, [TEAM]: "search" }),
    [`to use the team: ${OWNER} removed`, `to use the account: ${TEAM} removed`], TEAMS],
  ["NS-05", "an account without a role", owned({ [OWNER]: SECOND, [TEAM]: "search" }),
    [`to use the team: ${OWNER} removed`], TEAMS],
  ["NS-10", "the region of resources", owned({ "services.k8s.aws/region": "eu-west-1" }),
    ["services.k8s.aws/region removed"]],
];

for (const [code, what, object, expected, circumstances] of ROWS) {
  test(`${code} proposes ${expected.length === 0 ? "nothing" : expected.join(" or ")}: ${what}`, (t) => {
    t.same(repairsOf(code, object, circumstances), expected);
    t.end();
  });
}

test("NS-04 proposes to name the account on the namespaces that need it", (t) => {
  const bucket = (namespace: string): JsonObject => existingBucket("b", FIRST, { namespace });
  const known = (namespace: string): JsonObject[] => (
    [...MAPS, owned({ [OWNER]: FIRST }), namespaceObject(namespace), bucket(namespace)]
  );
  const input = { ...CARM, operation: "DELETE" } as const;
  const object = owned({ [OWNER]: FIRST });
  t.same(repairsOf("NS-04", object, { ...input, known: known("b") }), [
    `to name the account elsewhere: b ${OWNER}="${FIRST}"`,
  ]);
  t.same(repairsOf("NS-04", object, { ...input, known: known("kube-system") }), [], "CARM ignores the namespace");
  t.same(repairsOf("NS-04", owned({}), { ...CARM, old: object, known: known("b") }), [
    `to keep the account: ${OWNER}="${FIRST}"`, `to name the account elsewhere: b ${OWNER}="${FIRST}"`,
  ]);
  t.end();
});
