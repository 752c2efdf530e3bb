import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { ACCOUNT_MAP, CARM, dataLines, linesOf, mapObject, ONE, roleIn, TEAM_MAP } from "../subjects.ts";

const ROLE = roleIn(ONE);
const settings = CARM;

test("CM-07 warns about a map that is not in the ACK system namespace", (t) => {
  const line = (namespace: string): string => (
    `warn CM-07 metadata.namespace: controllers read the map in namespace ack-system, not in "${namespace}". `
    + "Move the map to the controllers' namespace, or set --ack-system-namespace to the namespace of the map."
  );
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {}, "team-a")), [line("team-a")]);
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {}, "")), [line("default")], "a manifest without a namespace");
  const moved = { settings: { ackSystemNamespace: "team-a" } };
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {}, "team-a"), moved), []);
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {})), []);
  t.end();
});

test("CM-07 warns about a map if a copy in another namespace has different entries", (t) => {
  const map = mapObject(ACCOUNT_MAP, { [ONE]: ROLE });
  const copy = (data: JsonObject, name = ACCOUNT_MAP): JsonObject => mapObject(name, data, "ack-s3");
  const differing = [
    'warn CM-07 data: the entries differ from the entries of the map in namespace "ack-s3". '
    + 'Write the same entries to the map in every namespace where controllers run.',
  ];
  t.same(linesOf("CM-07", map, { known: [map, copy({})] }), differing);
  t.same(linesOf("CM-07", map, { known: [map, copy({ [ONE]: roleIn(ONE, "b") })] }), differing);
  const known = [map, copy({ [ONE]: ROLE }), copy({}, TEAM_MAP), mapObject(ACCOUNT_MAP, {})];
  t.same(linesOf("CM-07", map, { known }), []);
  t.end();
});

test("CM-09 warns about a change of a CARM map in mode selectors", (t) => {
  const line = "warn CM-09 data: the map has no effect, because IAMRoleSelectors set the role. "
    + "Replace each entry with an IAMRoleSelector; ack-role-resolver migrate carm generates these selectors.";
  t.same(dataLines("CM-09", { a: ROLE }), [line]);
  t.same(dataLines("CM-09", { a: ROLE }, { old: mapObject(ACCOUNT_MAP, {}) }), [line]);
  t.same(dataLines("CM-09", { a: ROLE }, { old: mapObject(ACCOUNT_MAP, { a: ROLE }) }), [], "the data is unchanged");
  t.same(dataLines("CM-09", { a: ROLE }, { settings }), []);
  t.end();
});

test("CM-12 warns about a team map if TeamLevelCARM is off", (t) => {
  const map = mapObject(TEAM_MAP, {});
  t.same(linesOf("CM-12", map, { settings }), [
    "warn CM-12 metadata.name: controllers ignore the team map, because --team-level-carm is off. "
    + "Enable the feature gate TeamLevelCARM on the controllers and set --team-level-carm.",
  ]);
  t.same(linesOf("CM-12", map, { settings: { ...CARM, teamLevelCARM: true } }), []);
  t.same(linesOf("CM-12", mapObject(ACCOUNT_MAP, {}), { settings }), []);
  t.same(linesOf("CM-12", map), []);
  t.end();
});

test("CM-15 denies each write of a CARM map by an ACK controller, in each mode, and cannot be waived", (t) => {
  const username = "system:serviceaccount:ack-system:ack-s3";
  const requester = { username, groups: ["system:masters"] };
  const map = { ...mapObject(ACCOUNT_MAP, { [ONE]: ROLE }) };
  const metadata = { ...mapMetadata(map), annotations: { "ack-role-resolver.io/allow": "CM-15" } };
  const listed = { controllerServiceAccounts: ["ack-system/ack-s3"] };
  for (const operation of ["CREATE", "UPDATE", "DELETE"] as const) {
    for (const mode of ["carm", "selectors"] as const) {
      const change = { requester, operation, settings: { ...listed, mode } };
      t.same(linesOf("CM-15", { ...map, metadata }, change), [
        `deny CM-15 data: the requester "${username}" is an ACK controller, and ACK controllers must not write `
          + "CARM maps. Write the map as a user or with a deployment tool, and delete the FieldExport that names "
          + "the map.",
      ]);
    }
  }
  t.same(linesOf("CM-15", map, { requester }), [], "no controller is listed");
  const other = { requester: { username: "jane", groups: [] }, settings: listed };
  t.same(linesOf("CM-15", map, other), [], "another requester");
  t.end();
});

function mapMetadata(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map["metadata"] ?? {}));
}
