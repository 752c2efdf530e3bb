import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import {
  ADMIN, annotated, type Circumstances, CONTROLLER_ACCOUNT, findingLines, owned, skippedChecks, tiered,
} from "../resource-lines.ts";

const POLICY = "services.k8s.aws/deletion-policy";
const deletionLines = (id: string, object: JsonObject, rest: Circumstances = {}): string[] => (
  findingLines(id, object, { operation: "DELETE", ...rest })
);

test("ACK-30 denies a deletion with the controller's own role if the resource is in another account", (t) => {
  const line = 'ACK-30 metadata.labels: the resource is in account "111122223333", '
    + 'but the controller would look for it in '
    + 'account "777788889999" and leave it behind. '
    + "First create a selector that selects the resource and has a role in the resource's account. "
    + "To leave the resource in AWS, annotate the resource with services.k8s.aws/deletion-policy: retain.";
  const foreign = owned("111122223333", tiered());
  t.same(deletionLines("ACK-30", foreign), [`deny ${line}`]);
  t.same(deletionLines("ACK-30", owned("111122223333")), [], "a selector selects the resource");
  t.same(
    deletionLines("ACK-30", owned(CONTROLLER_ACCOUNT, tiered())),
    [],
    "the resource is in the controller's account",
  );
  t.same(deletionLines("ACK-30", tiered()), [], "the resource does not exist in AWS");
  t.same(deletionLines("ACK-30", annotated({ [POLICY]: "retain" }, foreign)), [], "the controller makes no AWS call");
  const waived = annotated({ "ack-role-resolver.io/allow": "ACK-30" }, foreign);
  t.same(deletionLines("ACK-30", waived, { requester: ADMIN }), [`warn (waived) ${line}`]);
  t.same(
    deletionLines("ACK-30", foreign, { warnOnly: true }),
    [`warn ${line}`],
    "the check only warns for the cluster's own controllers",
  );
  const skipped = skippedChecks(foreign, { operation: "DELETE", settings: { controllerAccount: null } });
  t.equal(skipped["ACK-30"], "--controller-account or --controller-role");
  t.same(findingLines("ACK-30", foreign), [], "the check runs only at DELETE");
  t.end();
});

test("ACK-31 warns about a deletion that the controller cannot complete", (t) => {
  t.same(deletionLines("ACK-31", tiered("gold", "silver")), [
    "warn ACK-31 metadata: the deletion will hang until only one of these IAMRoleSelectors selects the resource: "
    + "gold and silver. Restrict or delete selectors until only one selects the resource.",
  ]);
  t.same(deletionLines("ACK-31", tiered("gold")), []);
  const fix = "Correct the role or the region of the resource before you delete the resource.";
  t.same(deletionLines("ACK-31", owned("111122223333"), { settings: { region: "us-east-1" } }), [
    'warn ACK-31 metadata.annotations[services.k8s.aws/region]: the resource exists in region "eu-west-1", '
    + `but its desired region is "us-east-1" (set by the controller). ${fix}`,
  ]);
  t.same(deletionLines("ACK-31", owned("111122223333"), { settings: { region: "eu-west-1" } }), []);
  const known = [namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "1" })];
  t.same(deletionLines("ACK-31", bucketObject(), { known, settings: { mode: "carm" } }), [
    "warn ACK-31 metadata: the deletion will hang until a role resolves: "
    + `ConfigMap ack-system/ack-role-account-map does not exist, so key "1" has no role. ${fix}`,
  ]);
  t.end();
});

test("ACK-32 denies a deletion if the role is not in the account of the resource, and can be waived", (t) => {
  const line = 'ACK-32 metadata.labels: the resource is in account "444455556666" but its role is in account '
    + '"111122223333", '
    + "so the deletion would never finish. First create a selector that selects the resource and has a role in the "
    + "resource's account.";
  t.same(deletionLines("ACK-32", owned("444455556666")), [`deny ${line}`]);
  t.same(deletionLines("ACK-32", owned("111122223333")), []);
  const waived = annotated({ "ack-role-resolver.io/allow": "ACK-32" }, owned("444455556666"));
  t.same(deletionLines("ACK-32", waived, { requester: ADMIN }), [`warn (waived) ${line}`]);
  t.end();
});
