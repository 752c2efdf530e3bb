import { runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, ADMIN, bucketObject, mapObject, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";
import { checkChange, type Circumstances, linesOf } from "./findings.ts";
import { annotated, JANE } from "../ack/resource-lines.ts";

const SPEC = { arn: ROLE, namespaceSelector: { names: ["team-a"] } };
const OBJECTS = [selectorObject("team-a", SPEC), bucketObject(), namespaceObject("team-a"), mapObject(ACCOUNT_MAP, {})];

function waiving(ids: string, object: JsonObject): JsonObject {
  return annotated({ "ack-role-resolver.io/allow": ids }, object);
}

/** Returns the denials. The warnings are about waivers without an effect. */
function waiverLines(object: JsonObject, circumstances: Circumstances): string[] {
  return linesOf("WAIVER-01", object, { requester: JANE, ...circumstances }).filter((line) => line.startsWith("deny "));
}

/** Returns the warnings about waivers without an effect. */
function ineffective(ids: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  const lines = linesOf("WAIVER-01", waiving(ids, object), { requester: ADMIN, ...circumstances });
  return lines.map((line) => line.replace("warn WAIVER-01 metadata.annotations[ack-role-resolver.io/allow]: ", ""));
}

test("WAIVER-01 warns about each waiver without an effect, also offline, in an update and in an audit", (t) => {
  const selector = selectorObject("team-a", SPEC);
  const fixed = "nobody may waive check IRS-31, so this waiver has no effect. Remove IRS-31 from the annotation.";
  t.same(ineffective("IRS-31", selector), [fixed]);
  t.same(ineffective("IRS-31", selector, { old: waiving("IRS-31", selector) }), [fixed], "an update");
  t.same(ineffective("IRS-31", selector, { origin: "file", requester: null }), [fixed], "a manifest");
  const stored = waiving("IRS-31", selector);
  t.match(linesOf("WAIVER-01", stored, { old: stored, operation: "AUDIT" }), [fixed], "an audit");
  t.same(ineffective("IRS-15c, x y", selector), ["IRS-15c", "x y"].map((id) => (
    `check "${id}" does not exist, so this waiver has no effect. Write the id of a waivable check of docs/checks.md.`
  )));
  t.same(ineffective("ACK-30", namespaceObject("team-a")), [
    "check ACK-30 does not apply to the kind Namespace, so this waiver has no effect. "
      + "Remove ACK-30 from the annotation.",
  ]);
  t.same(ineffective("IRS-30, IRS-15,,", selector), [], "checks of selectors");
  t.same(ineffective("IRS-52, ACK-30", bucketObject()), [], "checks of resources");
  t.end();
});

test("WAIVER-01 calls no waiver ineffective whose check may apply to a smaller object, or with an inventory", (t) => {
  const labels = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`a${i}`, ""]));
  t.same(ineffective("NS-01, NS-99", namespaceObject("team-a", labels)).length, 1);
  const object = waiving("IRS-30, IRS-31", selectorObject("team-a", SPEC));
  const { findings } = runChecks({ object, old: null, requester: null, origin: "file" }, SETTINGS_BY_DEFAULT);
  t.same(findings.map(({ code }) => code), ["WAIVER-01"]);
  t.end();
});

test("WAIVER-01 denies a waiver by a requester who is not a waiver user", (t) => {
  for (const object of OBJECTS) {
    const kind = String(object["kind"]);
    t.same(waiverLines(waiving("IRS-30", object), {}), [
      "deny WAIVER-01 metadata.annotations[ack-role-resolver.io/allow]: "
      + 'the requester "jane" is not a waiver user and may not waive "IRS-30". '
      + "Remove the annotation ack-role-resolver.io/allow, or ask a user in --waiver-users or in a group in "
      + "--waiver-groups to set it.",
    ], kind);
    t.equal(waiverLines(waiving("IRS-30", object), { old: object }).length, 1, `${kind}: an update`);
    t.same(waiverLines(waiving("IRS-30", object), { requester: ADMIN }), [], `${kind}: a waiver user`);
    t.same(waiverLines(object, {}), [], `${kind}: no waiver`);
  }
  t.end();
});

test("WAIVER-01 allows any user to keep, reorder and remove check ids, but not to add an id", (t) => {
  const [selector = {}] = OBJECTS;
  const old = waiving("IRS-30,IRS-15", selector);
  t.same(waiverLines(old, { old: structuredClone(old) }), []);
  t.same(waiverLines(waiving(" IRS-15, IRS-30,", selector), { old }), []);
  t.same(waiverLines(waiving("IRS-15", selector), { old }), []);
  t.same(waiverLines(selector, { old }), []);
  t.match(waiverLines(waiving("a,b,IRS-30,c,d,e", selector), { old }), [/may not waive "a", "b", "c" and 2 more\./]);
  t.same(waiverLines(old, { operation: "DELETE" }), [], "a deletion sets no annotation");
  t.end();
});

const CONTROLLERS = {
  controllerServiceAccounts: ["ack-system/ack-s3"], controllerUsers: ["capability-*"],
  capaServiceAccounts: ["capa-system/capa-controller-manager"],
};

test("WAIVER-01 denies a new waiver by a controller, also as a waiver user and if other checks only warn", (t) => {
  const users = [
    "system:serviceaccount:ack-system:ack-s3", "capability-1",
    "system:serviceaccount:capa-system:capa-controller-manager",
  ];
  for (const username of users) {
    for (const groups of [[], ["system:masters"]]) {
      const requester = { username, groups };
      t.same(waiverLines(waiving("ACK-30", bucketObject()), { requester, settings: CONTROLLERS, warnOnly: true }), [
        "deny WAIVER-01 metadata.annotations[ack-role-resolver.io/allow]: "
          + `the requester "${username}" is a controller and may not waive "ACK-30". `
          + "Remove the annotation ack-role-resolver.io/allow from the object from which the controller copies it; "
          + "a waiver user can then set it on this object.",
      ]);
      const old = waiving("ACK-30", bucketObject());
      t.same(waiverLines(structuredClone(old), { requester, settings: CONTROLLERS, old }), [], "a stored waiver");
    }
  }
  t.end();
});

test("WAIVER-01 denies a new waiver also on an object that exceeds a limit", (t) => {
  const labels = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`l${i}`, ""]));
  const object = waiving("ACK-30", bucketObject({ labels }));
  const requester = { username: "system:serviceaccount:ack-system:ack-s3", groups: [] };
  const { findings } = checkChange(object, { requester, settings: CONTROLLERS, warnOnly: true });
  t.match(findings, [{ code: "ACK-35", severity: "warn" }, { code: "WAIVER-01", severity: "deny" }]);
  t.end();
});

test("WAIVER-01 is skipped if the requester is unknown, as in offline commands", (t) => {
  const { findings, skipped } = checkChange(waiving("ACK-30", bucketObject()));
  t.notOk(findings.some(({ code }) => code === "WAIVER-01"));
  t.ok(skipped.some(({ code, needs }) => code === "WAIVER-01" && needs === "the requester"));
  t.end();
});
