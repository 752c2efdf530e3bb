import { test } from "tap";
import { bucketObject, namespaceObject } from "../../objects.ts";
import {
  ADMIN, annotated, attempted, CLUSTER_OBJECTS, CONTROLLER_ACCOUNT, findingLines, owned, skippedChecks, tiered,
} from "../resource-lines.ts";

const SILVER_DRIFT = 'the resource is in account "111122223333" but its role is in account "444455556666"';
const MOVE_FIX = "Set labels that match a selector whose role is in the resource's account. To move the "
  + "resource to another account, delete it and create it again.";

test("ACK-07 denies a change that moves a resource to a role in another account", (t) => {
  const old = owned("111122223333");
  const line = `ACK-07 metadata.labels: ${SILVER_DRIFT}, so controllers never reconcile it. ${MOVE_FIX}`;
  t.same(findingLines("ACK-07", tiered("silver"), { old }), [`deny ${line}`]);
  t.same(findingLines("ACK-07", tiered("gold"), { old }), []);
  t.same(findingLines("ACK-07", tiered("silver"), { old: tiered("gold") }), [], "the resource is in no account yet");
  const drifted = owned("111122223333", tiered("silver"));
  t.same(
    findingLines("ACK-07", tiered("silver"), { old: drifted }),
    [`warn ${line}`],
    "the selector changed, not the resource",
  );
  t.end();
});

test("ACK-07 reads the account from the stored status, and cannot be waived", (t) => {
  const claimed = owned("444455556666", tiered("silver"));
  const denied = findingLines("ACK-07", claimed, { old: owned("111122223333"), requester: ADMIN });
  t.match(denied, [/^deny ACK-07/], "the check ignores the status in the request");
  const old = owned("444455556666", tiered("gold"));
  t.same(findingLines("ACK-07", owned("111122223333", tiered("silver")), { old }), []);
  t.same(
    findingLines("ACK-07", owned("111122223333", tiered("silver"))),
    [],
    "a resource has no stored status at CREATE",
  );
  t.end();
});

test("ACK-07 denies a move of a resource without an ARN, and the fix is to recreate the resource", (t) => {
  const old = attempted("111122223333");
  t.same(findingLines("ACK-07", tiered("silver"), { old }), [
    'deny ACK-07 metadata.labels: the status of the resource records account "111122223333" '
      + 'but its role is in account "444455556666", so controllers never reconcile it. '
      + "Set labels that match a selector whose role is in the account that the status records. If the creation "
      + "of the resource failed, delete the resource now, while its old role is in use, and create it again.",
  ]);
  t.same(findingLines("ACK-07", tiered("gold"), { old }), []);
  const drifted = attempted("111122223333", tiered("silver"));
  t.match(findingLines("ACK-07", tiered("silver"), { old: drifted }), [/^warn ACK-07/], "the drift is old");
  t.end();
});

test("ACK-07 warns about a manifest whose status names another account than the role but has no ARN", (t) => {
  const origin = "file";
  const lines = findingLines("ACK-07", attempted("111122223333", tiered("silver")), { origin });
  t.match(lines, [/^warn ACK-07 metadata\.labels: the status of the resource records account "111122223333" but its /]);
  t.same(findingLines("ACK-07", attempted("111122223333"), { origin }), [], "the role is in the same account");
  t.same(findingLines("ACK-07", owned("111122223333", tiered("silver")), { origin }), [], "the resource has an ARN");
  t.end();
});

test("ACK-08 denies a change that makes a resource of another account use the controller's own role", (t) => {
  const old = owned("111122223333");
  const line = 'ACK-08 metadata.labels: the resource is in account "111122223333", '
    + 'but the controller would create it again in '
    + 'account "777788889999" with its own role. '
    + "Set labels that match a selector whose role is in the resource's account.";
  t.same(findingLines("ACK-08", tiered(), { old }), [`deny ${line}`]);
  t.same(findingLines("ACK-08", tiered("gold"), { old }), []);
  t.same(
    findingLines("ACK-08", tiered(), { old: owned(CONTROLLER_ACCOUNT) }),
    [],
    "the resource is in the controller's account",
  );
  t.same(findingLines("ACK-08", tiered(), { old: owned("111122223333", tiered()) }), [`warn ${line}`]);
  t.same(findingLines("ACK-08", tiered(), { old: bucketObject() }), []);
  t.end();
});

test("ACK-08 reads the account from --controller-role, and is skipped if the account is unknown", (t) => {
  const old = owned("111122223333");
  const settings = { controllerAccount: null, controllerRole: "arn:aws:iam::777788889999:role/ack" };
  t.match(findingLines("ACK-08", tiered(), { old, settings }), [/again in account "777788889999"/]);
  const unset = { old, settings: { controllerAccount: null } };
  t.same(findingLines("ACK-08", tiered(), unset), []);
  t.equal(skippedChecks(tiered(), unset)["ACK-08"], "--controller-account or --controller-role");
  t.end();
});

test("ACK-10b denies a change of the region of an existing resource", (t) => {
  const key = "services.k8s.aws/region";
  const old = owned("111122223333");
  const drift = (region: string, source: string): string => (
    `deny ACK-10b metadata.annotations[${key}]: the resource exists in region "eu-west-1", `
    + `but its desired region is "${region}" `
    + `(set by the ${source}). Set the region in which the resource exists. `
    + "To move the resource to another region, delete it and create it again."
  );
  t.same(findingLines("ACK-10b", annotated({ [key]: "us-east-1" }), { old }), [drift("us-east-1", "resource")]);
  t.same(findingLines("ACK-10b", annotated({ [key]: "eu-west-1" }), { old }), []);
  t.same(findingLines("ACK-10b", tiered("gold"), { old }), [], "the desired region is unknown");
  const settings = { region: "us-west-2" };
  const pinned = { old: annotated({ [key]: "eu-west-1" }, old), settings };
  t.same(
    findingLines("ACK-10b", tiered("gold"), pinned),
    [drift("us-west-2", "controller")],
    "the annotation is removed",
  );
  t.match(
    findingLines("ACK-10b", tiered("gold"), { old, settings }),
    [/^warn ACK-10b/],
    "the change does not change the region",
  );
  const known = [...CLUSTER_OBJECTS, namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "us-east-2" })];
  t.match(findingLines("ACK-10b", tiered("gold"), { old, known }), [/"us-east-2" \(set by the namespace\)/]);
  t.same(findingLines("ACK-10b", annotated({ [key]: "us-east-1" })), [], "a resource does not exist in AWS at CREATE");
  t.end();
});
