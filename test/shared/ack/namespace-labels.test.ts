import { usesOfNamespace } from "../../../shared/ack/selector-uses.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { Access } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  bucketObject, existingBucket, FIRST, namespaceObject, put, roleIn, SECOND, selectorObject, withWaiver,
} from "../objects.ts";
import { usedNames } from "../used-names.ts";
import { testRows } from "../rows.ts";
import { accessOf, checkChange, type Circumstances, lineOf, linesOf } from "../core/findings.ts";

const byLabels = (name: string, matchLabels: JsonObject, arn: string): JsonObject => (
  selectorObject(name, { arn, namespaceSelector: { labelSelector: { matchLabels } } })
);
const SELECTORS = [
  byLabels("prod", { env: "prod" }, roleIn(FIRST)), byLabels("dev", { env: "dev" }, roleIn(SECOND)),
  byLabels("audit", { env: "audit" }, roleIn(FIRST, "audit")),
  byLabels("gold", { tier: "gold" }, roleIn(FIRST, "gold")),
];
const CARM = { settings: { mode: "carm" } } as const;

type Input = readonly [
  from: JsonObject, to: JsonObject, resources: readonly JsonObject[], circumstances?: Circumstances,
];
/** Returns the findings of NS-01 if the labels of namespace team-a change. The namespace contains `resources`. */
function ns01([from, to, resources, more = {}]: Input): string[] {
  const old = namespaceObject("team-a", from);
  return linesOf("NS-01", namespaceObject("team-a", to), { old, known: [...SELECTORS, old, ...resources], ...more });
}

const B1 = existingBucket("b1", FIRST);
const B2 = existingBucket("b2", FIRST);
const attempted = bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: FIRST } } });
const line = (severity: "deny" | "warn", message: string, names = "Bucket team-a/b1", hint = "."): string => (
  `${severity} NS-01 metadata.labels: the new labels ${message}: ${names}. Keep the labels that the selectors of these `
    + `resources match, or first change the selectors so that each resource stays in its account${hint}`
);
const MOVE_ONE = `move 1 resource from account ${FIRST} to account ${SECOND}`;
const MOVE = line("deny", MOVE_ONE);
const CHANGE = line("warn", "change the role of 1 resource");
const LEAVE = line("deny", `leave 1 resource of account ${FIRST} with the controllers' own role`);
const PROD = { env: "prod" };
const DEV = { env: "dev" };
const GOLD = { ...PROD, tier: "gold" };
const MANY = Array.from({ length: 250 }, (_, i) => existingBucket(`b${String(i).padStart(3, "0")}`, FIRST));
const THREE = "Bucket team-a/b000, Bucket team-a/b001, Bucket team-a/b002";

testRows("NS-01 denies a label change that moves resources or leaves them without a role, and warns of other roles",
  ns01, [
    ["two resources", [PROD, DEV, [B1, B2]],
      line("deny", `move 2 resources from account ${FIRST} to account ${SECOND}`,
        "Bucket team-a/b1 and Bucket team-a/b2")],
    ["a resource that no selector selected also exists in an account", [{}, DEV, [B1]], MOVE],
    ["the resource is in another namespace", [PROD, DEV, [existingBucket("b1", FIRST, { namespace: "team-b" })]]],
    ["a resource without an ARN", [PROD, DEV, [attempted]], line("deny", MOVE_ONE, "Bucket team-a/b1",
      ". The status of Bucket team-a/b1 has no ARN: if the creation failed, delete the resource now, while its old "
        + "role "
        + "is in use, and create it again after the change.")],
    ["a resource without an ARN in the same account", [PROD, { env: "audit" }, [attempted]], CHANGE],
    ["the conflict of a resource without an ARN ends", [GOLD, DEV, [attempted]], /^deny .* move 1 resource/],
    ["no selector", [PROD, {}, [B1]], LEAVE],
    ["a new resource would be created in the controllers' account", [PROD, {}, [bucketObject()]], LEAVE],
    ["a conflict before the change", [GOLD, {}, [bucketObject()]],
      line("deny", "leave 1 resource with the controllers' own role")],
    ["the controllers are in the same account", [PROD, {}, [B1], { settings: { controllerAccount: FIRST } }], CHANGE],
    ["a conflict after the change", [PROD, GOLD, [B1]],
      line("deny", "cause a conflict between IAMRoleSelectors (gold, prod) for 1 resource")],
    ["a conflict before and after", [GOLD, { ...DEV, tier: "gold" }, [B1]]],
    ["the conflict ends", [GOLD, PROD, [B1, bucketObject({ name: "b9" })]]],
    ["the conflict ends in another account", [GOLD, DEV, [B1]], MOVE],
    ["the same account", [PROD, { env: "audit" }, [B1]], CHANGE],
    ["a new role for a resource that is not in AWS", [{}, DEV, [bucketObject()]], CHANGE],
    ["another role for a resource that is not in AWS", [PROD, DEV, [bucketObject()]], CHANGE],
    ["another selector with the same role",
      [PROD, { env: "twin" }, [B1, byLabels("twin", { env: "twin" }, roleIn(FIRST))]]],
    ["no change", [PROD, PROD, [B1]]],
    ["another label", [PROD, { ...PROD, cost: "7" }, [B1]]],
    ["mode carm", [PROD, DEV, [B1], CARM]],
    ["at CREATE", [PROD, DEV, [B1], { old: null }]],
    ["at most 20 resources", [PROD, DEV, MANY],
      line("deny", `move at least 20 resources from account ${FIRST} to account ${SECOND}`, `${THREE} and 17 more`)],
    ["a warning counts all resources", [PROD, { env: "audit" }, MANY],
      line("warn", "change the role of 250 resources", `${THREE} and 247 more`)],
  ]);

test("NS-01 can be waived", (t) => {
  const old = namespaceObject("team-a", PROD);
  const waived = withWaiver(namespaceObject("team-a", DEV), "NS-01");
  const { denied, findings } = checkChange(waived, { old, known: [...SELECTORS, old, B1] });
  t.equal(denied, false);
  t.match(findings.map(lineOf), [/^warn \(waived\) NS-01/]);
  t.end();
});

type UseInput = readonly [
  from: JsonObject | null, to: JsonObject, access: Readonly<Record<string, Access>> | null, more?: Circumstances,
];
/** Returns the findings of NS-02 if the labels of namespace team-a change. `access` has the answers of reviews. */
function ns02([from, to, access, { settings, ...more } = {}]: UseInput): string[] {
  return linesOf("NS-02", namespaceObject("team-a", to), {
    old: from === null ? null : namespaceObject("team-a", from), known: SELECTORS,
    requester: { username: "jane", groups: [] }, ...(access !== null && { access: accessOf(access) }), ...more,
    settings: { checkSeverities: new Map([["NS-02", "deny"]] as const), ...settings },
  });
}

const RULE = "with the rule apiGroups: [services.k8s.aws], resources: [iamroleselectors], resourceNames: ";
const inRole = (name: string): string => `Create a Role in namespace team-a ${RULE}[${name}], verbs: [use], and a `
  + "RoleBinding in that namespace that grants it to the requester.";
const NOT_PROD = "deny NS-02 metadata.labels: the requester may not use IAMRoleSelector prod, which newly selects the "
  + "namespace. ";
const DEFAULT = "ack-role-resolver:default";

testRows("NS-02 requires permission to use each selector that newly selects the namespace, or the default", ns02, [
  ["a selector", [{}, PROD, { prod: "denied" }], NOT_PROD + inRole("prod")],
  ["a new namespace", [null, PROD, { prod: "denied" }],
    `${NOT_PROD}Create a ClusterRole ${RULE}[prod], verbs: [use], and a ClusterRoleBinding that grants it to the `
      + `requester.`],
  ["permission", [{}, PROD, { prod: "allowed" }]],
  ["the selector selected the namespace before", [PROD, { ...PROD, cost: "7" }, { prod: "denied" }]],
  ["the default", [GOLD, {}, { [DEFAULT]: "denied" }],
    "deny NS-02 metadata.labels: the requester may not use the controllers' own role, which its resources may use "
      + `after the change. ${inRole(DEFAULT)}`],
  ["permission for the default", [GOLD, {}, { [DEFAULT]: "allowed" }]],
  ["unknown permission for the default", [GOLD, {}, {}],
    /could not verify that the requester may use the controllers' own role/],
  ["the other selector still selects every resource", [GOLD, PROD, {}]],
  ["no selector selected the namespace before", [{}, { a: "b" }, {}]],
  ["a new namespace contains no resource", [null, { a: "b" }, {}]],
  ["mode carm without a selector", [GOLD, {}, { [DEFAULT]: "denied" }, CARM]],
  ["unknown permission", [{}, PROD, {}],
    "deny NS-02 metadata.labels: the webhook could not verify that the requester may use IAMRoleSelector prod, "
      + "which newly selects the namespace. Retry in a moment; the webhook log shows why the access review failed."],
  ["off by default", [{}, PROD, { prod: "denied" }, { settings: { checkSeverities: new Map() } }]],
  ["no access reviews", [{}, PROD, null]],
  ["mode carm", [{}, PROD, { prod: "denied" }, CARM]],
]);

test("NS-02 ignores a selector of some resources, because the others use the controllers' own role", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const namespaceSelector = { labelSelector: { matchLabels: DEV } };
  const some = [
    { resourceLabelSelector: { matchLabels: { a: "b" } } },
    { resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" }] },
  ];
  const ofSome = some.map((part, i) => selectorObject(`some${i}`, { arn: roleIn(FIRST), namespaceSelector, ...part }));
  inventory.apply([...SELECTORS.slice(0, 1), ...ofSome].map(put));
  const [object, old] = [namespaceObject("team-a", DEV), namespaceObject("team-a", PROD)];
  const reviewed = usedNames(usesOfNamespace, [object, old], inventory);
  t.same(reviewed, ["some0", "some1", DEFAULT]);
  t.end();
});
