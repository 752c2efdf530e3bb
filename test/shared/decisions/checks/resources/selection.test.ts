import { test } from "tap";
import { unmetRequirements } from "../../../../../shared/checks/run.ts";
import { ACK_05 } from "../../../../../shared/checks/resource-selection.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import {
  ADMIN, annotated, attempted, CLUSTER_OBJECTS, findingLines, GOLD, owned, skippedChecks, tiered, tierSelector,
} from "../resource-lines.ts";

const CARM: readonly JsonObject[] = [
  namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111122223333" }),
  namespaceObject("sandbox"),
  {
    apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "ack-system", name: "ack-role-account-map" },
    data: { "999": GOLD },
  },
];
const MAPS = { known: CARM, settings: { mode: "carm" } } as const;
const unselected = bucketObject({ namespace: "sandbox" });

test("ACK-03 warns about a conflict of a new or changed resource", (t) => {
  const conflict = "metadata: Cannot determine which IAMRoleSelector to use. "
    + "Conflicting IAMRoleSelectors: [gold, silver]; controllers do not reconcile the resource. "
    + "Restrict or delete selectors until only one selects the resource, or change the labels of the resource.";
  t.same(findingLines("ACK-03", tiered("gold", "silver")), [`warn ACK-03 ${conflict}`]);
  t.same(findingLines("ACK-03", tiered("gold")), []);
  t.same(findingLines("ACK-03", tiered("gold", "silver"), { old: tiered("gold") }), [`warn ACK-03 ${conflict}`]);
  t.same(findingLines("ACK-03", tiered("gold"), { old: tiered("gold", "silver") }), []);
  t.end();
});

test("ACK-03 warns if the CARM maps contain no role for the resource", (t) => {
  const noKey = 'metadata: ConfigMap ack-system/ack-role-account-map has no key "111122223333". '
    + "Correct the CARM map, or the account or team annotation of the namespace.";
  t.same(findingLines("ACK-03", bucketObject(), MAPS), [`warn ACK-03 ${noKey}`]);
  t.same(findingLines("ACK-03", bucketObject(), { ...MAPS, old: bucketObject() }), [`warn ACK-03 ${noKey}`]);
  t.same(findingLines("ACK-03", unselected, MAPS), []);
  t.end();
});

test("ACK-05 warns if the resource uses the controller's own role", (t) => {
  const fix = "Label the resource or its namespace so that a selector matches, unless the controller's account is "
    + "intended.";
  t.same(findingLines("ACK-05", unselected), [
    `warn ACK-05 metadata: No IAMRoleSelector selects the resource, so the controller's own role is used. ${fix}`,
  ]);
  t.same(findingLines("ACK-05", unselected, MAPS), [
    `warn ACK-05 metadata: The namespace names no account or team, so the controller's own role is used. ${fix}`,
  ]);
  t.same(findingLines("ACK-05", tiered("gold")), []);
  t.same(
    findingLines("ACK-05", bucketObject(), MAPS),
    [],
    "without a role in the maps the controller's role is not used",
  );
  t.end();
});

test("ACK-05b denies the use of the controller's own role if the namespace requires a selector", (t) => {
  const requiring = (value: string): readonly JsonObject[] => (
    [...CLUSTER_OBJECTS, namespaceObject("sandbox", {}, { "ack-role-resolver.io/selector-required": value })]
  );
  const line = "ACK-05b metadata: namespace sandbox requires a selector, "
    + "but the resource would use the controller's own role. "
    + "Label the resource to match a selector, or create a selector that selects the resource.";
  const known = requiring("true");
  t.same(findingLines("ACK-05b", unselected, { known }), [`deny ${line}`]);
  t.same(findingLines("ACK-05", unselected, { known }), [], "ACK-05 does not report the fault again");
  t.same(findingLines("ACK-05b", unselected, { known: requiring("false") }), []);
  const waived = bucketObject({ namespace: "sandbox", annotations: { "ack-role-resolver.io/allow": "ACK-05b" } });
  t.same(findingLines("ACK-05b", waived, { known, requester: ADMIN }), [`deny ${line}`], "the check cannot be waived");
  t.same(
    findingLines("ACK-05b", unselected, { known, old: { ...unselected } }),
    [`warn ${line}`],
    "the stored resource has the same fault",
  );
  const selected = namespaceObject("team-a", {}, { "ack-role-resolver.io/selector-required": "true" });
  t.same(findingLines("ACK-05b", tiered("gold"), { known: [...CLUSTER_OBJECTS, selected] }), []);
  t.end();
});

const LABEL_FIX = "Keep the labels that selectors match, or ask the owner of the selectors to move the resource.";
const TO_SILVER = 'the new labels move the resource from the role "arn:aws:iam::111122223333:role/gold" '
  + 'to the role "arn:aws:iam::444455556666:role/silver"';

test("ACK-06 denies a label change that moves a resource to another role", (t) => {
  const line = (message: string): string => `deny ACK-06 metadata.labels: ${message}. ${LABEL_FIX}`;
  t.same(findingLines("ACK-06", tiered("silver"), { old: tiered("gold") }), [line(TO_SILVER)]);
  t.same(findingLines("ACK-06", tiered("gold", "blue"), { old: tiered("gold") }), []);
  const gold = 'the role "arn:aws:iam::111122223333:role/gold"';
  t.same(findingLines("ACK-06", tiered(), { old: tiered("gold") }), [
    line(`the new labels move the resource from ${gold} to the controller's own role`),
  ]);
  t.same(findingLines("ACK-06", tiered("gold"), { old: tiered() }), [
    line(`the new labels move the resource from the controller's own role to ${gold}`),
  ]);
  t.same(findingLines("ACK-06", tiered("silver")), [], "at CREATE the requester chooses the role");
  t.end();
});

test("ACK-06 cannot be waived, and allows another selector if it has the same role", (t) => {
  const waived = annotated({ "ack-role-resolver.io/allow": "ACK-06" }, tiered("silver"));
  t.match(findingLines("ACK-06", waived, { old: tiered("gold"), requester: ADMIN }), [/^deny/]);
  const twin = [...CLUSTER_OBJECTS, tierSelector("twin", GOLD)];
  t.same(findingLines("ACK-06", tiered("twin"), { old: tiered("gold"), known: twin }), []);
  const sameRole = { old: tiered(), settings: { controllerRole: GOLD } };
  t.same(findingLines("ACK-06", tiered("gold"), sameRole), [], "the controller has the same role");
  t.end();
});

test("ACK-06 allows labels that cause a conflict, and denies labels that end the conflict with another role", (t) => {
  t.same(findingLines("ACK-06", tiered("gold", "silver"), { old: tiered("gold") }), [], "ACK-03 warns");
  t.same(findingLines("ACK-06", tiered("silver"), { old: tiered("gold", "silver") }), [], "it does not exist in AWS");
  const both = owned("111122223333", tiered("gold", "silver"));
  t.same(findingLines("ACK-06", tiered("silver"), { old: both }), [
    "deny ACK-06 metadata.labels: the new labels move the resource from a conflict between gold and silver "
    + `to the role "arn:aws:iam::444455556666:role/silver". ${LABEL_FIX}`,
  ]);
  const twins = [...CLUSTER_OBJECTS, tierSelector("twin", GOLD)];
  const old = owned("111122223333", tiered("gold", "twin"));
  t.same(findingLines("ACK-06", tiered("twin"), { old, known: twins }), [], "both selectors have the same role");
  t.end();
});

test("ACK-06 allows the change if the requester has permission to use the new selector", (t) => {
  const linesWith = (answer: "allowed" | "denied" | "unknown"): string[] => (
    findingLines("ACK-06", tiered("silver"), { old: tiered("gold"), access: new Map([["silver", answer]]) })
  );
  const denied = [
    `deny ACK-06 metadata.labels: ${TO_SILVER}. `
    + "Keep the labels that selectors match, or ask an administrator for the verb use on IAMRoleSelector silver.",
  ];
  t.same(linesWith("allowed"), []);
  t.same(linesWith("denied"), denied);
  t.same(linesWith("unknown"), denied);
  const access = new Map([["gold", "allowed"]] as const);
  const toDefault = findingLines("ACK-06", tiered(), { old: tiered("gold"), access });
  t.equal(toDefault.length, 1, "no verb allows the controller's own role");
  t.end();
});

test("ACK-09, if enabled, requires permission to use the selector that selects the resource", (t) => {
  const settings = { checkSeverities: new Map([["ACK-09", "deny"]] as const) };
  const denied = new Map([["gold", "denied"]] as const);
  t.same(findingLines("ACK-09", tiered("gold"), { settings, access: denied }), [
    "deny ACK-09 metadata: the requester may not use IAMRoleSelector gold, which selects the resource. "
    + "Create a Role in namespace team-a with the rule apiGroups: [services.k8s.aws], resources: [iamroleselectors], "
    + "resourceNames: [gold], verbs: [use], and a RoleBinding in that namespace that grants it to the requester.",
  ]);
  t.same(findingLines("ACK-09", tiered("gold"), { settings, access: new Map([["gold", "allowed"]]) }), []);
  t.same(findingLines("ACK-09", tiered("gold"), { settings, access: new Map() }), [
    "deny ACK-09 metadata: the webhook could not verify that the requester may use IAMRoleSelector gold, "
    + "which selects the resource. "
    + "Retry in a moment; the webhook log shows why the access review failed.",
  ]);
  t.same(findingLines("ACK-09", tiered("gold"), { access: denied }), [], "ACK-09 is off by default");
  const updated = { settings, access: denied, old: tiered("gold") };
  t.match(findingLines("ACK-09", tiered("gold"), updated), [/^deny .*gold, which selects the resource/]);
  t.match(findingLines("ACK-09", tiered(), updated), [/^deny .*gold, which selected the resource/], "before");
  t.match(findingLines("ACK-09", tiered("gold"), { settings, access: denied, operation: "DELETE" }), [/^deny /]);
  t.same(findingLines("ACK-09", tiered("gold", "silver"), { settings, access: new Map() }).length, 2, "a conflict");
  t.same(skippedChecks(tiered("gold"), { settings })["ACK-09"], "access reviews");
  t.end();
});

test("ACK-09 requires permission to use the controllers' own role if no selector selects the resource", (t) => {
  const settings = { checkSeverities: new Map([["ACK-09", "deny"]] as const) };
  const name = "ack-role-resolver:default";
  const [gold, unused] = [["gold", "allowed"], [name, "denied"]] as const;
  const access = new Map<string, "allowed" | "denied">([gold, unused]);
  t.same(findingLines("ACK-09", tiered(), { settings, access }), [
    "deny ACK-09 metadata: the requester may not use the controllers' own role, which the resource uses. "
    + "Create a Role in namespace team-a with the rule apiGroups: [services.k8s.aws], resources: [iamroleselectors], "
    + `resourceNames: [${name}], verbs: [use], and a RoleBinding in that namespace that grants it to the requester.`,
  ]);
  const [after, before] = [[/own role, which the resource uses/], [/own role, which the resource used/]];
  t.match(findingLines("ACK-09", tiered(), { settings, access, old: tiered("gold") }), after);
  t.match(findingLines("ACK-09", tiered("gold"), { settings, access, old: tiered() }), before);
  t.match(findingLines("ACK-09", tiered(), { settings, access, operation: "DELETE" }), [/^deny .*own role/]);
  t.match(findingLines("ACK-09", tiered(), { settings, access: new Map([gold]) }), [/could not verify .* own role/]);
  t.same(findingLines("ACK-09", tiered(), { settings, access: new Map([[name, "allowed"]] as const) }), []);
  const carm = { ...settings, mode: "carm" } as const;
  t.same(findingLines("ACK-09", tiered(), { settings: carm, access }), [], "CARM maps set the role");
  t.end();
});

test("skips the checks of the resolved role if the input lacks selectors or namespaces", (t) => {
  const needs = (known: readonly JsonObject[], origin: "file" | "cluster", settings = {}): string | undefined => (
    skippedChecks(tiered("gold"), { known, origin, settings })["ACK-05"]
  );
  const namespaceSelector = { labelSelector: { matchLabels: { env: "prod" } } };
  const byLabel = selectorObject("prod", { arn: GOLD, namespaceSelector });
  const unmet = "selectors and namespaces";
  t.equal(needs([], "file"), unmet, "no selectors");
  t.equal(needs([tierSelector("gold", GOLD)], "file"), undefined, "selectors by name need no Namespace");
  t.equal(needs([byLabel], "file"), unmet, "selectors by label need the Namespace");
  t.equal(needs([byLabel, namespaceObject("other")], "file"), undefined);
  t.equal(needs([selectorObject("bad", { arn: "" })], "file"), undefined, "a malformed selector counts as a selector");
  t.equal(needs([], "cluster"), undefined, "a cluster may have no selectors");
  t.equal(needs([byLabel], "cluster"), unmet, "the namespace is unknown");
  t.equal(needs([byLabel, namespaceObject("team-a")], "cluster"), undefined);
  const byName = tierSelector("gold", GOLD);
  t.equal(needs([byName], "cluster", { runtime: "extended" }), unmet, "the annotation of the namespace is unknown");
  t.equal(needs([byName, namespaceObject("team-a")], "cluster", { runtime: "extended" }), undefined);
  t.equal(needs([byName], "file", { runtime: "extended" }), undefined);
  t.equal(needs(CARM, "file", { mode: "carm" }), undefined);
  t.equal(needs(CARM.slice(0, 2), "file", { mode: "carm" }), unmet);
  t.equal(needs(CARM.slice(2), "file", { mode: "carm" }), unmet);
  t.equal(needs([], "cluster", { mode: "carm" }), unmet);
  const input = { object: tiered("gold"), old: null, requester: null, origin: "cluster" } as const;
  t.same(unmetRequirements(ACK_05, input, SETTINGS_BY_DEFAULT), [unmet], "no inventory");
  const manifest = attempted("111122223333", tiered("gold"));
  t.same(findingLines("ACK-06", manifest, { origin: "file" }), [], "a manifest has no old object");
  t.end();
});
