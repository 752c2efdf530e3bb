import { test } from "tap";
import { findingLine } from "../../../../../shared/decisions/checks/finding.ts";
import { runChecks } from "../../../../../shared/decisions/checks/run.ts";
import { Inventory } from "../../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { type Circumstances, findingsOf } from "../selector-changes.ts";

const FIX = "Annotate every selector of the role alike, or make one of them. To change what is annotated on several, do it under --check IRS-40=warn, "
  + "since the role is granted to nobody meanwhile.";

/** A selector of the namespace of its name. */
function selector(name: string, extras: Readonly<Record<string, string>> = {}, arn = ROLE): JsonObject {
  const annotations = Object.fromEntries(Object.entries(extras).map(([key, value]) => [`ack-role-resolver.io/${key}`, value]));
  return selectorObject(name, { arn, namespaceSelector: { names: [name] } }, { annotations });
}

function said(object: JsonObject, known: readonly JsonObject[], circumstances: Circumstances = {}): string[] {
  return findingsOf("IRS-40", object, { known, ...circumstances }).map((finding) => `${finding.severity} ${findingLine(finding)}`);
}

test("each extra that differs from those of another selector of the role is told, and no value of it", (t) => {
  const line = (name: string, others: string): string => `deny IRS-40 metadata.annotations[ack-role-resolver.io/${name}]: ${name} differs from that of ${others} the same role. ${FIX}`;
  const values = { "external-id": "planted", "session-name": "planted", "source-identity": "planted", "session-tags": "a=planted", "duration-seconds": "1000" };
  t.same(said(selector("team-a", values), [selector("b"), selector("c", { "external-id": "planted" })]), [
    line("duration-seconds", "b and c, which have"), line("external-id", "b, which has"), line("session-name", "b and c, which have"),
    line("session-tags", "b and c, which have"), line("source-identity", "b and c, which have"),
  ]);
  for (const [name, value] of Object.entries(values)) {
    t.same(said(selector("team-a", { [name]: value }), [selector("b")]), [line(name, "b, which has")], name);
    t.same(said(selector("team-a"), [selector("b", { [name]: value })]), [line(name, "b, which has")], `${name} on the other`);
    t.same(said(selector("team-a", { [name]: value }), [selector("b", { [name]: value })]), [], `${name} alike`);
  }
  t.end();
});

test("tags are compared as they are filled in, in any order", (t) => {
  t.same(said(selector("team-a", { "session-tags": "a=1,b=2" }), [selector("b", { "session-tags": "b = 2, a = 1" })]), []);
  t.same(said(selector("team-a", { "session-tags": "a={account},b={group}" }), [selector("b", { "session-tags": "a=111122223333,b={group}" })]), []);
  t.equal(said(selector("team-a", { "session-tags": "a={selector}" }), [selector("b", { "session-tags": "a={selector}" })]).length, 1);
  t.equal(said(selector("team-a", { "session-tags": "a={namespace}" }), [selector("b", { "session-tags": "a={namespace}" })]).length, 1);
  t.end();
});

test("other roles, the selector as it is stored, one on its way out and one that takes no part do not count", (t) => {
  const mine = selector("team-a", { "external-id": "mine" });
  const other = selector("b", { "external-id": "other" });
  t.same(said(mine, [selector("b", { "external-id": "other" }, `${ROLE}-2`)]), []);
  t.same(said(mine, [selector("team-a", { "external-id": "other" })]), []);
  t.same(said(selectorObject("team-a", { arn: "nonsense" }), [other]), []);
  t.equal(said(mine, [other]).length, 1);
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply([put(other)]);
  const { findings } = runChecks({ object: mine, old: null, requester: null, origin: "cluster", inventory, pendingDeletions: new Set(["b"]) }, SETTINGS_BY_DEFAULT);
  t.notOk(findings.some(({ code }) => code === "IRS-40"));
  t.end();
});

test("nobody can waive it, and what stood before only warns", (t) => {
  const requester = { username: "root", groups: ["system:masters"] };
  const waived = selector("team-a", { "external-id": "mine", allow: "IRS-40" });
  t.match(findingsOf("IRS-40", waived, { known: [selector("b")], requester }), [{ severity: "deny", waivable: false }]);
  t.match(said(waived, [selector("b")], { old: selector("team-a", { "external-id": "before" }) }), [/^warn IRS-40/]);
  t.match(said(waived, [selector("b")], { old: selector("team-a") }), [/^deny IRS-40/], "a change of the annotation alone");
  t.match(said(waived, [selector("b")], { settings: { checkSeverities: new Map([["IRS-40", "warn"]]) } }), [/^warn IRS-40/]);
  t.end();
});
