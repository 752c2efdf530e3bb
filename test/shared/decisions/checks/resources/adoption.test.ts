import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { ADMIN, annotated, lines, tiered } from "../resource-lines.ts";

const POLICY = "services.k8s.aws/adoption-policy";
const FIELDS = "services.k8s.aws/adoption-fields";
const at = (key: string): string => `metadata.annotations[${key}]`;
const adopting = (policy: string, fields?: string, rest: JsonObject = {}): JsonObject => annotated({ [POLICY]: policy, ...(fields !== undefined && { [FIELDS]: fields }), ...rest });
const FIELDS_FIX = `Write what identifies the AWS resource as a JSON object of strings, such as '{"name": "my-bucket"}'.`;

test("ACK-12 refuses a policy that there is not, and says which was meant", (t) => {
  const policies = "the policies are adopt and adopt-or-create";
  t.same(lines("ACK-12", adopting("adopt-only")), [`deny ACK-12 ${at(POLICY)}: "adopt-only" is not an adoption policy. Write adopt, if that was meant; ${policies}.`]);
  t.same(lines("ACK-12", adopting("adopt-or-crate")), [`deny ACK-12 ${at(POLICY)}: "adopt-or-crate" is not an adoption policy. Write adopt-or-create, if that was meant; ${policies}.`]);
  t.same(lines("ACK-12", adopting("yes")), [`deny ACK-12 ${at(POLICY)}: "yes" is not an adoption policy. Write adopt or adopt-or-create.`]);
  t.same(lines("ACK-12", adopting("adopt", '{"name": "b1"}')), []);
  t.same(lines("ACK-12", adopting("adopt-or-create")), [], "it says itself what it is");
  t.same(lines("ACK-12", tiered("gold")), []);
  t.end();
});

test("ACK-12 refuses an adoption without fields, or with some that cannot be read", (t) => {
  for (const fields of [undefined, ""]) {
    t.same(lines("ACK-12", adopting("adopt", fields)), [`deny ACK-12 ${at(FIELDS)}: adopt needs the fields that identify the AWS resource. ${FIELDS_FIX}`]);
  }
  t.same(lines("ACK-12", adopting("adopt", "{name: b1}")), [`deny ACK-12 ${at(FIELDS)}: "{name: b1}" is not a JSON object. ${FIELDS_FIX}`]);
  t.same(lines("ACK-12", adopting("adopt-or-create", '["b1"]')), [`deny ACK-12 ${at(FIELDS)}: "[\\"b1\\"]" is not a JSON object. ${FIELDS_FIX}`]);
  t.same(lines("ACK-12", adopting("adopt", '{"a": 1, "b": "x", "c": null}')), [
    `deny ACK-12 ${at(FIELDS)}: the value of "a" is not a string. ${FIELDS_FIX}`,
    `deny ACK-12 ${at(FIELDS)}: the value of "c" is not a string. ${FIELDS_FIX}`,
  ]);
  t.end();
});

test("ACK-17 refuses to adopt from another account, unless it is waived", (t) => {
  const arn = '{"arn": "arn:aws:sqs:eu-west-1:444455556666:jobs"}';
  const line = `ACK-17 ${at(FIELDS)}: "arn:aws:sqs:eu-west-1:444455556666:jobs" is of account "444455556666", and its role of "111122223333"`;
  const fix = "Put it where a selector of the AWS resource's account selects it.";
  t.same(lines("ACK-17", adopting("adopt", arn)), [`deny ${line}. ${fix}`]);
  const waived = { "ack-role-resolver.io/allow": "ACK-17" };
  t.same(lines("ACK-17", adopting("adopt", arn, waived), { requester: ADMIN }), [`warn (waived) ${line}. ${fix}`]);
  t.same(lines("ACK-17", adopting("adopt", arn, waived)), [`deny ${line}; the waiver on it is ignored, since the requester may not waive checks. ${fix}`]);
  for (const fields of ['{"arn": "arn:aws:sqs:eu-west-1:111122223333:jobs"}', '{"arn": "arn:aws:s3:::b1"}', '{"name": "b1"}', undefined]) {
    t.same(lines("ACK-17", adopting("adopt", fields)), [], fields ?? "none");
  }
  t.same(lines("ACK-17", annotated({ [FIELDS]: arn })), [], "it is not adopted");
  t.same(lines("ACK-17", adopting("adopt", arn), { settings: { mode: "carm" } }), [`deny ${line.replace("111122223333", "777788889999")}. ${fix}`], "nor by the controller's own role");
  t.same(lines("ACK-17", adopting("adopt", arn), { settings: { mode: "carm", controllerAccount: null } }), [], "whose account is not known");
  t.end();
});
