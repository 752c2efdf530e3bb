import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { readFileSync } from "node:fs";
import { test } from "tap";
import { CATALOGUE, checkFault } from "../../../shared/checks/catalogue.ts";
import {
  removedCheckNotice, removedCheckNotices, REMOVED_CODES, successorOf,
} from "../../../shared/core/removed-codes.ts";
import { findingLine } from "../../../shared/core/check.ts";
import { runChecks } from "../../../shared/core/run.ts";
import { checkSeveritiesOf } from "../../../shared/core/context.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { bucketObject, put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const CHECKS = new Map(CATALOGUE.map((check) => [check.id, check]));

test("each removed code has a live successor or none, and stands in the changelog with its reason", (t) => {
  const changelog = readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");
  for (const { code, successor, denies = false, reason, waivable } of REMOVED_CODES) {
    t.notOk(CHECKS.has(code), `${code} is removed`);
    t.match(changelog, `| ${code} | ${successor ?? "none"} | ${reason} |`);
    const check = successor === null ? undefined : CHECKS.get(successor);
    t.equal(check !== undefined, successor !== null, `${code} -> ${successor}`);
    t.equal(check?.severity === "deny", denies, `${code}: denies`);
    if (waivable === true) t.equal(check?.waivable, true, `${code}: waivable`);
  }
  t.end();
});

test("--check accepts each removed code, applies it to the successor, and never weakens a denial", (t) => {
  for (const { code, successor, denies } of REMOVED_CODES) {
    for (const severity of ["deny", "warn", "off"] as const) {
      const { check } = readSettings("lint", { from: ["."], check: [`${code}=${severity}`] }, {}, checkFault);
      const applies = successor !== null && (denies !== true || severity === "deny");
      t.equal(checkSeveritiesOf(check).get(String(successor)), applies ? severity : undefined, `${code}=${severity}`);
      const [notice, ...others] = removedCheckNotices(check);
      t.match(notice, `--check ${code}=${severity} `);
      if (successor !== null) t.match(notice, ` ${successor}`);
      t.same(others, []);
    }
  }
  t.same(removedCheckNotices(["IRS-17=off"]), []);
  const both = ["ACK-03=off", "ACK-04=deny"];
  t.equal(checkSeveritiesOf(both).get("ACK-03"), "off", "the successor itself is set");
  t.end();
});

test("a severity of a removed check never weakens a successor that denies", (t) => {
  const removed = { code: "IRS-99", successor: "IRS-03", denies: true, reason: "both judge the role" } as const;
  t.equal(successorOf(removed, "deny"), "IRS-03");
  t.equal(successorOf(removed, "off"), null);
  t.equal(removedCheckNotice(removed, "deny"), "is now IRS-03=deny: IRS-99 is part of IRS-03");
  t.equal(
    removedCheckNotice(removed, "off"),
    "has no effect: IRS-99 is part of IRS-03, which denies. Set IRS-03=off if you mean that",
  );
  t.end();
});

test("a notice states what a value for a removed check does now", (t) => {
  t.same(removedCheckNotices(["IRS-14=off", "ACK-04=off", "CM-05=warn", "CM-05=deny"]), [
    "--check IRS-14=off has no effect: IRS-14 was removed, because a type entry that a broader entry covers changes no "
      + "role",
    "--check ACK-04=off is now ACK-03=off: ACK-04 is part of ACK-03",
    "--check CM-05=warn has no effect: CM-05 is part of CM-01, which denies. Set CM-01=warn if you mean that",
    "--check CM-05=deny is now CM-01=deny: CM-05 is part of CM-01",
  ]);
  t.end();
});

const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
inventory.apply(["gold", "silver"].map((name) => put(selectorObject(name, { arn: ROLE }))));

const linesOf = (allow: string, waiverUser: boolean): string[] => {
  const object = bucketObject({ annotations: { "ack-role-resolver.io/allow": allow } });
  const requester = waiverUser ? null : { username: "jane", groups: [] };
  const { findings } = runChecks({ object, old: object, requester, origin: "cluster", inventory }, SETTINGS_BY_DEFAULT);
  return findings.map((finding) => `${finding.waived ? "waived " : ""}${findingLine(finding)}`);
};

test("a waiver of a removed check applies to its successor, with a warning that names the successor", (t) => {
  const [conflict, ...warnings] = linesOf("ACK-04,IRS-14, ACK-04", true);
  t.match(conflict, /^waived ACK-03 metadata: /);
  t.same(warnings, [
    "WAIVER-01 metadata.annotations[ack-role-resolver.io/allow]: check ACK-04 is part of ACK-03 now. "
      + "Write ACK-03 instead of ACK-04.",
    "WAIVER-01 metadata.annotations[ack-role-resolver.io/allow]: check IRS-14 was removed, because a type entry that "
      + "a broader entry covers changes no role. Remove IRS-14 from the annotation.",
  ]);
  t.match(linesOf("ACK-04", false)[0], "the waiver is ignored because the requester is not a waiver user");
  t.match(linesOf("IRS-14", true)[0], /^ACK-03 /, "without a successor, the waiver has no effect");
  t.end();
});
