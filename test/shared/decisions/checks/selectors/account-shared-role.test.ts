import { test } from "tap";
import { findingLine } from "../../../../../shared/checks/check.ts";
import { runChecks } from "../../../../../shared/checks/run.ts";
import { Inventory } from "../../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { type Circumstances, findingsOf } from "../selector-changes.ts";

const FIX = "Set the same annotations on every selector of the role, or merge the selectors. "
  + "To change the annotations of several selectors, first set --check IRS-40=warn; the sidecar denies the role "
  + "until the annotations match.";

/** Returns a selector that selects the namespace of the same name. */
function selector(name: string, extras: Readonly<Record<string, string>> = {}, arn = ROLE): JsonObject {
  const annotations = Object.fromEntries(
    Object.entries(extras).map(([key, value]) => [`ack-role-resolver.io/${key}`, value]),
  );
  return selectorObject(name, { arn, namespaceSelector: { names: [name] } }, { annotations });
}

/** Returns the finding lines of IRS-40, each with its severity. */
function linesOf(object: JsonObject, known: readonly JsonObject[], circumstances: Circumstances = {}): string[] {
  return findingsOf("IRS-40", object, { known, ...circumstances }).map(
    (finding) => `${finding.severity} ${findingLine(finding)}`,
  );
}

test("IRS-40: names the annotations that differ between selectors of one role, but not the values", (t) => {
  const line = (name: string, others: string): string => (
    `deny IRS-40 metadata.annotations[ack-role-resolver.io/${name}]: `
      + `the selector has the same role as ${others}, but a different ${name}. ${FIX}`
  );
  const values = {
    "external-id": "planted",
    "session-name": "planted",
    "source-identity": "planted",
    "session-tags": "a=planted",
    "duration-seconds": "1000",
  };
  t.same(linesOf(selector("team-a", values), [selector("b"), selector("c", { "external-id": "planted" })]), [
    line("duration-seconds", "b and c"), line("external-id", "b"), line("session-name", "b and c"),
    line("session-tags", "b and c"), line("source-identity", "b and c"),
  ]);
  for (const [name, value] of Object.entries(values)) {
    t.same(linesOf(selector("team-a", { [name]: value }), [selector("b")]), [line(name, "b")], name);
    t.same(
      linesOf(selector("team-a"), [selector("b", { [name]: value })]),
      [line(name, "b")],
      `${name} is set only on the other selector`,
    );
    t.same(linesOf(selector("team-a", { [name]: value }), [selector("b", { [name]: value })]), [], `${name} is equal`);
  }
  t.end();
});

test("IRS-40: compares session tags in any order, after the templates are filled in", (t) => {
  t.same(
    linesOf(selector("team-a", { "session-tags": "a=1,b=2" }), [selector("b", { "session-tags": "b = 2, a = 1" })]),
    [],
  );
  t.same(
    linesOf(selector("team-a", { "session-tags": "a={account},b={group}" }), [
      selector("b", { "session-tags": "a=111122223333,b={group}" }),
    ]),
    [],
  );
  t.equal(
    linesOf(selector("team-a", { "session-tags": "a={selector}" }), [selector("b", { "session-tags": "a={selector}" })])
      .length,
    1,
  );
  t.equal(
    linesOf(selector("team-a", { "session-tags": "a={namespace}" }), [
      selector("b", { "session-tags": "a={namespace}" }),
    ]).length,
    1,
  );
  t.end();
});

test("IRS-40: ignores malformed selectors, terminating selectors and selectors of other roles", (t) => {
  const mine = selector("team-a", { "external-id": "mine" });
  const other = selector("b", { "external-id": "other" });
  t.same(linesOf(mine, [selector("b", { "external-id": "other" }, `${ROLE}-2`)]), []);
  t.same(linesOf(mine, [selector("team-a", { "external-id": "other" })]), []);
  t.same(linesOf(selectorObject("team-a", { arn: "nonsense" }), [other]), []);
  t.equal(linesOf(mine, [other]).length, 1);
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply([put(other)]);
  const pending = { deletions: new Set(["b"]), writes: new Map() };
  const { findings } = runChecks(
    { object: mine, old: null, requester: null, origin: "cluster", inventory, pending },
    SETTINGS_BY_DEFAULT,
  );
  t.notOk(findings.some(({ code }) => code === "IRS-40"));
  t.end();
});

test("IRS-40: cannot be waived, and only warns if the stored selector has the same difference", (t) => {
  const requester = { username: "root", groups: ["system:masters"] };
  const waived = selector("team-a", { "external-id": "mine", allow: "IRS-40" });
  t.match(findingsOf("IRS-40", waived, { known: [selector("b")], requester }), [{ severity: "deny", waivable: false }]);
  t.match(linesOf(waived, [selector("b")], { old: selector("team-a", { "external-id": "before" }) }), [/^warn IRS-40/]);
  t.match(
    linesOf(waived, [selector("b")], { old: selector("team-a") }),
    [/^deny IRS-40/],
    "the update adds the annotation",
  );
  t.match(linesOf(waived, [selector("b")], { settings: { checkSeverities: new Map([["IRS-40", "warn"]]) } }), [
    /^warn IRS-40/,
  ]);
  t.end();
});

test("IRS-40 stops after 20 selectors that differ, and does not count equal settings", (t) => {
  const twin = { "external-id": "one" };
  const others = Array.from({ length: 60 }, (_, i) => selector(`s${i + 10}`, i < 30 ? twin : { "external-id": "two" }));
  const lines = linesOf(selector("team-a", twin), others);
  t.match(lines, [/^deny IRS-40 \S+: the selector has the same role as s40, s41, s42 and others, but a different /]);
  t.end();
});
