import { test } from "tap";
import { unmetRequirements } from "../../../../../shared/decisions/checks/requirements.ts";
import { ACK_05 } from "../../../../../shared/decisions/checks/resources/selection.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { parseLabelSelector } from "../../../../../shared/decisions/kubernetes/label-selector.ts";
import { bucketObject, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import {
  ADMIN, annotated, attempted, COMPANY, GOLD, lines, notApplied, owned, tiered, tierSelector,
} from "../resource-lines.ts";

const CARM: readonly JsonObject[] = [
  namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111122223333" }),
  namespaceObject("sandbox"),
  { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "ack-system", name: "ack-role-account-map" }, data: { "999": GOLD } },
];
const MAPS = { known: CARM, settings: { mode: "carm" } } as const;
const nobodys = bucketObject({ namespace: "sandbox" });
const NO_KEY = "metadata: ConfigMap ack-system/ack-role-account-map has no key 111122223333. Mend the CARM map, or what the namespace names.";

test("ACK-03 and ACK-04 warn of a conflict, at create and at update", (t) => {
  const conflict = "metadata: 2 IAMRoleSelectors select it, and controllers stop there: gold and silver. "
    + "Narrow or delete all selectors but one, or change the labels of the resource.";
  t.same(lines("ACK-03", tiered("gold", "silver")), [`warn ACK-03 ${conflict}`]);
  t.same(lines("ACK-03", tiered("gold")), []);
  t.same(lines("ACK-04", tiered("gold", "silver")), []);
  t.same(lines("ACK-04", tiered("gold", "silver"), { old: tiered("gold") }), [`warn ACK-04 ${conflict}`]);
  t.same(lines("ACK-04", tiered("gold"), { old: tiered("gold", "silver") }), []);
  t.same(lines("ACK-03", tiered("gold", "silver"), { old: tiered("gold") }), []);
  t.end();
});

test("ACK-03 and ACK-04 warn of what the CARM maps refuse", (t) => {
  t.same(lines("ACK-03", bucketObject(), MAPS), [`warn ACK-03 ${NO_KEY}`]);
  t.same(lines("ACK-04", bucketObject(), { ...MAPS, old: bucketObject() }), [`warn ACK-04 ${NO_KEY}`]);
  t.same(lines("ACK-03", nobodys, MAPS), []);
  t.end();
});

test("ACK-05 warns of the controller's own role", (t) => {
  const fix = "Label it or its namespace so that a selector selects it, unless it belongs into the controller's own account.";
  t.same(lines("ACK-05", nobodys), [`warn ACK-05 metadata: No IAMRoleSelector selects it, so the controller's own role is used. ${fix}`]);
  t.same(lines("ACK-05", nobodys, MAPS), [`warn ACK-05 metadata: Its namespace names no account or team, so the controller's own role is used. ${fix}`]);
  t.same(lines("ACK-05", tiered("gold")), []);
  t.same(lines("ACK-05", bucketObject(), MAPS), [], "refused is no default");
  t.end();
});

test("ACK-05b refuses the controller's own role where the namespace requires a selector", (t) => {
  const requiring = (value: string): readonly JsonObject[] => [...COMPANY, namespaceObject("sandbox", {}, { "ack-role-resolver.io/selector-required": value })];
  const refused = ["deny ACK-05b metadata: namespace sandbox requires a selector for each of its resources, and the controller's own role would be used. "
    + "Label it so that a selector selects it, or have a selector made that does."];
  t.same(lines("ACK-05b", nobodys, { known: requiring("true") }), refused);
  t.same(lines("ACK-05", nobodys, { known: requiring("true") }), [], "said once");
  t.same(lines("ACK-05b", nobodys, { known: requiring("false") }), []);
  t.same(lines("ACK-05b", bucketObject({ namespace: "sandbox", annotations: { "ack-role-resolver.io/allow": "ACK-05b" } }), { known: requiring("true"), requester: ADMIN }), refused, "not waived");
  t.same(lines("ACK-05b", nobodys, { known: requiring("true"), old: { ...nobodys } }), refused.map((line) => line.replace("deny", "warn")), "nothing new");
  t.same(lines("ACK-05b", tiered("gold"), { known: [...COMPANY, namespaceObject("team-a", {}, { "ack-role-resolver.io/selector-required": "true" })] }), []);
  t.end();
});

const KEEP = "Keep the labels that selectors read; who looks after the selectors moves resources.";
const TO_SILVER = 'these labels move it from the role "arn:aws:iam::111122223333:role/gold" to the role "arn:aws:iam::444455556666:role/silver"';

test("ACK-06 refuses labels that move a resource to another role", (t) => {
  t.same(lines("ACK-06", tiered("silver"), { old: tiered("gold") }), [`deny ACK-06 metadata.labels: ${TO_SILVER}. ${KEEP}`]);
  t.same(lines("ACK-06", tiered("gold", "blue"), { old: tiered("gold") }), []);
  t.same(lines("ACK-06", tiered(), { old: tiered("gold") }), [
    `deny ACK-06 metadata.labels: these labels move it from the role "arn:aws:iam::111122223333:role/gold" to the controller's own role. ${KEEP}`,
  ]);
  t.same(lines("ACK-06", tiered("gold"), { old: tiered() }), [
    `deny ACK-06 metadata.labels: these labels move it from the controller's own role to the role "arn:aws:iam::111122223333:role/gold". ${KEEP}`,
  ]);
  t.same(lines("ACK-06", tiered("silver")), [], "at create whoever makes it chooses");
  t.end();
});

test("ACK-06 is never waived, and another selector of the same role is no move", (t) => {
  const waived = annotated({ "ack-role-resolver.io/allow": "ACK-06" }, tiered("silver"));
  t.match(lines("ACK-06", waived, { old: tiered("gold"), requester: ADMIN }), [/^deny/]);
  const twin = [...COMPANY, tierSelector("twin", GOLD)];
  t.same(lines("ACK-06", tiered("twin"), { old: tiered("gold"), known: twin }), []);
  t.same(lines("ACK-06", tiered("gold"), { old: tiered(), settings: { controllerRole: GOLD } }), [], "nor one of the controller's own");
  t.end();
});

test("ACK-06: into a conflict warns (ACK-04), and out of it is a move for what exists", (t) => {
  t.same(lines("ACK-06", tiered("gold", "silver"), { old: tiered("gold") }), []);
  t.same(lines("ACK-06", tiered("silver"), { old: tiered("gold", "silver") }), [], "it was never made");
  const both = owned("111122223333", tiered("gold", "silver"));
  t.same(lines("ACK-06", tiered("silver"), { old: both }), [
    `deny ACK-06 metadata.labels: these labels move it from a conflict of gold and silver to the role "arn:aws:iam::444455556666:role/silver". ${KEEP}`,
  ]);
  const twins = [...COMPANY, tierSelector("twin", GOLD)];
  t.same(lines("ACK-06", tiered("twin"), { old: owned("111122223333", tiered("gold", "twin")), known: twins }), [], "of one role");
  t.end();
});

test("ACK-06 lets whoever may use the selector move to it, where access reviews are asked", (t) => {
  const step = (answer: "allowed" | "denied" | "unknown"): string[] => lines("ACK-06", tiered("silver"), { old: tiered("gold"), access: new Map([["silver", answer]]) });
  const refused = [`deny ACK-06 metadata.labels: ${TO_SILVER}. Keep the labels that selectors read, or be granted the verb use on IAMRoleSelector silver.`];
  t.same(step("allowed"), []);
  t.same(step("denied"), refused);
  t.same(step("unknown"), refused);
  t.same(lines("ACK-06", tiered(), { old: tiered("gold"), access: new Map([["gold", "allowed"]]) }).length, 1, "nobody is granted the controller's own role");
  t.end();
});

test("ACK-09 asks who may use the selector, only where it is on", (t) => {
  const on = { checkSeverities: new Map([["ACK-09", "deny"]] as const) };
  const grant = "Grant the requester the verb use on the selector: a ClusterRole with resources iamroleselectors, resourceNames and verbs use.";
  const denied = new Map([["gold", "denied"]] as const);
  t.same(lines("ACK-09", tiered("gold"), { settings: on, access: denied }), [`deny ACK-09 metadata: the requester may not use IAMRoleSelector gold, which selects it. ${grant}`]);
  t.same(lines("ACK-09", tiered("gold"), { settings: on, access: new Map([["gold", "allowed"]]) }), []);
  t.same(lines("ACK-09", tiered("gold"), { settings: on, access: new Map() }), [
    "deny ACK-09 metadata: whether the requester may use IAMRoleSelector gold, which selects it, could not be found out. "
    + "Try again in a moment; the webhook's log says why the access review failed.",
  ]);
  t.same(lines("ACK-09", tiered("gold"), { access: denied }), [], "off by default");
  t.same(lines("ACK-09", tiered(), { settings: on, access: denied }), [], "nothing selects it");
  t.match(lines("ACK-09", tiered("gold"), { settings: on, access: denied, old: tiered("gold") }), [/^warn/], "it had the role before");
  t.same(notApplied(tiered("gold"), { settings: on })["ACK-09"], "access reviews");
  t.end();
});

test("ACK-19 warns of a namespace that nobody watches", (t) => {
  const settings = { watchNamespaces: ["team-b"] };
  t.same(lines("ACK-19", tiered("gold"), { settings }), [
    "warn ACK-19 metadata.namespace: the controllers do not watch namespace team-a, so nobody manages it. Put it into a namespace that is watched, or have this one watched too.",
  ]);
  t.same(lines("ACK-19", tiered("gold"), { settings: { watchNamespaces: ["team-b", "team-a"] } }), []);
  t.same(notApplied(tiered("gold"))["ACK-19"], "--watch-namespace");
  t.end();
});

test("ACK-19b warns of labels that nobody watches", (t) => {
  const settings = { watchSelector: parseLabelSelector("gold") };
  t.same(lines("ACK-19b", tiered("silver"), { settings }), [
    "warn ACK-19b metadata.labels: the controllers do not watch resources with these labels, so nobody manages it. Label it so that it is watched, or have such resources watched too.",
  ]);
  t.same(lines("ACK-19b", tiered("gold"), { settings }), []);
  t.same(notApplied(tiered("gold"))["ACK-19b"], "--watch-selectors");
  t.end();
});

test("what would need selectors and namespaces is not told without them", (t) => {
  const needs = (known: readonly JsonObject[], origin: "file" | "cluster", settings = {}): string | undefined => notApplied(tiered("gold"), { known, origin, settings })["ACK-05"];
  const labelled = selectorObject("prod", { arn: GOLD, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } });
  const unmet = "selectors and namespaces";
  t.equal(needs([], "file"), unmet, "no selectors");
  t.equal(needs([tierSelector("gold", GOLD)], "file"), undefined, "selectors by name need no Namespace");
  t.equal(needs([labelled], "file"), unmet, "selectors by label do");
  t.equal(needs([labelled, namespaceObject("other")], "file"), undefined);
  t.equal(needs([selectorObject("bad", { arn: "" })], "file"), undefined, "a malformed one is one all the same");
  t.equal(needs([], "cluster"), undefined, "a cluster without selectors has none");
  t.equal(needs([labelled], "cluster"), unmet, "the namespace is not known yet");
  t.equal(needs([labelled, namespaceObject("team-a")], "cluster"), undefined);
  t.equal(needs(CARM, "file", { mode: "carm" }), undefined);
  t.equal(needs(CARM.slice(0, 2), "file", { mode: "carm" }), unmet);
  t.equal(needs(CARM.slice(2), "file", { mode: "carm" }), unmet);
  t.equal(needs([], "cluster", { mode: "carm" }), unmet);
  t.same(unmetRequirements(ACK_05, { object: tiered("gold"), old: null, requester: null, origin: "cluster" }, SETTINGS_BY_DEFAULT), [unmet], "no inventory at all");
  t.same(lines("ACK-06", attempted("111122223333", tiered("gold")), { origin: "file" }), [], "a file is no step");
  t.end();
});
