import { test } from "tap";
import { Requirements } from "../../../shared/core/requirements.ts";
import { ACK_05 } from "../../../shared/ack/resource-selection.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, ADMIN, bucketObject, mapObject, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";
import { testRows } from "../rows.ts";
import { accessOf } from "../core/findings.ts";
import {
  annotated, attempted, CLUSTER_OBJECTS, findingLines, GOLD, type Input, of, owned, SILVER, skippedChecks, tiered,
  tierSelector,
} from "./resource-lines.ts";

const CARM: readonly JsonObject[] = [
  namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111122223333" }),
  namespaceObject("sandbox"), mapObject(ACCOUNT_MAP, { "999": GOLD }),
];
const MAPS = { known: CARM, settings: { mode: "carm" } } as const;
const MAPS_OF_SYSTEM = {
  ...MAPS, known: [...CARM, namespaceObject("kube-public", {}, { "services.k8s.aws/owner-account-id": "999" })],
} as const;
const unselected = bucketObject({ namespace: "sandbox" });
const MALFORMED = selectorObject("typo", { arn: "not-an-arn", namespaceSelector: { names: ["sandbox"] } });
const BOTH = tiered("gold", "silver");
const ofGold = { old: tiered("gold") };

const CONFLICT = "warn ACK-03 metadata: Cannot determine which IAMRoleSelector to use. "
  + "Conflicting IAMRoleSelectors: [gold, silver]; controllers do not reconcile the resource. "
  + "Restrict or delete selectors until only one selects the resource, or change the labels of the resource.";
const NO_KEY = 'warn ACK-03 metadata: ConfigMap ack-system/ack-role-account-map has no key "111122223333". '
  + "Correct the CARM map, or the account or team annotation of the namespace.";
testRows("ACK-03 warns about a resource that has no role", of("ACK-03"), [
  ["a conflict", [BOTH], CONFLICT],
  ["one selector", [tiered("gold")]],
  ["a new conflict", [BOTH, ofGold], CONFLICT],
  ["the conflict ends", [tiered("gold"), { old: BOTH }]],
  ["no key in the CARM map", [bucketObject(), MAPS], NO_KEY],
  ["no key, before and after", [bucketObject(), { ...MAPS, old: bucketObject() }], NO_KEY],
  ["no account", [unselected, MAPS]],
]);

const onDefault = (why: string): string => `warn ACK-05 metadata: ${why}, so the controller's own role is used. `
  + "Label the resource or its namespace so that a selector matches, unless the controller's account is intended.";
const inCARM = (why: string): string => `warn ACK-05 metadata: ${why}, so the controller's own role is used. Annotate `
  + "the namespace with services.k8s.aws/owner-account-id, unless the controller's account is intended.";
const GATE = { ...MAPS, settings: { mode: "carm", teamLevelCARM: true } } as const;
const requiring = (value: string, namespace = "sandbox"): readonly JsonObject[] =>
  [...CLUSTER_OBJECTS, namespaceObject(namespace, {}, { "ack-role-resolver.io/selector-required": value })];
const REQUIRED = { known: requiring("true") };
testRows("ACK-05 warns if the resource uses the controller's own role", of("ACK-05"), [
  ["no selector", [unselected], onDefault("No IAMRoleSelector selects the resource")],
  ["a malformed selector would select it", [unselected, { known: [...CLUSTER_OBJECTS, MALFORMED] }],
    "warn ACK-05 metadata: No IAMRoleSelector selects the resource, so the controller's own role is used; "
      + "IAMRoleSelector typo would select it, but controllers ignore it (IRS-02). Correct IAMRoleSelector typo."],
  ["no account", [unselected, MAPS], inCARM("The namespace names no account")],
  ["no account or team", [unselected, GATE], inCARM("The namespace names no account or team")],
  ["a namespace that CARM ignores", [bucketObject({ namespace: "kube-public" }), MAPS_OF_SYSTEM],
    "warn ACK-05 metadata: CARM ignores the annotations of namespace kube-public, so the controller's own role is "
      + "used. Move the resource to another namespace, unless the controller's account is intended."],
  ["a selector", [tiered("gold")]],
  ["without a role in the maps the controller's role is not used", [bucketObject(), MAPS]],
  ["ACK-05b reports the fault", [unselected, REQUIRED]],
]);

const ACK_05B = "ACK-05b metadata: namespace sandbox requires a selector, but the resource would use the controller's "
  + "own "
  + "role. Label the resource to match a selector, or create a selector that selects the resource.";
const waived = annotated({ "ack-role-resolver.io/allow": "ACK-05b" }, unselected);
testRows("ACK-05b denies the use of the controller's own role if the namespace requires a selector", of("ACK-05b"), [
  ["required", [unselected, REQUIRED], `deny ${ACK_05B}`],
  ["no role of the CARM maps", [unselected, { ...MAPS, known: [...CARM, ...requiring("true").slice(-1)] }],
    "deny ACK-05b metadata: namespace sandbox requires a role of the CARM maps, but the resource would use the "
      + "controller's own role. Annotate the namespace with services.k8s.aws/owner-account-id."],
  ["not required", [unselected, { known: requiring("false") }]],
  ["the check cannot be waived", [waived, { ...REQUIRED, requester: ADMIN }], `deny ${ACK_05B}`],
  ["the stored resource has the same fault", [unselected, { ...REQUIRED, old: { ...unselected } }], `warn ${ACK_05B}`],
  ["a selector", [tiered("gold"), { known: requiring("true", "team-a") }]],
]);

const ask = (what: string): string => `Keep the labels that selectors match, or ask ${what}.`;
const move = (text: string, who = "the owner of the selectors to move the resource"): string =>
  `deny ACK-06 metadata.labels: the new labels move the resource ${text}. ${ask(who)}`;
const [ROLE_GOLD, ROLE_SILVER] = [`the role "${GOLD}"`, `the role "${SILVER}"`];
const OWN = "the controller's own role";
const TWIN = { known: [...CLUSTER_OBJECTS, tierSelector("twin", GOLD)] };
const inGold = (...tiers: readonly string[]): JsonObject => owned("111122223333", tiered(...tiers));
const ADMINISTRATOR = "an administrator for the verb use on IAMRoleSelector silver";
const silver = (answer: "allowed" | "denied" | "unknown"): Input =>
  [tiered("silver"), { ...ofGold, access: accessOf({ silver: answer }) }];
testRows("ACK-06 denies a label change that moves a resource to another role", of("ACK-06"), [
  ["another selector", [tiered("silver"), ofGold], move(`from ${ROLE_GOLD} to ${ROLE_SILVER}`)],
  ["another label", [tiered("gold", "blue"), ofGold]],
  ["no selector", [tiered(), ofGold], move(`from ${ROLE_GOLD} to ${OWN}`)],
  ["a selector instead of the default", [tiered("gold"), { old: tiered() }], move(`from ${OWN} to ${ROLE_GOLD}`)],
  ["at CREATE the requester chooses the role", [tiered("silver")]],
  ["a manifest has no old object", [attempted("111122223333", tiered("gold")), { origin: "file" }]],
  ["the check cannot be waived",
    [annotated({ "ack-role-resolver.io/allow": "ACK-06" }, tiered("silver")), { ...ofGold, requester: ADMIN }],
    /^deny/],
  ["a selector with the same role", [tiered("twin"), { ...ofGold, ...TWIN }]],
  ["the controller has the same role", [tiered("gold"), { old: tiered(), settings: { controllerRole: GOLD } }]],
  ["a conflict, about which ACK-03 warns", [BOTH, ofGold]],
  ["the conflict of a resource that does not exist in AWS ends", [tiered("silver"), { old: BOTH }]],
  ["the conflict ends with another role", [tiered("silver"), { old: inGold("gold", "silver") }],
    move(`from a conflict between gold and silver to ${ROLE_SILVER}`)],
  ["both selectors have the same role", [tiered("twin"), { old: inGold("gold", "twin"), ...TWIN }]],
  ["permission to use the new selector", silver("allowed")],
  ["no permission", silver("denied"), move(`from ${ROLE_GOLD} to ${ROLE_SILVER}`, ADMINISTRATOR)],
  ["unknown permission", silver("unknown"), move(`from ${ROLE_GOLD} to ${ROLE_SILVER}`, ADMINISTRATOR)],
  ["no verb allows the controller's own role", [tiered(), { ...ofGold, access: accessOf({ gold: "allowed" }) }],
    move(`from ${ROLE_GOLD} to ${OWN}`)],
]);

const DEFAULT = "ack-role-resolver:default";
const mayNot = (what: string, name: string): string => `deny ACK-09 metadata: the requester may not use ${what}. `
  + "Create a Role in namespace team-a with the rule apiGroups: [services.k8s.aws], resources: [iamroleselectors], "
  + `resourceNames: [${name}], verbs: [use], and a RoleBinding in that namespace that grants it to the requester.`;
const enabled = { settings: { checkSeverities: new Map([["ACK-09", "deny"]] as const) } };
const denied = { ...enabled, access: accessOf({ gold: "denied" }) };
const noDefault = { ...enabled, access: accessOf({ gold: "allowed", [DEFAULT]: "denied" }) };
const unknown = { ...enabled, access: new Map() };
testRows("ACK-09, if enabled, requires permission to use the selector or the controllers' own role", of("ACK-09"), [
  ["a selector", [tiered("gold"), denied], mayNot("IAMRoleSelector gold, which selects the resource", "gold")],
  ["permission", [tiered("gold"), noDefault]],
  ["unknown permission", [tiered("gold"), unknown],
    "deny ACK-09 metadata: the webhook could not verify that the requester may use IAMRoleSelector gold, "
      + "which selects the resource. Retry in a moment; the webhook log shows why the access review failed."],
  ["off by default", [tiered("gold"), { access: denied.access }]],
  ["before and after", [tiered("gold"), { ...denied, ...ofGold }], /^deny .*gold, which selects the resource/],
  ["before", [tiered(), { ...denied, ...ofGold }], /^deny .*gold, which selected the resource/, /own role/],
  ["a deletion", [tiered("gold"), { ...denied, operation: "DELETE" }], /^deny /],
  ["a conflict", [BOTH, unknown], /gold/, /silver/],
  ["the own role", [tiered(), noDefault], mayNot("the controllers' own role, which the resource uses", DEFAULT)],
  ["the own role after", [tiered(), { ...noDefault, ...ofGold }], /own role, which the resource uses/],
  ["the own role before", [tiered("gold"), { ...noDefault, old: tiered() }], /own role, which the resource used/],
  ["a deletion with the own role", [tiered(), { ...noDefault, operation: "DELETE" }], /^deny .*own role/],
  ["unknown permission for the own role", [tiered(), unknown], /could not verify .* own role/],
  ["permission for the own role", [tiered(), { ...enabled, access: accessOf({ [DEFAULT]: "allowed" }) }]],
  ["CARM maps set the role",
    [tiered(), { ...noDefault, settings: { ...enabled.settings, mode: "carm" } }]],
]);

test("ACK-09 requires access reviews", (t) => {
  t.equal(skippedChecks(tiered("gold"), enabled)["ACK-09"], "access reviews");
  t.end();
});

const byLabel = selectorObject("prod", {
  arn: GOLD, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } },
});
const byName = tierSelector("gold", GOLD);
const extended = { runtime: "extended" } as const;
const carm = { mode: "carm" } as const;
testRows("skips the checks of the resolved role if the input lacks selectors or namespaces",
  ([origin, known, settings = {}]: [origin: "file" | "cluster", known: readonly JsonObject[], settings?: object]) => {
    const needs = skippedChecks(tiered("gold"), { known, origin, settings })["ACK-05"];
    return needs === undefined ? [] : [needs];
  }, [
    ["no selectors", ["file", []], "selectors and namespaces"],
    ["selectors by name need no Namespace", ["file", [byName]]],
    ["selectors by label need the Namespace", ["file", [byLabel]], "selectors and namespaces"],
    ["selectors by label and a Namespace", ["file", [byLabel, namespaceObject("other")]]],
    ["a malformed selector counts as a selector", ["file", [selectorObject("bad", { arn: "" })]]],
    ["a cluster may have no selectors", ["cluster", []]],
    ["the namespace is unknown", ["cluster", [byLabel]], "selectors and namespaces"],
    ["the namespace is known", ["cluster", [byLabel, namespaceObject("team-a")]]],
    ["the annotation of the namespace is unknown", ["cluster", [byName], extended], "selectors and namespaces"],
    ["the annotation of the namespace is known", ["cluster", [byName, namespaceObject("team-a")], extended]],
    ["manifests with --runtime extended", ["file", [byName], extended]],
    ["CARM maps", ["file", CARM, carm]],
    ["no CARM map", ["file", CARM.slice(0, 2), carm], "selectors and namespaces"],
    ["no Namespace of CARM", ["file", CARM.slice(2), carm], "selectors and namespaces"],
    ["a cluster without CARM maps", ["cluster", [], carm], "selectors and namespaces"],
  ]);

test("requires selectors and namespaces if there is no inventory", (t) => {
  const input = { object: tiered("gold"), old: null, requester: null, origin: "cluster" } as const;
  const unmet = new Requirements(input, SETTINGS_BY_DEFAULT).unmet(ACK_05.requires ?? []);
  t.same(unmet.map(({ name }) => name), ["selectors and namespaces"]);
  t.same(findingLines("ACK-05", tiered("gold")), []);
  t.end();
});
