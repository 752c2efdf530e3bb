import type { JsonObject } from "../../../shared/formats/json.ts";
import { describeRepairs } from "../../../shared/core/repair.ts";
import { bucketObject, namespaceObject, replacesMetadata, selectorObject } from "../objects.ts";
import { accessOf, type Circumstances, findingsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";
import {
  annotated, CLUSTER_OBJECTS, CONTROLLER_ACCOUNT, GOLD, JANE, owned, SILVER, tiered, tierSelector,
} from "./resource-lines.ts";

type Input = readonly [code: string, object: JsonObject, circumstances?: Circumstances];

const A = "111122223333";
const B = "444455556666";
const RECORDED = "ack-role-resolver.io/role-arn";
const SELECTOR = "ack-role-resolver.io/selector";
const CHOICE = "ack-role-resolver.io/use-selector";

/** Returns what the repairs of the first finding do, or nothing if it has none. */
function repairsOf([code, object, { settings, ...rest }]: Required<Input>): string[] {
  const inCluster = { settings: { controllerAccount: CONTROLLER_ACCOUNT, ...settings }, known: CLUSTER_OBJECTS };
  const [finding] = findingsOf(code, object, { requester: JANE, ...inCluster, ...rest });
  const text = finding === undefined ? `no ${code}` : describeRepairs(finding.repairs ?? [], finding.path);
  return text === null ? [] : [text];
}
/** Returns the input of an audit. */
const audited = (code: string, object: JsonObject, rest: Circumstances = {}): Input => (
  [code, object, { operation: "AUDIT", old: object, ...rest }]
);
const lines = ([code, object, circumstances = {}]: Input): string[] => repairsOf([code, object, circumstances]);

const inA = { old: owned(A) };
const DELETE = { operation: "DELETE" } as const;
const applied = (role: string, object: JsonObject): JsonObject => ({
  ...object,
  status: {
    ackResourceMetadata: { arn: "arn:aws:s3:::b1", ownerAccountID: A, region: "eu-west-1" },
    conditions: [{ type: "ACK.IAMRoleSelected", message: `roleARN: ${role}, selectorName: gold, x` }],
  },
});
const retain = 'to leave the resource in AWS, set metadata.annotations[services.k8s.aws/deletion-policy] to "retain"';

testRows("a change that moves a resource to another account is taken back", lines, [
  ["labels", ["ACK-07", tiered("silver"), inA],
    'set metadata.labels[gold] to "yes" and remove metadata.labels[silver]'],
  ["labels that selected a role", ["ACK-08", tiered(), inA], 'set metadata.labels[gold] to "yes"'],
  ["labels of a resource that was in the other account before",
    ["ACK-07", tiered("silver"), { old: owned(A, tiered("silver")) }]],
  ["a choice", ["ACK-06", annotated({ [CHOICE]: "silver" }, tiered("gold", "silver")), {
    old: annotated({ [CHOICE]: "gold" }, tiered("gold", "silver")), settings: { runtime: "extended" },
  }], 'to keep the role, write "gold"'],
  ["labels, or the requester gets the right", ["ACK-06", tiered("silver"), {
    old: tiered("gold"), access: accessOf({ silver: "denied", gold: "allowed" }),
  }], 'to keep the role, set metadata.labels[gold] to "yes" and remove metadata.labels[silver]; or to let "jane" use '
    + "it, create Role team-a/use-silver and create RoleBinding team-a/use-silver"],
]);

const still = (arn: string): string => `if ${arn} is still its role, `;

testRows("a resource without a role gets the one that its annotations or its conditions record", lines, [
  ["by annotation", ["ACK-30", annotated({ [RECORDED]: GOLD, [SELECTOR]: "old" }, owned(A, tiered())), DELETE],
    `${retain}; or ${still(GOLD)}create IAMRoleSelector old`],
  ["by annotation, with a selector that exists",
    ["ACK-30", annotated({ [RECORDED]: GOLD, [SELECTOR]: "gold" }, owned(A, bucketObject())), DELETE],
    `${retain}; or ${still(GOLD)}create IAMRoleSelector team-a-bucket`],
  ["by a condition", ["ACK-30", applied(GOLD, tiered()), DELETE],
    `${retain}; or ${still(GOLD)}create IAMRoleSelector team-a-bucket`],
  ["in an audit", audited("ACK-08", applied(GOLD, tiered("x"))),
    `${still(GOLD)}create IAMRoleSelector team-a-bucket`],
  ["a role of another account", ["ACK-30", applied(SILVER, tiered()), DELETE], retain],
  ["a malformed selector",
    ["ACK-30", annotated({ [RECORDED]: GOLD, [SELECTOR]: "bad" }, owned(A, tiered())),
      { ...DELETE, known: [...CLUSTER_OBJECTS, selectorObject("bad", {})] }],
    `${retain}; or ${still(GOLD)}create IAMRoleSelector team-a-bucket`],
]);

testRows("a selector whose role was replaced gets it back", lines, [
  ["the same selector", ["ACK-32", annotated({ [RECORDED]: SILVER, [SELECTOR]: "gold" }, owned(B)), DELETE],
    `${still(SILVER)}set spec.arn of IAMRoleSelector gold to "${SILVER}"`],
  ["another selector", ["ACK-32", annotated({ [RECORDED]: SILVER, [SELECTOR]: "silver" }, owned(B)), DELETE]],
  ["no record", ["ACK-32", owned(B), DELETE]],
  ["mode carm", ["ACK-07", annotated({ [RECORDED]: GOLD }, bucketObject()), {
    old: owned(A, annotated({ [RECORDED]: GOLD }, bucketObject())), settings: { mode: "carm" },
    known: [namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "b" }), {
      apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
      data: { b: SILVER },
    }],
  }]],
]);

const named = (name: string, names: readonly string[]): JsonObject => selectorObject(name, {
  arn: GOLD, namespaceSelector: { names },
});
const labelled = selectorObject("labelled", {
  arn: GOLD, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: {
    matchExpressions: [{ key: "gold", operator: "Exists" }], matchLabels: {},
  },
});
const extended = { settings: { runtime: "extended" } } as const;
testRows("of conflicting selectors, each can be the only one", lines, [
  ["by a label", ["ACK-03", tiered("gold", "silver")],
    "to use gold, remove metadata.labels[silver]; or to use silver, remove metadata.labels[gold]"],
  ["by the label before the change", ["ACK-03", tiered("gold", "silver"), { old: tiered("gold") }],
    "remove metadata.labels[silver]"],
  ["of a resource in an account", audited("ACK-03", owned(A, tiered("gold", "silver")))],
  ["by the names of namespaces", ["ACK-03", bucketObject(), {
    known: [namespaceObject("team-a"), named("a", ["team-a"]), named("b", ["team-a", "team-b"])],
  }], 'to use a, set spec.namespaceSelector.names of IAMRoleSelector b to ["team-b"]'],
  ["by a label, and a selector without labels", ["ACK-03", tiered("gold"), {
    known: [...CLUSTER_OBJECTS, named("all", ["team-a"])],
  }], "to use all, remove metadata.labels[gold]"],
  ["selectors of every namespace", ["ACK-03", bucketObject(), {
    known: [namespaceObject("team-a"), selectorObject("a", { arn: GOLD }), selectorObject("b", { arn: GOLD })],
  }]],
  ["four selectors", ["ACK-03", bucketObject(), {
    known: [namespaceObject("team-a"), ...["a", "b", "c", "d"].map((name) => named(name, ["team-a", "team-b"]))],
  }]],
  ["an expression", ["ACK-03", tiered("gold"), { ...extended, known: [...CLUSTER_OBJECTS, labelled] }]],
  ["before a deletion", ["ACK-31", tiered("gold", "silver"), DELETE],
    "to use gold, remove metadata.labels[silver]; or to use silver, remove metadata.labels[gold]"],
]);

const choosing = (choice: string, object: JsonObject): JsonObject => annotated({ [CHOICE]: choice }, object);
testRows("a choice that selects nothing becomes one that does", lines, [
  ["misspelled", ["ACK-03", choosing("sliver", tiered("gold", "silver")), extended],
    `to use silver, set metadata.annotations[${CHOICE}] to "silver"`],
  ["another name", ["ACK-03", choosing("x", tiered("gold", "silver")), extended],
    `to use gold, set metadata.annotations[${CHOICE}] to "gold"; or to use silver, set `
      + `metadata.annotations[${CHOICE}] to "silver"`],
  ["of a resource in an account", audited("ACK-03", owned(A, choosing("x", tiered("gold", "silver"))), extended),
    `to use gold, set metadata.annotations[${CHOICE}] to "gold"`],
  ["of a resource in the account of two roles", audited("ACK-03", owned(A, choosing("x", tiered("gold", "other"))), {
    ...extended,
    known: [...CLUSTER_OBJECTS, selectorObject("other", {
      arn: `${GOLD}er`, namespaceSelector: { names: ["team-a"] },
      resourceLabelSelector: { matchLabels: { other: "yes" } },
    }, replacesMetadata("gold"))],
  })],
  ["mode carm", ["ACK-03", bucketObject(), {
    known: [namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "b" })], settings: { mode: "carm" },
  }]],
]);

const required = [
  ...CLUSTER_OBJECTS.slice(1), namespaceObject("team-a", {}, { "ack-role-resolver.io/selector-required": "true" }),
];
testRows("a new resource without a role gets the labels of a selector of its namespace", lines, [
  ["of one of two selectors", ["ACK-05b", tiered(), { known: required }],
    'to use gold, set metadata.labels[gold] to "yes"; or to use silver, set metadata.labels[silver] to "yes"'],
  ["of the selectors whose roles the requester may use", ["ACK-05b", tiered(), {
    known: required, access: accessOf({ silver: "allowed", gold: "denied" }),
  }], 'to use silver, set metadata.labels[silver] to "yes"'],
  ["not a stored resource", audited("ACK-05b", tiered(), { known: required })],
  ["a stored resource gets its labels back", ["ACK-05b", tiered(), { known: required, old: tiered("gold") }],
    'set metadata.labels[gold] to "yes"'],
  ["a stored resource that had no role", ["ACK-05b", tiered("x"), { known: required, old: tiered() }]],
  ["a selector whose role is malformed", ["ACK-05", tiered("gold"), {
    known: [namespaceObject("team-a"), tierSelector("gold", "arn:aws:iam::1:role/x", "tier")],
  }]],
  ["no selector", ["ACK-05", bucketObject(), { known: [namespaceObject("team-a")] }]],
  ["a selector of another kind", ["ACK-05", bucketObject(), {
    known: [namespaceObject("team-a"), selectorObject("a", {
      arn: GOLD, namespaceSelector: { names: ["team-a"] }, resourceTypeSelector: [{ group: "sqs.services.k8s.aws" }],
    })],
  }]],
  ["labels with which another selector would select it too", ["ACK-05", tiered(), {
    known: [...CLUSTER_OBJECTS, selectorObject("golden", {
      arn: GOLD, resourceLabelSelector: { matchLabels: { gold: "yes" } },
    })],
  }], 'to use silver, set metadata.labels[silver] to "yes"'],
  ["the first of many selectors", ["ACK-05", bucketObject(), {
    known: [namespaceObject("team-a"), ...["a", "b", "c", "d"].map((name) => selectorObject(name, {
      arn: GOLD, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: { matchLabels: { tier: name } },
    }))],
  }], /^to use a, set metadata\.labels\[tier\] to "a"; or to use b, .*; or to use c, set .*\[tier\] to "c"$/],
  ["mode carm", ["ACK-05", bucketObject(), { settings: { mode: "carm" } }]],
]);
