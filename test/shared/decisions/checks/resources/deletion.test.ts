import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import {
  ADMIN, annotated, BASE, type Circumstances, COMPANY, lines, notApplied, owned, tiered,
} from "../resource-lines.ts";

const POLICY = "services.k8s.aws/deletion-policy";
const deleting = (id: string, object: JsonObject, rest: Circumstances = {}): string[] => lines(id, object, { operation: "DELETE", ...rest });

test("ACK-30 refuses to delete a foreign resource with the controller's own role", (t) => {
  const line = 'ACK-30 metadata.labels: it is of account "111122223333", and the controller\'s own role, of account "777788889999", would look for it there and leave it behind';
  const fix = "Have a selector of its account select it first, or annotate it with services.k8s.aws/deletion-policy: retain to leave it in AWS.";
  const foreign = owned("111122223333", tiered());
  t.same(deleting("ACK-30", foreign), [`deny ${line}. ${fix}`]);
  t.same(deleting("ACK-30", owned("111122223333")), [], "its selector selects it");
  t.same(deleting("ACK-30", owned(BASE, tiered())), [], "it is of the controller's account");
  t.same(deleting("ACK-30", tiered()), [], "it was never made");
  t.same(deleting("ACK-30", annotated({ [POLICY]: "retain" }, foreign)), [], "nothing is asked of AWS");
  t.same(deleting("ACK-30", annotated({ "ack-role-resolver.io/allow": "ACK-30" }, foreign), { requester: ADMIN }), [`warn (waived) ${line}. ${fix}`]);
  t.same(deleting("ACK-30", foreign, { warnOnly: true }), [`warn ${line}. ${fix}`], "the cluster cleans up");
  t.equal(notApplied(foreign, { operation: "DELETE", settings: { controllerAccount: null } })["ACK-30"], "--controller-account or --controller-role");
  t.same(lines("ACK-30", foreign), [], "nothing is deleted");
  t.end();
});

test("ACK-31 warns of a deletion that hangs", (t) => {
  t.same(deleting("ACK-31", tiered("gold", "silver")), [
    "warn ACK-31 metadata: it will hang until one selector alone selects it, of gold and silver. Narrow or delete all selectors but one.",
  ]);
  t.same(deleting("ACK-31", tiered("gold")), []);
  const fix = "Mend that first; until then the deletion hangs.";
  t.same(deleting("ACK-31", owned("111122223333"), { settings: { region: "us-east-1" } }), [
    `warn ACK-31 metadata.annotations[services.k8s.aws/region]: it exists in region "eu-west-1", and "us-east-1" is wanted (by the controller). ${fix}`,
  ]);
  t.same(deleting("ACK-31", owned("111122223333"), { settings: { region: "eu-west-1" } }), []);
  const known = [namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "1" })];
  t.same(deleting("ACK-31", bucketObject(), { known, settings: { mode: "carm" } }), [
    `warn ACK-31 metadata: it will hang until its role is told: ConfigMap ack-system/ack-role-account-map is not there, so 1 has no role. ${fix}`,
  ]);
  t.end();
});

test("ACK-32 refuses a deletion with a role in another account, unless it is waived", (t) => {
  const line = 'ACK-32 metadata.labels: it is of account "444455556666" and its role of "111122223333", so the deletion would hang for ever';
  const fix = "Have a selector of its account select it first.";
  t.same(deleting("ACK-32", owned("444455556666")), [`deny ${line}. ${fix}`]);
  t.same(deleting("ACK-32", owned("111122223333")), []);
  t.same(deleting("ACK-32", annotated({ "ack-role-resolver.io/allow": "ACK-32" }, owned("444455556666")), { requester: ADMIN }), [`warn (waived) ${line}. ${fix}`]);
  t.end();
});

test("ACK-33 warns of what stays in AWS", (t) => {
  const fix = "Set the policy to delete first, if the AWS resource is to go too.";
  const path = `metadata.annotations[${POLICY}]`;
  t.same(deleting("ACK-33", annotated({ [POLICY]: "retain" })), [`warn ACK-33 ${path}: the deletion policy is retain, so it stays in AWS. ${fix}`]);
  t.same(deleting("ACK-33", annotated({ [POLICY]: "Delete" })), [`warn ACK-33 ${path}: the deletion policy "Delete" reads as retain, so it stays in AWS. ${fix}`]);
  t.same(deleting("ACK-33", annotated({ [POLICY]: "delete" })), []);
  const known = [...COMPANY, namespaceObject("team-a", {}, { "s3.services.k8s.aws/deletion-policy": "retain" })];
  t.same(deleting("ACK-33", tiered("gold"), { known }), [`warn ACK-33 metadata: the deletion policy of its namespace is retain, so it stays in AWS. ${fix}`]);
  t.same(deleting("ACK-33", annotated({ [POLICY]: "delete" }), { known }), [], "its own counts");
  t.same(deleting("ACK-11", annotated({ [POLICY]: "Delete" })), [], "at its deletion nothing is to be mended");
  t.end();
});
