import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { EXTERNAL_ID_ANNOTATION, RESOLUTION_KEYS } from "../../../shared/core/annotation-keys.ts";
import { type Audit, auditObjects } from "../../../shared/diagnosis/audit.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { clusterObject, controllerIdentity } from "../capa-objects.ts";
import { bucketObject, inventoryWith, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const OTHER = "arn:aws:iam::444455556666:role/other";

function audit(objects: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): Audit {
  const inventory = inventoryWith(objects, { runtime: settings.runtime ?? "ack", origin: "file" });
  const input = { objects, inventory, origin: "file" } as const;
  return drain(auditObjects(input, { ...SETTINGS_BY_DEFAULT, ...settings }));
}

/** Returns the findings that have a section of their own: `SECTION INDEX SEVERITY CODE MESSAGE`. */
function auditLines(...[objects, settings]: Parameters<typeof audit>): string[] {
  const findings = audit(objects, settings).findings.filter(({ section }) => section !== "checks");
  return findings.map(
    ({ section, index, code, severity, message }) => `${section} ${index} ${severity} ${code} ${message}`,
  );
}

const selector = (name = "a", arn = ROLE, namespace = "team-a"): JsonObject => (
  selectorObject(name, { arn, namespaceSelector: { names: [namespace] } })
);
const existing = (ackResourceMetadata: JsonObject): JsonObject => bucketObject({}, { status: { ackResourceMetadata } });
const ON_DEFAULT = "warn ACK-05 No IAMRoleSelector selects the resource, so the controller's own role is used";

test("reports no findings if no object has a fault", (t) => {
  const objects = [bucketObject(), selector(), existing({ ownerAccountID: "111122223333" })];
  t.same(auditLines(objects, { allowedAccounts: ["111122223333"] }), []);
  t.match(audit([bucketObject(), selector(), namespaceObject("team-a")]).summary, {
    objects: 3, selectors: 1, resources: 1, unannotated: 1, malformed: 0, faulty: 0, conflicts: 0, refused: 0, drift: 0,
    unexpectedAccounts: 0, onDefault: 0, selectingNothing: 0, staleAnnotations: 0,
  });
  t.end();
});

test("reports a selector that controllers apply, but the sidecar refuses, apart from malformed selectors", (t) => {
  const faulty = { ...selector(), metadata: { name: "a", annotations: { [EXTERNAL_ID_ANNOTATION]: "x" } } };
  const lines = auditLines([faulty, selector("b", "no-arn", "team-b")]);
  t.match(lines, [/^malformed 1 deny IRS-02 /, /^faulty 0 deny IRS-42 /]);
  const session = (name: string): JsonObject => (
    { ...selector(name, ROLE, name), metadata: { name, annotations: { [EXTERNAL_ID_ANNOTATION]: `id-${name}` } } }
  );
  const differing = audit([session("a"), session("b")]).findings.map(({ section, code }) => `${section} ${code}`);
  t.same(differing.filter((one) => one.endsWith("IRS-40")), ["checks IRS-40", "checks IRS-40"], "both are valid alone");
  t.end();
});

test("reports conflicts, and resources that use the controller's own role", (t) => {
  t.same(auditLines([bucketObject(), selector(), selector("b")]), [
    "conflicts 0 deny ACK-03 Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [a, b]; "
    + "controllers do not reconcile the resource",
  ]);
  const elsewhere = bucketObject({ namespace: "team-b" });
  t.same(auditLines([selector("b", ROLE, "team-b"), elsewhere, bucketObject()]), [`onDefault 2 ${ON_DEFAULT}`]);
  t.end();
});

test("denies a conflict also if ACK-03 is waived, because a waiver permits a write", (t) => {
  const waived = bucketObject({ annotations: { "ack-role-resolver.io/allow": "ACK-03" } });
  const { findings } = audit([waived, selector(), selector("b")]);
  t.match(findings.filter(({ code }) => code === "ACK-03"), [{ severity: "deny", waivable: false, waived: false }]);
  t.end();
});

test("denies the controller's own role in a namespace that requires a selector", (t) => {
  const strict = namespaceObject("team-a", {}, { "ack-role-resolver.io/selector-required": "true" });
  t.same(auditLines([bucketObject(), strict]), [
    "onDefault 0 deny ACK-05b namespace team-a requires a selector, but the resource would use the controller's own "
    + "role",
  ]);
  t.end();
});

test("reports a resource that names a selector that does not select it", (t) => {
  const naming = (name: string): JsonObject => (
    bucketObject({ annotations: { "ack-role-resolver.io/use-selector": name } })
  );
  const extended = { runtime: "extended" } as const;
  t.same(auditLines([selector(), selector("b"), naming("a")], extended), [], "b selects the bucket too");
  const [line, ...others] = auditLines([selector(), naming("missing")], extended);
  t.match(line, /^refused 1 deny ACK-03 The annotation .* names IAMRoleSelector "missing", which does not exist\. /);
  t.same(others, []);
  t.end();
});

test("reports malformed and faulty selectors, and resolves roles only with the faulty selectors", (t) => {
  const objects = [selector("typo", "x"), selector("user", "arn:aws:iam::111122223333:user/jane"), bucketObject()];
  const { findings, summary } = audit(objects);
  const reported = findings.filter(({ section }) => section === "malformed" || section === "faulty");
  t.same(reported.map(({ section, index, code, severity }) => `${section} ${index} ${severity} ${code}`), [
    "malformed 0 deny IRS-02", "faulty 1 deny IRS-03",
  ]);
  t.match(summary, { malformed: 1, faulty: 1, selectingNothing: 0 });
  t.end();
});

test("lists everything that crosses namespaces in one section", (t) => {
  const secret = { namespace: "team-b", name: "db", key: "k" };
  const objects = [
    bucketObject({}, { spec: { keyRef: { from: { namespace: "team-b", name: "k" } } } }),
    fieldExport("e", "team-a", { kind: "configmap", name: "c", namespace: "team-b" }),
    bucketObject({ name: "b2" }, { spec: { password: secret, namespace: "team-b" } }),
  ];
  const crossing = auditLines(objects).filter((line) => line.startsWith("crossNamespace"));
  t.match(crossing, [/^\w+ 0 warn ACK-37 /, /^\w+ 1 warn FE-03 /, /^\w+ 2 warn ACK-38 /]);
  t.match(audit(objects).summary, { crossNamespace: 3 });
  t.end();
});

test("does not count a selector as malformed or faulty if its only fault can be waived", (t) => {
  const { findings, summary } = audit([selectorObject("all", { arn: ROLE }), bucketObject()]);
  t.match(findings.filter(({ code }) => code === "IRS-15"), [{ section: "checks", severity: "deny", index: 0 }]);
  t.match(summary, { malformed: 0, faulty: 0 });
  t.end();
});

test("reports a resource that exists in another account or region than its resolution", (t) => {
  const settings = { region: "eu-west-1" };
  t.same(auditLines([existing({ ownerAccountID: "444455556666" }), selector()]), [
    'drift 0 deny ACK-07 the status of the resource records account "444455556666" but its role is in account '
    + '"111122223333", so controllers never reconcile it',
  ]);
  t.same(auditLines([existing({ region: "us-east-1" }), selector()], settings), [
    'drift 0 deny ACK-10b the status of the resource records region "us-east-1", but its desired region is "eu-west-1" '
    + "(set by the controller), so controllers never reconcile it",
  ]);
  const inPlace = existing({ ownerAccountID: "111122223333", region: "eu-west-1" });
  t.same(auditLines([inPlace, selector()], settings), []);
  t.end();
});

test("reports roles and existing resources whose account is not allowed", (t) => {
  const settings = { allowedAccounts: ["111122223333"], controllerAccount: "999999999999" };
  t.same(auditLines([selector("a", OTHER), bucketObject()], settings), [
    "unexpectedAccounts 0 deny IRS-04 account 444455556666 is not one of the allowed accounts: 111122223333",
  ]);
  const checkSeverities = new Map([["ACK-07", "off"]] as const);
  t.same(auditLines([selector(), existing({ ownerAccountID: "444455556666" })], { ...settings, checkSeverities }), [
    'unexpectedAccounts 1 deny IRS-04 the status of the resource records account "444455556666", '
    + 'which is not one of --allowed-accounts',
  ]);
  const own = auditLines([existing({ ownerAccountID: "999999999999" })], settings);
  t.same(own, [`onDefault 0 ${ON_DEFAULT}`], "the controllers' account is allowed");
  t.same(auditLines([selector("a", OTHER), bucketObject()]), []);
  const skipped = audit([bucketObject()]).skipped.filter(({ code }) => code === "IRS-04");
  t.match(skipped, [{ code: "IRS-04", needs: "--allowed-accounts or --controller-role" }]);
  t.end();
});

test("reports selectors that select no resource, if the input contains resources", (t) => {
  t.same(auditLines([bucketObject(), selector(), selector("b", ROLE, "team-b")]), [
    "selectingNothing 2 warn IRS-22 the selector selects no existing resource",
  ]);
  const conflict = auditLines([bucketObject(), selector(), selector("b")]);
  t.same(
    conflict.filter((line) => line.startsWith("selectingNothing")),
    [],
    "a selector that is in a conflict still selects the resource",
  );
  t.same(auditLines([selector()]), []);
  const skipped = audit([selector()]).skipped.filter(({ code }) => code === "IRS-22");
  t.match(skipped, [{ code: "IRS-22", needs: "resources" }]);
  t.end();
});

/** Returns a bucket with the annotations that the webhook writes for selector a, changed by `changes`. */
function annotatedBucket(changes: Readonly<Record<string, string>> = {}): JsonObject {
  const values = {
    "outcome": "selected", "via": "selector", "selector": "a", "role-arn": ROLE,
    "reason": "IAMRoleSelector a selects the resource.",
    ...changes,
  };
  const entries = Object.entries(values).map(([key, value]) => [`ack-role-resolver.io/${key}`, value]);
  return bucketObject({ annotations: Object.fromEntries(entries) });
}

test("reports stale annotations, and counts the resources that have no annotations", (t) => {
  t.same(auditLines([annotatedBucket(), selector()]), []);
  t.same(auditLines([annotatedBucket({ "role-arn": OTHER, "conflicting-selectors": "a,b" }), selector()]), [
    `staleAnnotations 0 warn ACK-02 ack-role-resolver.io/role-arn is "${OTHER}" but should be "${ROLE}"; `
    + 'ack-role-resolver.io/conflicting-selectors is "a,b" but should be absent',
  ]);
  const stale = audit([annotatedBucket({ outcome: "default" }), selector()]).findings;
  t.match(
    stale.filter(({ code }) => code === "ACK-02"),
    [{ path: ["metadata", "annotations", { key: RESOLUTION_KEYS[0] }] }],
  );
  t.equal(audit([annotatedBucket(), bucketObject({ name: "b2" }), selector()]).summary.unannotated, 1);
  const template = { ...clusterObject("t", null), kind: "AWSClusterTemplate" };
  t.equal(audit([clusterObject("c", null), template]).summary.unannotated, 2, "clusters and templates");
  t.equal(audit([clusterObject("c", null), template, controllerIdentity()]).summary.unannotated, 2);
  t.end();
});

test("reports no annotation that only differs because the webhook knows other settings", (t) => {
  const message = "No IAMRoleSelector selects the resource, so the controller's own role is used.";
  const drift = `${message} Drift: the status records account 111122223333, but its role is in account 999999999999.`;
  const own = (annotations: Readonly<Record<string, string>>): JsonObject => {
    const entries = Object.entries({ outcome: "default", reason: message, ...annotations });
    const named = Object.fromEntries(entries.map(([key, value]) => [`ack-role-resolver.io/${key}`, value]));
    return bucketObject({ annotations: named }, {
      status: { ackResourceMetadata: { ownerAccountID: "111122223333" } },
    });
  };
  const role = "arn:aws:iam::999999999999:role/ack";
  const stale = (object: JsonObject, controllerRole: string | null): string[] => (
    auditLines([object], { controllerRole }).filter((line) => line.includes("ACK-02"))
  );
  t.same(stale(own({}), role), [], "the webhook does not know the role of the controllers");
  t.same(stale(own({ "role-arn": role, "reason": drift }), null), [], "only the webhook knows it");
  t.match(stale(own({ "role-arn": OTHER }), role), [/role-arn is "\S+" but should be "\S+ack"$/], "both know one");
  const other = own({ outcome: "selected", "role-arn": OTHER });
  t.match(stale(other, null), [/outcome is .*role-arn is "\S+" but should be/]);
  t.match(stale(own({ reason: "x" }), role), [/reason is "x" but should be/]);
  t.match(stale(bucketObject({ annotations: { "ack-role-resolver.io/outcome": "default" } }), null),
    [/reason is absent but should be/]);
  t.end();
});

test("reports stale annotations of a cluster, if the input contains its identities", (t) => {
  const annotated = (outcome: string): JsonObject => ({
    ...clusterObject("c", "controller"), metadata: { name: "c", namespace: "ns1", annotations: {
      "ack-role-resolver.io/outcome": outcome, "ack-role-resolver.io/via": "identity",
      "ack-role-resolver.io/identity-chain": "AWSClusterControllerIdentity/default",
      "ack-role-resolver.io/reason": 'AWSClusterControllerIdentity "default" allows the namespace, so CAPA uses its '
        + "own credentials.",
    } },
  });
  const identities = [namespaceObject("ns1"), controllerIdentity({ list: ["ns1"] })];
  t.same(auditLines([annotated("default"), ...identities]), []);
  t.same(auditLines([clusterObject("c", "controller"), ...identities]), [], "no annotations");
  t.same(auditLines([annotated("selected"), ...identities]), [
    'staleAnnotations 0 warn ACK-02 ack-role-resolver.io/outcome is "selected" but should be "default"',
  ]);
  t.same(auditLines([annotated("selected"), namespaceObject("ns1")]), [], "the identities are unknown");
  t.end();
});

test("reports missing roles and disallowed accounts of the CARM maps in mode carm, and ignores selectors", (t) => {
  const owned = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "444455556666" });
  const map = {
    apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
    data: { "444455556666": OTHER },
  };
  const carm = { mode: "carm", allowedAccounts: ["111122223333"] } as const;
  t.same(auditLines([bucketObject(), owned, selector("b", ROLE, "x")], carm), [
    "refused 0 deny ACK-03 ConfigMap ack-system/ack-role-account-map does not exist, "
    + "so key \"444455556666\" has no role",
  ]);
  t.same(auditLines([bucketObject(), owned, map], carm), [
    'unexpectedAccounts 0 deny IRS-04 the role of the resource is in account "444455556666", '
    + 'which is not one of --allowed-accounts',
  ]);
  t.end();
});

test("--check changes the severity of a check or turns the check off", (t) => {
  const linesAt = (severity: "deny" | "warn" | "off"): string[] => (
    auditLines([bucketObject()], { checkSeverities: new Map([["ACK-05", severity]]) })
  );
  t.match(linesAt("deny"), [/^onDefault 0 deny /]);
  t.match(linesAt("warn"), [/^onDefault 0 warn /]);
  t.same(linesAt("off"), []);
  t.end();
});

test("orders findings by section, then by object", (t) => {
  const namespaces = ["z", "y"].map((namespace) => bucketObject({ namespace }));
  const { findings } = audit([...namespaces, selector(), selector("b"), bucketObject()]);
  const found = findings.filter(({ section }) => section !== "checks");
  t.same(found.map(({ section, index }) => `${section} ${index}`), ["conflicts 4", "onDefault 0", "onDefault 1"]);
  t.end();
});

test("finds every overlap if the input has more than 2,000 selectors", (t) => {
  const selectors = Array.from({ length: 2100 }, (_, i) => selector(`s${i}`, `${ROLE}${i}`, `n${i % 2099}`));
  const { findings, skipped } = audit(selectors);
  const overlapping = findings.filter(({ code }) => code === "IRS-18");
  t.same(overlapping.map(({ index }) => index), [0, 2099]);
  t.same(skipped.filter(({ code }) => code === "IRS-18"), []);
  t.end();
});

test("yields the number of audited objects after every 200 objects", (t) => {
  const objects = Array.from({ length: 401 }, (_, i) => bucketObject({ name: `b${i}` }));
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  t.same([...auditObjects({ objects, inventory, origin: "file" }, SETTINGS_BY_DEFAULT)], [200, 400]);
  t.end();
});
