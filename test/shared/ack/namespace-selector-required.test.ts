import { runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import { findingLine } from "../../../shared/core/check.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const KEY = "ack-role-resolver.io/selector-required";
const SETTINGS = { ...SETTINGS_BY_DEFAULT, waiverUsers: ["root"] };

/** Returns the findings of NS-17 if the annotation changes. Null stands for a missing annotation. */
function lines(from: string | null, to: string | null, { isNew = false, username = "jane" } = {}): string[] {
  const namespaceWith = (value: string | null): JsonObject => (
    namespaceObject("team-a", {}, value === null ? {} : { [KEY]: value })
  );
  const { findings } = runChecks({
    object: namespaceWith(to), old: isNew ? null : namespaceWith(from), requester: { username, groups: [] },
    origin: "cluster",
  }, SETTINGS);
  return findings.filter(({ code }) => code === "NS-17").map((one) => `${one.severity} ${findingLine(one)}`);
}

const denied = (change: string): string[] => [
  `deny NS-17 metadata.annotations[${KEY}]: the requester "jane" is not a waiver user and may not ${change}. `
  + `Set ${KEY} to "true", or ask a user in --waiver-users or in a group in --waiver-groups to change it.`,
];

test("NS-17 denies the removal of selector-required, and each other value", (t) => {
  t.same(lines("true", null), denied("remove the annotation"));
  for (const value of ["false", "", "True", "true ", "yes"]) {
    t.same(lines("true", value), denied(`set it to ${JSON.stringify(value)}`), value);
    t.same(lines(null, value), denied(`set it to ${JSON.stringify(value)}`), value);
    t.same(lines(null, value, { isNew: true }), denied(`set it to ${JSON.stringify(value)}`), "a new namespace");
  }
  t.same(lines("yes", "no"), denied('set it to "no"'));
  t.end();
});

test("NS-17 allows each user to require a selector, and to remove a value that has no effect", (t) => {
  t.same(lines(null, "true"), []);
  t.same(lines("false", "true"), []);
  t.same(lines(null, "true", { isNew: true }), []);
  t.same(lines(null, null, { isNew: true }), []);
  for (const value of ["true", "false", null]) t.same(lines(value, value), [], "unchanged");
  t.same(lines("false", null), []);
  t.end();
});

test("NS-17 allows a waiver user each change, and is skipped offline", (t) => {
  t.same(lines("true", null, { username: "root" }), []);
  t.same(lines("true", "false", { username: "root" }), []);
  const object = namespaceObject("team-a");
  const { skipped } = runChecks({ object, old: object, requester: null, origin: "file" }, SETTINGS);
  t.equal(skipped.find(({ code }) => code === "NS-17")?.needs, "the requester");
  t.end();
});
