import { test } from "tap";
import { isChecked } from "../../../../shared/decisions/checks/applicable.ts";
import { findingLine } from "../../../../shared/decisions/checks/finding.ts";
import { type CheckResult, runChecks } from "../../../../shared/decisions/checks/run.ts";
import type { DecisionSettings, Requester } from "../../../../shared/decisions/context.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const ADMIN: Requester = { username: "root", groups: ["system:masters", "system:authenticated"] };
const JANE: Requester = { username: "jane", groups: ["system:authenticated"] };
const WAIVED = { annotations: { "ack-role-resolver.io/allow": "IRS-99, IRS-15" } };

interface Options {
  readonly old?: JsonObject;
  readonly requester?: Requester | null;
  readonly settings?: Partial<DecisionSettings>;
}

function judged(object: JsonObject, { old, requester = JANE, settings = {} }: Options = {}): CheckResult {
  return runChecks({ object, old: old ?? null, requester, origin: "cluster" }, { ...SETTINGS_BY_DEFAULT, ...settings });
}

const brief = ({ findings, denied }: CheckResult): unknown => [denied, findings.map(({ code, severity, waived }) => [code, severity, waived])];
const named = (...names: readonly string[]): JsonObject => selectorObject("team-a", { arn: ROLE, namespaceSelector: { names } });
const everything = (metadata: JsonObject = {}): JsonObject => selectorObject("team-a", { arn: ROLE }, metadata);

test("what no check looks at is not judged", (t) => {
  for (const object of [{ ...everything(), apiVersion: "services.k8s.aws.example.com/v1" }, { ...everything(), kind: "FieldExport" }, {}]) {
    t.equal(isChecked(object), false);
    t.same(judged(object), { findings: [], denied: false, skipped: [] });
  }
  t.equal(isChecked(everything()), true);
  t.end();
});

test("every fault is found at once, sorted by code and path", (t) => {
  const { findings, denied } = judged(selectorObject("a", { arn: "x", namespaceSelector: { names: ["B", "A", ""] }, resourceTypeSelector: [] }));
  t.equal(denied, true);
  t.same(findings.map(findingLine).map((line) => line.split(":")[0]), [
    "IRS-02 spec.arn", "IRS-08 spec.namespaceSelector.names[2]", "IRS-09 spec.namespaceSelector.names[0]", "IRS-09 spec.namespaceSelector.names[1]", "IRS-15b spec.resourceTypeSelector",
  ]);
  t.same(findings[0], {
    code: "IRS-02", severity: "deny", path: ["spec", "arn"], message: '"x" is not an ARN: it does not start with arn:',
    fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME", waivable: false, waived: false,
  });
  t.end();
});

test("the ratchet: a fault that stood before warns, wherever it stands now", (t) => {
  t.same(brief(judged(named("A"), { old: named("A") })), [false, [["IRS-09", "warn", false]]]);
  t.same(brief(judged(named("b", "c", "A"), { old: named("A") })), [false, [["IRS-09", "warn", false]]], "at another place of the list");
  t.same(brief(judged(named("a"), { old: named("A") })), [false, []], "mended");
  t.same(brief(judged(named("A"))), [true, [["IRS-09", "deny", false]]], "at CREATE");
  t.end();
});

test("the ratchet: a new fault denies, another of the same kind too, and one more of an equal one", (t) => {
  t.same(brief(judged(named("A", "B"), { old: named("A") })), [true, [["IRS-09", "warn", false], ["IRS-09", "deny", false]]]);
  t.same(brief(judged(named("B"), { old: named("A") })), [true, [["IRS-09", "deny", false]]], "another name is another fault");
  t.same(brief(judged(named("a", "a", "a"), { old: named("a", "a") })), [true, [["IRS-08", "warn", false], ["IRS-08", "deny", false]]]);
  t.same(brief(judged(named("a", "a"), { old: named("a", "a", "a") })), [false, [["IRS-08", "warn", false]]]);
  const labelled = (key: string): JsonObject => selectorObject("a", { arn: ROLE, resourceLabelSelector: { matchLabels: { [key]: "-" } } });
  t.same(brief(judged(labelled("y"), { old: labelled("x") })), [true, [["IRS-11", "deny", false]]], "the same value under another key");
  t.end();
});

test("a waiver counts when one who may waive sends the request, and offline", (t) => {
  const waived = [false, [["IRS-15", "warn", true]]];
  t.same(brief(judged(everything(WAIVED), { requester: ADMIN })), waived, "by group");
  t.same(brief(judged(everything(WAIVED), { settings: { waiverUsers: ["jane"] } })), waived, "by name");
  t.same(brief(judged(everything(WAIVED), { requester: null })), waived, "offline");
  t.equal(judged(everything(WAIVED), { requester: ADMIN }).findings[0]?.message, "the selector selects every resource in every namespace");
  t.end();
});

test("a waiver by anybody else is ignored, and that is said", (t) => {
  const ignored = judged(everything(WAIVED));
  t.same(brief(ignored), [true, [["IRS-15", "deny", false]]]);
  t.equal(ignored.findings[0]?.message, "the selector selects every resource in every namespace; the waiver on it is ignored, since the requester may not waive checks");
  t.same(brief(judged(everything(WAIVED), { requester: ADMIN, settings: { waiverGroups: [] } })), [true, [["IRS-15", "deny", false]]]);
  t.end();
});

test("a waiver that does not name the check, or names one that cannot be waived, changes nothing", (t) => {
  const allow = (text: unknown): JsonObject => ({ annotations: { "ack-role-resolver.io/allow": text } });
  for (const text of ["IRS-1", "IRS-15b", "", "*", ["IRS-15"]]) {
    const { findings } = judged(everything(allow(text)), { requester: ADMIN });
    t.same(findings.filter(({ code }) => code === "IRS-15").map(({ severity, waivable, waived }) => [severity, waivable, waived]), [["deny", true, false]], String(text));
  }
  t.same(brief(judged(selectorObject("a", { arn: "" }, allow("IRS-01,IRS-15")), { requester: ADMIN })), [true, [["IRS-01", "deny", false], ["IRS-15", "warn", true]]]);
  t.end();
});

test("--check changes a severity, the ratchet and a waiver stand above it", (t) => {
  const set = (id: string, severity: "deny" | "warn" | "off"): Options => ({ settings: { checkSeverities: new Map([[id, severity]]) } });
  t.same(brief(judged(named("A"), set("IRS-09", "warn"))), [false, [["IRS-09", "warn", false]]]);
  t.same(brief(judged(named("A"), set("IRS-09", "off"))), [false, []]);
  t.same(brief(judged(named("A"), set("IRS-08", "off"))), [true, [["IRS-09", "deny", false]]]);
  const empty = selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["a"] }, resourceTypeSelector: [] });
  t.same(brief(judged(empty)), [false, [["IRS-15b", "warn", false]]]);
  t.same(brief(judged(empty, set("IRS-15b", "deny"))), [true, [["IRS-15b", "deny", false]]]);
  t.same(brief(judged(empty, { old: structuredClone(empty), ...set("IRS-15b", "deny") })), [false, [["IRS-15b", "warn", false]]]);
  t.same(brief(judged(everything(WAIVED), { requester: ADMIN, ...set("IRS-15", "deny") })), [false, [["IRS-15", "warn", true]]]);
  t.end();
});

test("what is malformed knows nothing of --check and of waivers", (t) => {
  // Neither is an argument of the inventory: a waived IRS-15 takes part under both runtimes, an empty role under none.
  for (const runtime of ["ack", "extended"] as const) {
    const inventory = new Inventory({ runtime, origin: "cluster" });
    inventory.apply([put(selectorObject("roleless", { arn: "" }, WAIVED)), put(selectorObject("broad", { arn: ROLE }))]);
    t.same([[...inventory.malformed.keys()], [...inventory.selectors.keys()]], [["roleless"], ["broad"]]);
  }
  t.end();
});
