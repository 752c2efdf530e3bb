import { deletionPolicyOf } from "../../../shared/ack/resource-drift.ts";
import { resourceOf } from "../../../shared/core/ack-resource.ts";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ADMIN, bucketObject, inventoryWith, namespaceObject } from "../objects.ts";
import { testRows } from "../rows.ts";
import {
  annotated, CONTROLLER_ACCOUNT, findingLines, type Input, owned, skippedChecks, tiered,
} from "./resource-lines.ts";

const DELETE = { operation: "DELETE" } as const;
const of = (id: string) => ([object, rest]: Input): string[] => findingLines(id, object, { ...DELETE, ...rest });
const waiving = (id: string, object: JsonObject): JsonObject => (
  annotated({ "ack-role-resolver.io/allow": id }, object)
);
const foreign = owned("111122223333", tiered());

const ACK_30 = 'ACK-30 metadata.labels: the resource is in account "111122223333", but the controller would look for '
  + 'it in '
  + 'account "777788889999" and leave it behind. First create a selector that selects the resource and has a role in '
  + 'the '
  + "resource's account. To leave the resource in AWS, annotate the resource with services.k8s.aws/deletion-policy: "
  + "retain.";
testRows("ACK-30 denies a deletion with the controller's own role if the resource is in another "
  + "account", of("ACK-30"), [
  ["another account", [foreign], `deny ${ACK_30}`],
  ["a selector selects the resource", [owned("111122223333")]],
  ["the controller's account", [owned(CONTROLLER_ACCOUNT, tiered())]],
  ["the resource does not exist in AWS", [tiered()]],
  ["the controller makes no AWS call", [annotated({ "services.k8s.aws/deletion-policy": "retain" }, foreign)]],
  ["a waiver", [waiving("ACK-30", foreign), { requester: ADMIN }], `warn (waived) ${ACK_30}`],
  ["a deletion by the cluster's own controllers", [foreign, { warnOnly: true }], `warn ${ACK_30}`],
]);

test("ACK-30 runs only at DELETE, and requires the controller's account", (t) => {
  const skipped = skippedChecks(foreign, { ...DELETE, settings: { controllerAccount: null } });
  t.equal(skipped["ACK-30"], "--controller-account or --controller-role");
  t.same(findingLines("ACK-30", foreign), []);
  t.end();
});

const FIX = "Correct the role or the region of the resource before you delete the resource.";
const known = [namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "1" })];
testRows("ACK-31 warns about a deletion that the controller cannot complete", of("ACK-31"), [
  ["a conflict", [tiered("gold", "silver")],
    "warn ACK-31 metadata: the deletion will hang until only one of these IAMRoleSelectors selects the resource: "
      + "gold and silver. Restrict or delete selectors until only one selects the resource."],
  ["one selector", [tiered("gold")]],
  ["another region", [owned("111122223333"), { settings: { region: "us-east-1" } }],
    'warn ACK-31 metadata.annotations[services.k8s.aws/region]: the resource exists in region "eu-west-1", '
      + `but its desired region is "us-east-1" (set by the controller), so controllers never reconcile it. ${FIX}`],
  ["the region of the resource", [owned("111122223333"), { settings: { region: "eu-west-1" } }]],
  ["no CARM map", [bucketObject(), { known, settings: { mode: "carm" } }],
    "warn ACK-31 metadata: the deletion will hang until a role resolves: "
      + `ConfigMap ack-system/ack-role-account-map does not exist, so key "1" has no role. ${FIX}`],
]);

const ACK_32 = 'ACK-32 metadata.labels: the resource is in account "444455556666" but its role is in account '
  + '"111122223333", so the deletion would never finish. First create a selector that selects the resource and has a '
  + "role in the resource's account.";
testRows("ACK-32 denies a deletion if the role is not in the account of the resource", of("ACK-32"), [
  ["another account", [owned("444455556666")], `deny ${ACK_32}`],
  ["the same account", [owned("111122223333")]],
  ["a waiver", [waiving("ACK-32", owned("444455556666")), { requester: ADMIN }], `warn (waived) ${ACK_32}`],
]);

test("reads the deletion policy of the namespace, except of a namespace that controllers ignore", (t) => {
  const policies = ["team-a", "kube-system"].map((namespace) => {
    const annotations = { "s3.services.k8s.aws/deletion-policy": "retain" };
    const inventory = inventoryWith([namespaceObject(namespace, {}, annotations)]);
    return deletionPolicyOf(inventory, resourceOf(bucketObject({ namespace })));
  });
  t.same(policies, ["retain", "delete"]);
  t.end();
});
