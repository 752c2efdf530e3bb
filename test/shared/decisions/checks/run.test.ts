import { test } from "tap";
import { isChecked } from "../../../../shared/checks/by-kind.ts";
import { findingLine } from "../../../../shared/checks/check.ts";
import { type CheckResult, runChecks } from "../../../../shared/checks/run.ts";
import type { DecisionSettings, Requester } from "../../../../shared/contract/context.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const EMPTY = new Inventory({ runtime: "ack", origin: "file" });
const ADMIN: Requester = { username: "root", groups: ["system:masters", "system:authenticated"] };
const JANE: Requester = { username: "jane", groups: ["system:authenticated"] };
const WAIVED = { annotations: { "ack-role-resolver.io/allow": "IRS-99, IRS-15" } };

interface Options {
  readonly old?: JsonObject;
  readonly requester?: Requester | null;
  readonly settings?: Partial<DecisionSettings>;
}

function checkSelector(object: JsonObject, { old, requester = JANE, settings = {} }: Options = {}): CheckResult {
  return runChecks({ object, old: old ?? null, requester, origin: "cluster" }, { ...SETTINGS_BY_DEFAULT, ...settings });
}

const brief = ({ findings, denied }: CheckResult): unknown => (
  [denied, findings.map(({ code, severity, waived }) => [code, severity, waived])]
);
const named = (...names: readonly string[]): JsonObject => (
  selectorObject("team-a", { arn: ROLE, namespaceSelector: { names } })
);
const everything = (metadata: JsonObject = {}): JsonObject => selectorObject("team-a", { arn: ROLE }, metadata);

test("returns no findings for an object whose kind has no checks", (t) => {
  const otherGroup = { ...everything(), apiVersion: "services.k8s.aws.example.com/v1", kind: "RoleSelector" };
  for (const object of [otherGroup, { ...everything(), kind: "AdoptedResource" }, {}]) {
    t.equal(isChecked(object, EMPTY), false);
    t.same(checkSelector(object), { findings: [], denied: false, skipped: [] });
  }
  t.equal(isChecked(everything(), EMPTY), true);
  t.end();
});

test("reports all faults, sorted by code and path", (t) => {
  const spec = { arn: "x", namespaceSelector: { names: ["B", "A", ""] }, resourceTypeSelector: [] };
  const { findings, denied } = checkSelector(selectorObject("a", spec));
  t.equal(denied, true);
  t.same(findings.map(findingLine).map((line) => line.split(":")[0]), [
    "IRS-02 spec.arn", "IRS-08 spec.namespaceSelector.names[2]", "IRS-09 spec.namespaceSelector.names[0]",
    "IRS-09 spec.namespaceSelector.names[1]", "IRS-15b spec.resourceTypeSelector",
  ]);
  t.same(findings[0], {
    code: "IRS-02", severity: "deny", path: ["spec", "arn"], message: '"x" is not an ARN: it does not start with arn:',
    fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME", waivable: false, waived: false,
  });
  t.end();
});

test("warns about but does not deny a fault that the stored object has, even at another list index", (t) => {
  t.same(brief(checkSelector(named("A"), { old: named("A") })), [false, [["IRS-09", "warn", false]]]);
  t.same(
    brief(checkSelector(named("b", "c", "A"), { old: named("A") })),
    [false, [["IRS-09", "warn", false]]],
    "at another place in the list",
  );
  t.same(brief(checkSelector(named("a"), { old: named("A") })), [false, []], "the fault is fixed");
  t.same(brief(checkSelector(named("A"))), [true, [["IRS-09", "deny", false]]], "at CREATE");
  t.end();
});

test("denies each fault that the stored object does not have, even a second fault of the same check", (t) => {
  t.same(brief(checkSelector(named("A", "B"), { old: named("A") })), [
    true, [["IRS-09", "warn", false], ["IRS-09", "deny", false]],
  ]);
  const denied = brief(checkSelector(named("B"), { old: named("A") }));
  t.same(denied, [true, [["IRS-09", "deny", false]]], "a different name is a different fault");
  t.same(brief(checkSelector(named("a", "a", "a"), { old: named("a", "a") })), [
    true, [["IRS-08", "warn", false], ["IRS-08", "deny", false]],
  ]);
  t.same(brief(checkSelector(named("a", "a"), { old: named("a", "a", "a") })), [false, [["IRS-08", "warn", false]]]);
  const labeled = (key: string): JsonObject => (
    selectorObject("a", { arn: ROLE, resourceLabelSelector: { matchLabels: { [key]: "-" } } })
  );
  const moved = brief(checkSelector(labeled("y"), { old: labeled("x") }));
  t.same(moved, [true, [["IRS-11", "deny", false]]], "the value is under another key");
  t.end();
});

test("applies a waiver if the requester is a waiver user or the command runs offline", (t) => {
  const waived = [false, [["IRS-15", "warn", true]]];
  t.same(
    brief(checkSelector(everything(WAIVED), { requester: ADMIN })),
    waived,
    "the group of the requester is a waiver group",
  );
  t.same(
    brief(checkSelector(everything(WAIVED), { settings: { waiverUsers: ["jane"] } })),
    waived,
    "the name of the requester is a waiver user",
  );
  t.same(brief(checkSelector(everything(WAIVED), { requester: null })), waived, "offline");
  const [finding] = checkSelector(everything(WAIVED), { requester: ADMIN }).findings;
  t.equal(finding?.message, "the selector selects every resource in every namespace");
  t.end();
});

test("ignores and reports a waiver from a requester who is not a waiver user", (t) => {
  const ignored = checkSelector(everything(WAIVED));
  t.same(brief(ignored), [true, [["IRS-15", "deny", false]]]);
  t.equal(ignored.findings[0]?.message, "the selector selects every resource in every namespace; "
    + "the waiver is ignored because the requester is not a waiver user");
  const noWaivers = checkSelector(everything(WAIVED), { requester: ADMIN, settings: { waiverGroups: [] } });
  t.same(brief(noWaivers), [true, [["IRS-15", "deny", false]]]);
  t.end();
});

test("ignores a waiver that does not list the check, or lists a check that cannot be waived", (t) => {
  const allow = (text: unknown): JsonObject => ({ annotations: { "ack-role-resolver.io/allow": text } });
  for (const text of ["IRS-1", "IRS-15b", "", "*", ["IRS-15"]]) {
    const { findings } = checkSelector(everything(allow(text)), { requester: ADMIN });
    const found = findings.filter(({ code }) => code === "IRS-15");
    t.same(
      found.map(({ severity, waivable, waived }) => [severity, waivable, waived]),
      [["deny", true, false]],
      String(text),
    );
  }
  const both = selectorObject("a", { arn: "" }, allow("IRS-01,IRS-15"));
  t.same(brief(checkSelector(both, { requester: ADMIN })), [
    true,
    [
      ["IRS-01", "deny", false],
      ["IRS-15", "warn", true],
    ],
  ]);
  t.end();
});

test("--check changes the severity of a new fault that is not waived", (t) => {
  const set = (id: string, severity: "deny" | "warn" | "off"): Options => (
    { settings: { checkSeverities: new Map([[id, severity]]) } }
  );
  t.same(brief(checkSelector(named("A"), set("IRS-09", "warn"))), [false, [["IRS-09", "warn", false]]]);
  t.same(brief(checkSelector(named("A"), set("IRS-09", "off"))), [false, []]);
  t.same(brief(checkSelector(named("A"), set("IRS-08", "off"))), [true, [["IRS-09", "deny", false]]]);
  const empty = selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["a"] }, resourceTypeSelector: [] });
  t.same(brief(checkSelector(empty)), [false, [["IRS-15b", "warn", false]]]);
  t.same(brief(checkSelector(empty, set("IRS-15b", "deny"))), [true, [["IRS-15b", "deny", false]]]);
  const unchanged = checkSelector(empty, { old: structuredClone(empty), ...set("IRS-15b", "deny") });
  t.same(brief(unchanged), [false, [["IRS-15b", "warn", false]]]);
  const waived = checkSelector(everything(WAIVED), { requester: ADMIN, ...set("IRS-15", "deny") });
  t.same(brief(waived), [false, [["IRS-15", "warn", true]]]);
  t.end();
});

test("neither --check nor a waiver makes a malformed selector effective", (t) => {
  // A selector without a role stays malformed despite its waiver. A selector with the fault IRS-15 is effective with
  // both runtimes.
  for (const runtime of ["ack", "extended"] as const) {
    const inventory = new Inventory({ runtime, origin: "cluster" });
    inventory.apply([selectorObject("roleless", { arn: "" }, WAIVED), selectorObject("broad", { arn: ROLE })].map(put));
    t.same([[...inventory.selectors.malformed.keys()], [...inventory.selectors.keys()]], [["roleless"], ["broad"]]);
  }
  t.end();
});
