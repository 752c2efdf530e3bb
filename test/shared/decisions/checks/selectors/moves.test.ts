import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { selectorObject } from "../../objects.ts";
import { FIRST, made, many, OWN, roleIn, SECOND, selecting, told, wanted } from "../company.ts";

const MOVE = "would have to change accounts, which controllers refuse";
const MOVE_FIX = "Leave what exists in its account: restrict the selector, or give it a role of that account. What is to move is deleted first and created again after.";

test("IRS-19: what exists may not be selected into another account", (t) => {
  const found = (...known: readonly JsonObject[]): string[] => told("IRS-19", selecting("new", SECOND, ["team-a"]), { known });
  t.same(found(made("b1", FIRST), made("b2", OWN), made("b3", SECOND)), [
    `deny IRS-19 spec: 2 existing resources ${MOVE}: Bucket team-a/b1 from account ${FIRST} to ${SECOND} and Bucket team-a/b2 from account ${OWN} to ${SECOND}. ${MOVE_FIX}`,
  ]);
  t.same(found(made("b3", SECOND), wanted("b4"), made("b5", FIRST, { namespace: "team-b" })), [], "in that account already, never made, or not selected");
  const started = { ...wanted("b1"), status: { ackResourceMetadata: { ownerAccountID: FIRST } } };
  t.same(found(started), [], "an account that was only tried holds nothing");
  t.match(found(...many(30, (name) => made(name, FIRST)))[0], /^deny IRS-19 spec: at least 20 existing resources .* and others\. /);
  t.end();
});

test("IRS-19: what was in the controller's account is there, if that is known, though ACK recorded none", (t) => {
  const synced = { ...wanted("b1"), status: { conditions: [{ type: "ACK.ResourceSynced", status: "True" }] } };
  const found = (settings: object): string[] => told("IRS-19", selecting("new", SECOND, ["team-a"]), { known: [synced], settings });
  t.equal(found({}).length, 1);
  t.same(found({ controllerAccount: null, controllerRole: roleIn(OWN) }), found({}), "the role tells it too");
  t.same(found({ controllerAccount: null }), []);
  t.end();
});

test("IRS-19: an update and a removal that leave it to a selector of another account, and no drift that was there before", (t) => {
  const first = selecting("first", FIRST, ["team-a"]);
  const second = selecting("second", SECOND, ["team-a"]);
  const known = [first, second, made("b1", FIRST)];
  t.same(told("IRS-19", first, { known, operation: "DELETE" }), [`deny IRS-19 spec: 1 existing resource ${MOVE}: Bucket team-a/b1 from account ${FIRST} to ${SECOND}. ${MOVE_FIX}`]);
  t.equal(told("IRS-19", selecting("first", FIRST, ["team-b"]), { known, old: first }).length, 1);
  t.same(told("IRS-19", second, { known, operation: "DELETE" }), [], "the other way round it goes where it is");
  t.same(told("IRS-19", selecting("second", SECOND, ["team-a", "team-b"]), { known: [second, made("b1", FIRST)], old: second }), [], "it has drifted before");
  t.end();
});

const FALL = "would fall to the controller's own role and account, since nothing else selects them";
const KEEP = "Let team-a go on selecting them, or first create the selector that is to take them over, with a role of the same account "
  + "and the annotation ack-role-resolver.io/replaces: team-a, and then apply this again.";

test("IRS-20: an update may not leave anything without a selector", (t) => {
  const old = selecting("team-a", FIRST, ["team-a", "team-b"]);
  const narrow = selecting("team-a", FIRST, ["team-b"]);
  const known = [old, made("b1", FIRST), wanted("b2"), wanted("b3", { namespace: "team-b" })];
  t.same(told("IRS-20", narrow, { known, old }), [`deny IRS-20 spec: 2 resources ${FALL}: Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in account ${FIRST}. ${KEEP}`]);
  t.same(told("IRS-20", narrow, { known: [...known, selecting("new", FIRST, ["team-a"])], old }), [], "another one has it");
  t.same(told("IRS-20", old, { known, old: narrow }), [], "widened");
  t.equal(told("IRS-20", selectorObject("team-a", { arn: "" }), { known, old }).length, 1, "controllers drop it with all that it selects");
  t.same(told("IRS-20", narrow, { known, old, settings: { mode: "carm" } }), []);
  t.end();
});

test("IRS-21: another role of the same account is told with the count", (t) => {
  const other = (name: string): JsonObject => selecting(name, FIRST, ["team-a"]);
  const found = (...known: readonly JsonObject[]): string[] => told("IRS-21", other("new"), { known });
  const line = (count: string, list: string): string => (
    `warn IRS-21 spec: ${count} would go to another role of the same account at the next resync: ${list}. See that the role may do all that these resources need.`
  );
  const to = (name: string): string => `Bucket team-a/${name} to ${roleIn(FIRST, "new")}`;
  t.same(found(made("b1", FIRST), wanted("b2"), made("b3", SECOND)), [line("1 existing resource", to("b1"))]);
  t.same(found(...many(25, (name) => made(name, FIRST))), [line("25 existing resources", `${to("b00")}, ${to("b01")}, ${to("b02")} and 22 more`)], "all of them, since nothing is denied");
  t.same(found(other("gold"), made("b1", FIRST)), [], "a conflict is none");
  t.same(told("IRS-21", other("new"), { known: [other("new"), made("b1", FIRST)], old: other("new") }), [], "the same role as before");
  t.same(told("IRS-21", other("new"), { known: [made("b1", FIRST)], settings: { controllerAccount: null, controllerRole: roleIn(FIRST, "new") } }), [], "which was the controller's own");
  t.end();
});
