import { CATALOGUE, runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import { RoleTrust } from "../../../shared/trust/role-trust.ts";
import { auditObjects } from "../../../shared/diagnosis/audit.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { drain } from "../../../shared/formats/paced.ts";
import type { FieldPath, JsonObject } from "../../../shared/formats/json.ts";
import { roleIdentity, staticIdentity } from "../capa-objects.ts";
import { inventoryWith, mapObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { callerOf, identityTarget, reviewOf } from "./review.ts";
import { allow, APP, type Fields, ROLE } from "./trust-cases.ts";
import { lineOf } from "../core/findings.ts";
import { applyRepairs } from "../core/repaired.ts";

const WITH_OTHERS = [allow({ AWS: [APP, "arn:aws:iam::111122223333:user/jane"] })];
const CALLERS = [callerOf(), callerOf({ via: "capa" })];

interface Circumstances {
  readonly trust?: readonly Fields[];
  readonly settings?: Partial<DecisionSettings>;
  readonly known?: readonly JsonObject[];
}

/** Returns the lines of the checks of trust for a new object. */
function lines(object: JsonObject, { trust = [], settings = {}, known = [] }: Circumstances = {}): string[] {
  const inventory = inventoryWith([object, ...known], { origin: "file" });
  const input = {
    object, old: null, requester: null, origin: "file", inventory, trust: reviewOf({ trust, callers: CALLERS }),
  } as const;
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  const { findings } = runChecks(input, all);
  applyRepairs({ input, settings: all, known: [object, ...known] }, { findings });
  return findings.filter(({ code }) => code.startsWith("TR-")).map(lineOf);
}

const selector = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["a"] } });
const DENIED = `TR-01 spec.arn: ${APP} cannot assume the role: no statement of the trust policy allows the caller `
  + "sts:AssumeRole. Add a statement that allows the ARN of the caller sts:AssumeRole; the identity policy of the "
  + "caller must allow it too.";

test("TR-01 denies a selector whose role the controllers cannot assume", async (t) => {
  t.same(lines(selector), [`deny ${DENIED}`]);
  t.same(lines(selector, { trust: [allow({ AWS: APP })] }), []);
  t.same(lines(selectorObject("bad", { arn: "team-a" })), [], "controllers ignore a malformed selector");
});

test("TR-10 warns of others, with the fix for them", async (t) => {
  t.same(lines(selector, { trust: WITH_OTHERS }), [
    "warn TR-10 spec.arn: others can assume the role: arn:aws:iam::111122223333:user/jane. Remove it from the policy, "
    + "or pass it with --intended; a user has long-term keys, so prefer a role.",
  ]);
});

test("an annotation waives a check, and --check sets its severity", async (t) => {
  const waived = { annotations: { "ack-role-resolver.io/allow": "TR-01" } };
  t.same(lines(selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["a"] } }, waived)), [
    `warn (waived) ${DENIED}`,
  ]);
  t.same(lines(selector, { settings: { checkSeverities: new Map([["TR-01", "warn"]]) } }), [`warn ${DENIED}`]);
  t.same(lines(selector, { settings: { checkSeverities: new Map([["TR-01", "off"]]) } }), []);
});

test("an object that controllers do not read in this mode is only warned about", async (t) => {
  const map = mapObject("ack-role-account-map", { 222222222222: ROLE });
  const at = DENIED.replace("spec.arn", "data[222222222222]");
  t.same(lines(map), [`warn ${at}`]);
  t.same(lines(map, { settings: { mode: "carm" } }), [`deny ${at}`]);
  t.same(lines(selector, { settings: { mode: "carm" } }), [`warn ${DENIED}`]);
  t.same(lines(mapObject("ack-role-account-map", { 222222222222: ROLE }, "other")), [], "no controller reads it");
});

test("an identity is judged with the role that assumes its role", async (t) => {
  const identity = roleIdentity("clusters", null, {}, { roleARN: ROLE });
  t.same(lines(identity), [`deny ${DENIED.replace("spec.arn", "spec.roleARN")}`]);
  t.same(lines(identity, { settings: { mode: "carm" } }), [`deny ${DENIED.replace("spec.arn", "spec.roleARN")}`]);
  const base = roleIdentity("base", null, {}, { roleARN: APP });
  const chained = roleIdentity("clusters", "role/base", {}, { roleARN: ROLE });
  t.same(lines(chained, { known: [base], trust: [allow({ AWS: APP })] }), []);
  t.same(lines(chained), [], "another check reports a source that does not exist");
  t.same(lines(staticIdentity("keys")), [], "a user assumes nothing here");
});

test("TR-06 points to the duration that an identity states", async (t) => {
  const identity = roleIdentity("clusters", null, {}, { roleARN: ROLE, durationSeconds: 7200 });
  t.match(lines(identity, { trust: [allow({ AWS: APP })] }), [/^deny TR-06 spec\.durationSeconds: .* 7200 seconds/]);
});

test("TR-06 proposes the longest duration where an object has one", async (t) => {
  const target = identityTarget({ durationSeconds: 7200 });
  const review = reviewOf({ trust: [allow({ AWS: APP })], callers: CALLERS });
  const repairsAt = (path: FieldPath): unknown => (
    Array.from(new RoleTrust(() => [{ path, target }], review).faults("TR-06"), ({ repairs = [] }) => repairs).flat()
  );
  t.match(repairsAt(["spec", "arn"]), [{ edits: [{ path: ["metadata", "annotations", {}], value: "3600" }] }]);
  t.same(repairsAt(["data", "a"]), []);
});

test("without exports of IAM the checks do not run, and at an update of the webhook they do not count", async (t) => {
  const inventory = inventoryWith([selector]);
  const input = { object: selector, old: null, requester: null, origin: "file", inventory } as const;
  const ofTrust = CATALOGUE.filter(({ requires = [] }) => requires.some(({ name }) => name === "--iam"));
  const ids = ofTrust.map(({ id }) => id);
  t.equal(ids.length, 10);
  const skipped = (old: JsonObject | null): string[] => (
    runChecks({ ...input, old }, SETTINGS_BY_DEFAULT).skipped.filter(({ needs }) => needs === "--iam")
      .map(({ code }) => code)
  );
  t.same(skipped(null), ids);
  t.same(skipped({ ...selector }), []);
  t.same([...new RoleTrust(() => [], null).faults("TR-01")], []);
  const identity = roleIdentity("clusters", null, {}, { roleARN: ROLE });
  for (const object of [selector, identity]) {
    const alone = { ...input, object, inventory: null, trust: reviewOf({ trust: [], callers: CALLERS }) };
    const { findings } = runChecks(alone, SETTINGS_BY_DEFAULT);
    t.same(findings.filter(({ code }) => code.startsWith("TR-")), [], "sources are in the inventory");
  }
});

test("audit runs the checks on stored objects", async (t) => {
  const inventory = inventoryWith([selector]);
  const input = { objects: [selector], inventory, origin: "cluster", trust: reviewOf({ trust: [] }) } as const;
  const { findings } = drain(auditObjects(input, SETTINGS_BY_DEFAULT));
  t.match(findings.filter(({ code }) => code.startsWith("TR-")), [{ code: "TR-01", section: "checks", index: 0 }]);
});
