import { test } from "tap";
import { ACCOUNT_MAP, CARM, dataLines, linesOf, mapObject, ONE, roleIn, TEAM_MAP } from "../subjects.ts";

const ROLE = roleIn(ONE);
const settings = CARM;

test("CM-07: a map that is not where controllers look is told", (t) => {
  const fix = "Put the map into the controllers' namespace, or name that with --ack-system-namespace.";
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {}, "team-a")), [`warn CM-07 metadata.namespace: controllers read the map in namespace ack-system, not in "team-a". ${fix}`]);
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {}, "")), [`warn CM-07 metadata.namespace: controllers read the map in namespace ack-system, not in "default". ${fix}`], "of a file that names none kubectl decides");
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {}, "team-a"), { settings: { ackSystemNamespace: "team-a" } }), []);
  t.same(linesOf("CM-07", mapObject(ACCOUNT_MAP, {})), []);
  t.end();
});

test("CM-07b: copies that differ are told", (t) => {
  const map = mapObject(ACCOUNT_MAP, { [ONE]: ROLE });
  const copy = (data: object, name = ACCOUNT_MAP): ReturnType<typeof mapObject> => mapObject(name, { ...data }, "ack-s3");
  t.same(linesOf("CM-07b", map, { known: [map, copy({})] }), [
    'warn CM-07b data: the entries differ from those of the copy in namespace "ack-s3". Give every copy the same entries.',
  ]);
  t.equal(linesOf("CM-07b", map, { known: [map, copy({ [ONE]: roleIn(ONE, "b") })] }).length, 1);
  t.same(linesOf("CM-07b", map, { known: [map, copy({ [ONE]: ROLE }), copy({}, TEAM_MAP), mapObject(ACCOUNT_MAP, {})] }), []);
  t.end();
});

test("CM-09: what changes a map is told where selectors decide", (t) => {
  const line = "warn CM-09 data: the map has no effect, since IAMRoleSelectors decide. Write an IAMRoleSelector instead; ack-role-resolver migrate carm makes one for each entry.";
  t.same(dataLines("CM-09", { a: ROLE }), [line]);
  t.same(dataLines("CM-09", { a: ROLE }, { old: mapObject(ACCOUNT_MAP, {}) }), [line]);
  t.same(dataLines("CM-09", { a: ROLE }, { old: mapObject(ACCOUNT_MAP, { a: ROLE }) }), [], "another part of it");
  t.same(dataLines("CM-09", { a: ROLE }, { settings }), []);
  t.end();
});

test("CM-12: a team map is told where nobody reads it", (t) => {
  const map = mapObject(TEAM_MAP, {});
  t.same(linesOf("CM-12", map, { settings }), [
    "warn CM-12 metadata.name: the team map is ignored, since --team-level-carm is not on. Have the controllers run with TeamLevelCARM, and say so with --team-level-carm.",
  ]);
  t.same(linesOf("CM-12", map, { settings: { ...CARM, teamLevelCARM: true } }), []);
  t.same(linesOf("CM-12", mapObject(ACCOUNT_MAP, {}), { settings }), []);
  t.same(linesOf("CM-12", map), []);
  t.end();
});
