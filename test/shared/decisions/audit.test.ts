import { test } from "tap";
import { RESOLUTION_KEYS } from "../../../shared/decisions/annotation-keys.ts";
import { type Audit, auditObjects } from "../../../shared/decisions/audit.ts";
import type { DecisionSettings } from "../../../shared/decisions/context.ts";
import { Inventory } from "../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../shared/decisions/kubernetes/json.ts";
import { drain } from "../../../shared/decisions/paced.ts";
import { bucketObject, namespaceObject, put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "./objects.ts";

const OTHER = "arn:aws:iam::444455556666:role/other";

function audit(objects: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): Audit {
  const inventory = new Inventory({ runtime: "ack", origin: "file" });
  inventory.apply(objects.map(put));
  return drain(auditObjects({ objects, inventory, origin: "file" }, { ...SETTINGS_BY_DEFAULT, ...settings }));
}

/** The findings of the audit's own checks, as lines. */
function own(...[objects, settings]: Parameters<typeof audit>): string[] {
  return audit(objects, settings).findings.filter(({ code }) => code.startsWith("AUD-")).map(({ section, index, code, severity, message }) => `${section} ${index} ${severity} ${code} ${message}`);
}

const selector = (name = "a", arn = ROLE, namespace = "team-a"): JsonObject => selectorObject(name, { arn, namespaceSelector: { names: [namespace] } });
const existing = (ackResourceMetadata: JsonObject): JsonObject => bucketObject({}, { status: { ackResourceMetadata } });

test("a state in order has no finding of an audit's own", (t) => {
  t.same(own([bucketObject(), selector(), existing({ ownerAccountID: "111122223333" })], { allowedAccounts: ["111122223333"] }), []);
  t.match(audit([bucketObject(), selector(), namespaceObject("team-a")]).summary, {
    objects: 3, selectors: 1, resources: 1, unannotated: 1, malformed: 0, faulty: 0, conflicts: 0, refused: 0, drift: 0, unexpectedAccounts: 0, onDefault: 0, selectingNothing: 0, staleAnnotations: 0,
  });
  t.end();
});

test("conflicts, and resources on the default role", (t) => {
  t.same(own([bucketObject(), selector(), selector("b")]), ["conflicts 0 deny AUD-01 2 IAMRoleSelectors select it: a, b"]);
  t.same(own([selector("b", ROLE, "team-b"), bucketObject({ namespace: "team-b" }), bucketObject()]), ["onDefault 2 warn AUD-05 nothing gives it a role, so the controller's own is used"]);
  t.end();
});

test("malformed selectors take no part, faulty ones do, and both are told with every fault", (t) => {
  const objects = [selector("typo", "x"), selector("user", "arn:aws:iam::111122223333:user/jane"), bucketObject()];
  const { findings, summary } = audit(objects);
  t.same(findings.filter(({ section }) => section === "malformed" || section === "faulty").map(({ section, index, code, severity }) => `${section} ${index} ${severity} ${code}`), [
    "malformed 0 deny IRS-02", "faulty 1 deny IRS-03",
  ]);
  t.match(summary, { malformed: 1, faulty: 1, selectingNothing: 0 });
  t.end();
});

test("a waivable fault makes a selector neither", (t) => {
  const { findings, summary } = audit([selectorObject("all", { arn: ROLE }), bucketObject()]);
  t.match(findings.filter(({ code }) => code === "IRS-15"), [{ section: "checks", severity: "deny", index: 0 }]);
  t.match(summary, { malformed: 0, faulty: 0 });
  t.end();
});

test("drift of account and of region", (t) => {
  const said = ["drift 0 deny AUD-03 it exists in account 444455556666, and the role is in 111122223333"];
  t.same(own([existing({ ownerAccountID: "444455556666" }), selector()]), said);
  t.same(own([existing({ region: "us-east-1" }), selector()], { region: "eu-west-1" }), ["drift 0 deny AUD-03 it exists in region us-east-1, and eu-west-1 is wanted"]);
  t.same(own([existing({ ownerAccountID: "111122223333", region: "eu-west-1" }), selector()], { region: "eu-west-1" }), []);
  t.end();
});

test("accounts that are not allowed: of roles, and of what exists", (t) => {
  const settings = { allowedAccounts: ["111122223333"], controllerAccount: "999999999999" };
  t.same(own([selector("a", OTHER), bucketObject()], settings), ["unexpectedAccounts 0 deny AUD-04 the role is in account 444455556666, which is not one of --allowed-accounts"]);
  t.same(own([selector(), existing({ ownerAccountID: "444455556666" })], { ...settings, checkSeverities: new Map([["AUD-03", "off"]]) }), [
    'unexpectedAccounts 1 deny AUD-04 the resource is in account "444455556666", which is not one of --allowed-accounts',
  ]);
  t.same(own([existing({ ownerAccountID: "999999999999" })], settings), ["onDefault 0 warn AUD-05 nothing gives it a role, so the controller's own is used"], "the controllers' own is");
  t.same(own([selector("a", OTHER), bucketObject()]), []);
  t.match(audit([bucketObject()]).skipped.filter(({ code }) => code === "AUD-04"), [{ code: "AUD-04", needs: "--allowed-accounts" }]);
  t.end();
});

test("selectors that select nothing, where resources are known", (t) => {
  t.same(own([bucketObject(), selector(), selector("b", ROLE, "team-b")]), ["selectingNothing 2 warn AUD-06 the selector selects no resource that there is"]);
  t.same(own([bucketObject(), selector(), selector("b")]).filter((line) => line.startsWith("selectingNothing")), [], "one in conflict does");
  t.same(own([selector()]), []);
  t.match(audit([selector()]).skipped.filter(({ code }) => code === "AUD-06"), [{ code: "AUD-06", needs: "resources" }]);
  t.end();
});

const told = (changes: Readonly<Record<string, string>> = {}): JsonObject => bucketObject({
  annotations: Object.fromEntries(Object.entries({ "outcome": "selected", "via": "selector", "selector": "a", "role-arn": ROLE, "reason": "IAMRoleSelector a selects it.", ...changes })
    .map(([key, value]) => [`ack-role-resolver.io/${key}`, value])),
});

test("annotations that tell anything else than the truth are stale; none at all are counted", (t) => {
  t.same(own([told(), selector()]), []);
  t.same(own([told({ "role-arn": OTHER, "conflicting-selectors": "a,b" }), selector()]), [
    `staleAnnotations 0 warn AUD-07 ack-role-resolver.io/role-arn is "${OTHER}" and should be "${ROLE}"; ack-role-resolver.io/conflicting-selectors is "a,b" and should be absent`,
  ]);
  t.match(audit([told({ outcome: "default" }), selector()]).findings.filter(({ code }) => code === "AUD-07"), [{ path: ["metadata", "annotations", { key: RESOLUTION_KEYS[0] }] }]);
  t.equal(audit([told(), bucketObject({ name: "b2" }), selector()]).summary.unannotated, 1);
  t.end();
});

test("in mode carm the maps decide: what they refuse, the account that they give, and no word of selectors", (t) => {
  const owned = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "444455556666" });
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" }, data: { "444455556666": OTHER } };
  const carm = { mode: "carm", allowedAccounts: ["111122223333"] } as const;
  t.same(own([bucketObject(), owned, selector("b", ROLE, "x")], carm), ["refused 0 deny AUD-02 ConfigMap ack-system/ack-role-account-map is not there, so 444455556666 has no role"]);
  t.same(own([bucketObject(), owned, map], carm), ['unexpectedAccounts 0 deny AUD-04 the resource is in account "444455556666", which is not one of --allowed-accounts']);
  t.end();
});

test("--check changes the severity of each, or puts it off", (t) => {
  const at = (severity: "deny" | "warn" | "off"): string[] => own([bucketObject()], { checkSeverities: new Map([["AUD-05", severity]]) });
  t.match(at("deny"), [/^onDefault 0 deny /]);
  t.match(at("warn"), [/^onDefault 0 warn /]);
  t.same(at("off"), []);
  t.end();
});

test("what an audit says of an object, no other check repeats; put off, the other check speaks", (t) => {
  const codes = (settings: Partial<DecisionSettings>): string[] => audit([bucketObject(), selector("b", ROLE, "team-b")], settings).findings.map(({ code }) => code);
  t.notOk(codes({}).includes("ACK-05"));
  t.ok(codes({ checkSeverities: new Map([["AUD-05", "off"]]) }).includes("ACK-05"));
  t.end();
});

test("sections stand in their order, and in each the objects as they came", (t) => {
  const { findings } = audit([bucketObject({ namespace: "z" }), bucketObject({ namespace: "y" }), selector(), selector("b"), bucketObject()]);
  t.same(findings.filter(({ code }) => code.startsWith("AUD-")).map(({ section, index }) => `${section} ${index}`), ["conflicts 4", "onDefault 0", "onDefault 1"]);
  t.end();
});

test("of many selectors those that may overlap are not compared with one another, and that is said", (t) => {
  const selectors = Array.from({ length: 2001 }, (_, i) => selector(`s${i}`, ROLE, `n${i}`));
  t.match(audit(selectors).skipped.filter(({ code }) => code === "IRS-18"), [{ code: "IRS-18", needs: "at most 2000 selectors" }]);
  t.same(audit(selectors.slice(1)).skipped.filter(({ code, needs }) => code === "IRS-18" && needs.includes("2000")), []);
  t.end();
});

test("it tells how far it is, now and then", (t) => {
  const objects = Array.from({ length: 401 }, (_, i) => bucketObject({ name: `b${i}` }));
  const inventory = new Inventory({ runtime: "ack", origin: "file" });
  t.same([...auditObjects({ objects, inventory, origin: "file" }, SETTINGS_BY_DEFAULT)], [200, 400]);
  t.end();
});
