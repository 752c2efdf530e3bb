import { isChecked, runChecks } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { test } from "tap";
import { bindChecks } from "../../../shared/core/bind.ts";
import { findingLine } from "../../../shared/core/check.ts";
import type { CheckResult } from "../../../shared/core/run.ts";
import type { DecisionSettings, Requester } from "../../../shared/core/context.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ADMIN, put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";

const JANE: Requester = { username: "jane", groups: ["system:authenticated"] };

interface Options {
  readonly old?: JsonObject;
  readonly requester?: Requester | null;
  readonly settings?: Partial<DecisionSettings>;
}
type Input = readonly [object: JsonObject, options?: Options];

function check([object, { old, requester = JANE, settings = {} } = {}]: Input): CheckResult {
  return runChecks({ object, old: old ?? null, requester, origin: "cluster" }, { ...SETTINGS_BY_DEFAULT, ...settings });
}

/** Returns the verdict, and `SEVERITY CODE` for each finding, with its waiver. */
function brief(input: Input): string[] {
  const { findings, denied } = check(input);
  const found = findings.map(({ code, severity, waived }) => `${severity} ${code}${waived ? " waived" : ""}`);
  return [denied ? "denied" : "admitted", ...found];
}

const named = (...names: readonly string[]): JsonObject => (
  selectorObject("team-a", { arn: ROLE, namespaceSelector: { names } })
);
const everything = (allow?: unknown): JsonObject => selectorObject("team-a", { arn: ROLE }, allow === undefined ? {} : {
  annotations: { "ack-role-resolver.io/allow": allow },
});
const labeled = (key: string): JsonObject => (
  selectorObject("a", { arn: ROLE, resourceLabelSelector: { matchLabels: { [key]: "-" } } })
);

test("returns no findings for an object whose kind has no checks", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  const otherGroup = { ...everything(), apiVersion: "services.k8s.aws.example.com/v1", kind: "RoleSelector" };
  for (const object of [otherGroup, {}]) {
    t.equal(isChecked(object, inventory), false);
    t.same(check([object]), { findings: [], denied: false, skipped: [] });
  }
  t.equal(isChecked(everything(), inventory), true);
  t.end();
});

test("finds nothing with a check that the list does not contain", (t) => {
  t.same(bindChecks([], {}, null).faults(0), []);
  t.end();
});

test("reports all faults, sorted by code and path", (t) => {
  const spec = { arn: "x", namespaceSelector: { names: ["B", "A", ""] }, resourceTypeSelector: [] };
  const { findings, denied } = check([selectorObject("a", spec)]);
  t.equal(denied, true);
  t.same(findings.map(findingLine).map((line) => line.split(":")[0]), [
    "IRS-02 spec.arn", "IRS-08 spec.namespaceSelector.names[2]", "IRS-09 spec.namespaceSelector.names[0]",
    "IRS-09 spec.namespaceSelector.names[1]", "IRS-15 spec.resourceTypeSelector",
  ]);
  t.same(findings[0], {
    code: "IRS-02", severity: "deny", path: ["spec", "arn"], message: '"x" is not an ARN: it does not start with arn:',
    fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME", waivable: false, waived: false,
  });
  t.end();
});

testRows("denies each fault that the stored object does not have, and warns about the others", brief, [
  ["the same fault", [named("A"), { old: named("A") }], "admitted", "warn IRS-09"],
  ["at another place in the list", [named("b", "c", "A"), { old: named("A") }], "admitted", "warn IRS-09"],
  ["the fault is fixed", [named("a"), { old: named("A") }], "admitted"],
  ["at CREATE", [named("A")], "denied", "deny IRS-09"],
  ["a second fault of the same check", [named("A", "B"), { old: named("A") }], "denied", "warn IRS-09", "deny IRS-09"],
  ["a different name is a different fault", [named("B"), { old: named("A") }], "denied", "deny IRS-09"],
  ["one more repetition", [named("a", "a", "a"), { old: named("a", "a") }], "denied", "warn IRS-08", "deny IRS-08"],
  ["one repetition less", [named("a", "a"), { old: named("a", "a", "a") }], "admitted", "warn IRS-08"],
  ["the value is under another key", [labeled("y"), { old: labeled("x") }], "denied", "deny IRS-11"],
]);

const IGNORED = "warn WAIVER-01";
const DENIED_15 = ["deny IRS-15", IGNORED] as const;
const WAIVED_15 = ["warn IRS-15 waived", IGNORED] as const;
const WAIVED = everything("ACK-99, IRS-15");
const set = (id: string, severity: "deny" | "warn" | "off"): Options => (
  { settings: { checkSeverities: new Map([[id, severity]]) } }
);
const empty = selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["a"] }, resourceTypeSelector: [] });
const both = selectorObject("a", { arn: "" }, { annotations: { "ack-role-resolver.io/allow": "IRS-01,IRS-15" } });

testRows("applies a waiver of a waiver user, and --check to a new fault that is not waived", brief, [
  ["the group is a waiver group", [WAIVED, { requester: ADMIN }], "admitted", ...WAIVED_15],
  ["the name is a waiver user", [WAIVED, { settings: { waiverUsers: ["jane"] } }], "admitted", ...WAIVED_15],
  ["offline", [WAIVED, { requester: null }], "admitted", ...WAIVED_15],
  ["another requester", [WAIVED], "denied", ...DENIED_15],
  ["no waiver groups", [WAIVED, { requester: ADMIN, settings: { waiverGroups: [] } }], "denied", ...DENIED_15],
  ...["IRS-1", "IRS-15c", "*"].map((text) =>
    [`the waiver "${text}"`, [everything(text), { requester: ADMIN }], "denied", ...DENIED_15] as const),
  ["an empty waiver", [everything(""), { requester: ADMIN }], "denied", "deny IRS-15"],
  ["a waiver of the wrong type", [everything(["IRS-15"]), { requester: ADMIN }], /denied/, /IRS-00/, /deny IRS-15/],
  ["a check that cannot be waived", [both, { requester: ADMIN }], "denied", "deny IRS-01", ...WAIVED_15],
  ["--check ID=warn", [named("A"), set("IRS-09", "warn")], "admitted", "warn IRS-09"],
  ["--check ID=off", [named("A"), set("IRS-09", "off")], "admitted"],
  ["another check is off", [named("A"), set("IRS-08", "off")], "denied", "deny IRS-09"],
  ["a fault that only warns", [empty], "admitted", "warn IRS-15"],
  ["--check ID=deny of a fault that only warns", [empty, set("IRS-15", "deny")], "admitted", "warn IRS-15"],
  ["a waived fault", [WAIVED, { requester: ADMIN, ...set("IRS-15", "deny") }], "admitted", ...WAIVED_15],
]);

test("reports a waiver from a requester who is not a waiver user", (t) => {
  const message = "the selector selects every resource in every namespace";
  t.equal(check([WAIVED, { requester: ADMIN }]).findings[0]?.message, message);
  t.equal(
    check([WAIVED]).findings[0]?.message,
    `${message}; the waiver is ignored because the requester is not a waiver user`,
  );
  t.end();
});

test("neither --check nor a waiver makes a malformed selector effective", (t) => {
  // A selector without a role stays malformed despite its waiver. A selector with the fault IRS-15 is effective with
  // both runtimes.
  for (const runtime of ["ack", "extended"] as const) {
    const inventory = new Inventory({ runtime, origin: "cluster" }, INVENTORY_KINDS);
    const annotations = { "ack-role-resolver.io/allow": "IRS-99, IRS-15" };
    const roleless = selectorObject("roleless", { arn: "" }, { annotations });
    inventory.apply([roleless, selectorObject("broad", { arn: ROLE })].map(put));
    const selectors = inventory.of(SELECTORS);
    t.same([[...selectors.malformed.keys()], [...selectors.keys()]], [["roleless"], ["broad"]]);
  }
  t.end();
});
