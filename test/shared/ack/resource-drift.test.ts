import { test } from "tap";
import { isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { ACCOUNT_MAP, ADMIN, bucketObject, mapObject, namespaceObject } from "../objects.ts";
import { testRows } from "../rows.ts";
import {
  annotated, attempted, CLUSTER_OBJECTS, CONTROLLER_ACCOUNT, findingLines, GOLD, type Input, of, owned, SILVER,
  skippedChecks, tiered,
  tierSelector,
} from "./resource-lines.ts";

const A = "111122223333";
const B = "444455556666";
const inA = { old: owned(A) };
const MOVED = 'ACK-07 metadata.labels: the resource is in account "111122223333" but its role is in account '
  + '"444455556666", '
  + "so controllers never reconcile it. Change labels or selectors so that it gets a role in its own account. Only "
  + "if it was meant to move to the other account, delete it, with its content, and create it again.";
const inFile = { origin: "file" } as const;

testRows("ACK-07 denies a change that moves a resource to a role in another account", of("ACK-07"), [
  ["another account", [tiered("silver"), inA], `deny ${MOVED}`],
  ["the same account", [tiered("gold"), inA]],
  ["the resource is in no account yet", [tiered("silver"), { old: tiered("gold") }]],
  ["the selector changed, not the resource", [tiered("silver"), { old: owned(A, tiered("silver")) }], `warn ${MOVED}`],
  ["the status in the request is ignored, and a waiver too", [owned(B, tiered("silver")), { ...inA, requester: ADMIN }],
    `deny ${MOVED}`],
  ["the stored status has the account of the role",
    [owned(A, tiered("silver")), { old: owned(B, tiered("gold")) }]],
  ["a resource has no stored status at CREATE", [owned(A, tiered("silver"))]],
  ["a resource without an ARN", [tiered("silver"), { old: attempted(A) }],
    'deny ACK-07 metadata.labels: the status of the resource records account "111122223333" '
      + 'but its role is in account "444455556666", so controllers never reconcile it. '
      + "Change labels or selectors so that it gets a role in the account that the status records. If the creation "
      + "of the resource failed, delete the resource now, while its old role is in use, and create it again."],
  ["a resource without an ARN in the same account", [tiered("gold"), { old: attempted(A) }]],
  ["the drift without an ARN is old", [tiered("silver"), { old: attempted(A, tiered("silver")) }], /^warn ACK-07/],
  ["a manifest without an ARN", [attempted(A, tiered("silver")), inFile],
    /^warn ACK-07 metadata\.labels: the status of the resource records account "111122223333" but its /],
  ["a manifest in the same account", [attempted(A), inFile]],
  ["a manifest with an ARN", [owned(A, tiered("silver")), inFile]],
]);

const MAPS = [
  mapObject(ACCOUNT_MAP, { b: SILVER }), namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "b" }),
];
const IN_CARM = { known: MAPS, settings: { mode: "carm" } } as const;
test("ACK-07 advises the annotation of the namespace in mode carm", (t) => {
  t.match(findingLines("ACK-07", bucketObject(), { ...IN_CARM, old: owned(A, bucketObject()) }), [
    /\. Change the account or team of the namespace, or the CARM map, so that it gets a role in its own account\. /,
  ]);
  t.match(findingLines("ACK-07", bucketObject(), { ...IN_CARM, old: attempted(A, bucketObject()) }), [
    /\. Change the account or team of the namespace, or the CARM map, so that it gets a role in the account that the /,
  ]);
  t.end();
});

const OWN = 'ACK-08 metadata.labels: the resource is in account "111122223333", but the controller would create it '
  + 'again in '
  + 'account "777788889999" with its own role. Change labels or selectors so that it gets a role in its own account.';
const UNKNOWN = { settings: { controllerAccount: null } };
const ofRole = { settings: { controllerAccount: null, controllerRole: "arn:aws:iam::777788889999:role/ack" } };

testRows("ACK-08 denies a change that makes a resource of another account use the controller's own "
  + "role", of("ACK-08"), [
  ["another account", [tiered(), inA], `deny ${OWN}`],
  ["a selector", [tiered("gold"), inA]],
  ["the controller's account", [tiered(), { old: owned(CONTROLLER_ACCOUNT) }]],
  ["the drift is old", [tiered(), { old: owned(A, tiered()) }], `warn ${OWN}`],
  ["the resource is in no account yet", [tiered(), { old: bucketObject() }]],
  ["the account of --controller-role", [tiered(), { ...inA, ...ofRole }], `deny ${OWN}`],
  ["the controller's account is unknown", [tiered(), { ...inA, ...UNKNOWN }]],
]);

test("ACK-08 requires the controller's account", (t) => {
  const skipped = skippedChecks(tiered(), { ...inA, ...UNKNOWN });
  t.equal(skipped["ACK-08"], "--controller-account or --controller-role");
  t.end();
});

const KEY = "services.k8s.aws/region";
const region = (name: string, source: string): string => (
  `deny ACK-10b metadata.annotations[${KEY}]: the resource exists in region "eu-west-1", but its desired region is `
  + `"${name}" (set by the ${source}), so controllers never reconcile it. Set the region in which the resource exists. `
  + "To move it to the other region, save its content, delete it, and create it again."
);
const settings = { region: "us-west-2" };
const known = [...CLUSTER_OBJECTS, namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "us-east-2" })];
const pinned = annotated({ [KEY]: "eu-west-1" }, owned(A));

testRows("ACK-10b denies a change of the region of an existing resource", of("ACK-10b"), [
  ["the status records no region", [annotated({ [KEY]: "us-east-1" }), { old: owned(A, tiered("gold"), "x") }],
    /^deny ACK-10b .* exists in region "x", but its desired region is "us-east-1"/],
  ["another region", [annotated({ [KEY]: "us-east-1" }), inA], region("us-east-1", "resource")],
  ["the same region", [annotated({ [KEY]: "eu-west-1" }), inA]],
  ["the desired region is unknown", [tiered("gold"), inA]],
  ["the annotation is removed", [tiered("gold"), { old: pinned, settings }], region("us-west-2", "controller")],
  ["the change does not change the region", [tiered("gold"), { ...inA, settings }], /^warn ACK-10b/],
  ["the region of the namespace", [tiered("gold"), { ...inA, known }], /"us-east-2" \(set by the namespace\)/],
  ["a resource does not exist in AWS at CREATE", [annotated({ [KEY]: "us-east-1" })]],
]);

const applied = (role: string, object: JsonObject, condition: JsonObject = {}): JsonObject => {
  const text = `roleARN: ${role}, selectorName: old, selectorResourceVersion: 7`;
  const conditions = [
    { type: "ACK.ResourceSynced", status: "True" },
    { type: "ACK.IAMRoleSelected", status: "True", message: "Selected", reason: text, ...condition },
  ];
  return { ...object, status: { ...(isJsonObject(object["status"]) && object["status"]), conditions } };
};
const auditOf = (object: JsonObject): Input => [object, { operation: "AUDIT", old: object }];
const waits = (next: string): string => (
  `warn ACK-40 status.conditions: the controller last used the role "${OLD}", and will use ${next} at its next resync. `
    + "To reconcile now, change the spec, or restart the controller (kubectl rollout restart)."
);
const OLD = "arn:aws:iam::111122223333:role/old";

testRows("ACK-40 lists the resources whose controller last used another role", of("ACK-40"), [
  ["another role of the account", auditOf(applied(OLD, owned(A))), waits(`the role "${GOLD}"`)],
  ["the text is in the message", auditOf(applied(OLD, owned(A), {
    type: "ACK.ReferencesResolved", reason: "Selected", message: `roleARN: ${OLD}, selectorName: old, selectorR`,
  })), waits(`the role "${GOLD}"`)],
  ["no selector selects the resource anymore", auditOf(applied(OLD, tiered())), waits("its own role")],
  ["the same role", auditOf(applied(GOLD, owned(A)))],
  ["a resource without conditions", auditOf(owned(A))],
  ["another account, which ACK-07 reports", auditOf(applied(OLD, owned(A, tiered("silver"))))],
  ["a conflict, which ACK-03 reports", [applied(OLD, owned(A)), {
    operation: "AUDIT", old: applied(OLD, owned(A)), known: [...CLUSTER_OBJECTS, tierSelector("gilt", GOLD, "gold")],
  }]],
  ["a write", [applied(OLD, owned(A)), { old: applied(OLD, owned(A)) }]],
]);
