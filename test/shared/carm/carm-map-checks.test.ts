import type { JsonObject } from "../../../shared/formats/json.ts";
import { ACCOUNT_MAP, FIRST, mapObject, roleIn, TEAM_MAP, withWaiver } from "../objects.ts";
import { testRows } from "../rows.ts";
import { type Circumstances, linesOf } from "../core/findings.ts";

const CARM = { settings: { mode: "carm" } } as const;
type Input = readonly [map: JsonObject, circumstances?: Circumstances];
const of = (id: string) => ([map, circumstances]: Input): string[] => linesOf(id, map, circumstances);
const map = (data: JsonObject, namespace?: string): JsonObject => mapObject(ACCOUNT_MAP, data, namespace);

const elsewhere = (namespace: string): string => (
  `warn CM-07 metadata.namespace: controllers read the map in namespace ack-system, not in "${namespace}". `
  + "Move the map to the controllers' namespace, or set --ack-system-namespace to the namespace of the map."
);
const DIFFERING = 'warn CM-07 data: the entries differ from the entries of the map in namespace "ack-s3". '
  + "Write the same entries to the map in every namespace where controllers run.";
const ROLES = map({ [FIRST]: roleIn(FIRST) });
const copy = (data: JsonObject, name = ACCOUNT_MAP): JsonObject => mapObject(name, data, "ack-s3");

testRows("CM-07 warns about a map outside the ACK system namespace, and about copies that differ", of("CM-07"), [
  ["another namespace", [map({}, "team-a")], elsewhere("team-a")],
  ["a manifest without a namespace", [map({}, "")], elsewhere("default")],
  ["--ack-system-namespace", [map({}, "team-a"), { settings: { ackSystemNamespace: "team-a" } }]],
  ["the namespace", [map({})]],
  ["an empty copy", [ROLES, { known: [ROLES, copy({})] }], DIFFERING],
  ["another role", [ROLES, { known: [ROLES, copy({ [FIRST]: roleIn(FIRST, "b") })] }], DIFFERING],
  ["an equal copy", [ROLES, { known: [ROLES, copy({ [FIRST]: roleIn(FIRST) }), copy({}, TEAM_MAP), map({})] }]],
]);

const NO_EFFECT = "warn CM-09 data: the map has no effect, because IAMRoleSelectors set the role. "
  + "Replace each entry with an IAMRoleSelector; ack-role-resolver migrate carm generates these selectors.";
testRows("CM-09 warns about a change of a CARM map in mode selectors", of("CM-09"), [
  ["a new map", [ROLES], NO_EFFECT],
  ["new data", [ROLES, { old: map({}) }], NO_EFFECT],
  ["the data is unchanged", [ROLES, { old: ROLES }]],
  ["mode carm", [ROLES, CARM]],
]);

const TEAMS = mapObject(TEAM_MAP, {});
testRows("CM-12 warns about a team map if TeamLevelCARM is off", of("CM-12"), [
  ["off", [TEAMS, CARM],
    "warn CM-12 metadata.name: controllers ignore the team map, because --team-level-carm is off. "
      + "Enable the feature gate TeamLevelCARM on the controllers and set --team-level-carm."],
  ["on", [TEAMS, { settings: { mode: "carm", teamLevelCARM: true } }]],
  ["an account map", [map({}), CARM]],
  ["mode selectors", [TEAMS]],
]);

const username = "system:serviceaccount:ack-system:ack-s3";
const requester = { username, groups: ["system:masters"] };
const settings = { controllerServiceAccounts: ["ack-system/ack-s3"] };
const WRITES = (["CREATE", "UPDATE", "DELETE"] as const).flatMap((operation) =>
  (["carm", "selectors"] as const).map((mode) => ({ operation, mode })));
const { metadata } = ROLES;
testRows("CM-15 denies each write of a CARM map by an ACK controller, in each mode, and cannot be "
  + "waived", of("CM-15"), [
  ...WRITES.map(({ operation, mode }) => [
    `${operation} in mode ${mode}`,
    [withWaiver({ ...ROLES, metadata }, "CM-15"), { requester, operation, settings: { ...settings, mode } }],
    `deny CM-15 data: the requester "${username}" is an ACK controller, and ACK controllers must not write CARM maps. `
      + "Write the map as a user or with a deployment tool, and delete the FieldExport that names the map.",
  ] as const),
  ["no controller is listed", [ROLES, { requester }]],
  ["another requester", [ROLES, { requester: { username: "jane", groups: [] }, settings }]],
]);
