import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { ADMIN, annotated, findingLines, tiered } from "../resource-lines.ts";

const POLICY = "services.k8s.aws/adoption-policy";
const FIELDS = "services.k8s.aws/adoption-fields";
const at = (key: string): string => `metadata.annotations[${key}]`;
const FIELDS_FIX = `Set a JSON object of strings that identifies the AWS resource, such as '{"name": "my-bucket"}'.`;

function adopting(policy: string, fields?: string, rest: JsonObject = {}): JsonObject {
  return annotated({ [POLICY]: policy, ...(fields !== undefined && { [FIELDS]: fields }), ...rest });
}

test("ACK-12 denies an unknown adoption policy and suggests a similar policy", (t) => {
  const policies = "the policies are adopt and adopt-or-create";
  const line = (policy: string, fix: string): string => (
    `deny ACK-12 ${at(POLICY)}: "${policy}" is not an adoption policy. ${fix}.`
  );
  t.same(findingLines("ACK-12", adopting("adopt-only")), [
    line("adopt-only", `Set adopt if you meant that; ${policies}`),
  ]);
  t.same(findingLines("ACK-12", adopting("adopt-or-crate")), [
    line("adopt-or-crate", `Set adopt-or-create if you meant that; ${policies}`),
  ]);
  t.same(findingLines("ACK-12", adopting("yes")), [line("yes", "Set the adoption policy to adopt or adopt-or-create")]);
  t.same(findingLines("ACK-12", adopting("adopt", '{"name": "b1"}')), []);
  t.same(findingLines("ACK-12", adopting("adopt-or-create")), [], "adopt-or-create needs no fields");
  t.same(findingLines("ACK-12", tiered("gold")), []);
  t.end();
});

test("ACK-12 denies missing and invalid adoption fields", (t) => {
  const line = (message: string): string => `deny ACK-12 ${at(FIELDS)}: ${message}. ${FIELDS_FIX}`;
  for (const fields of [undefined, ""]) {
    t.same(findingLines("ACK-12", adopting("adopt", fields)), [
      line("the adoption policy adopt requires the fields that identify the AWS resource"),
    ]);
  }
  t.same(findingLines("ACK-12", adopting("adopt", "{name: b1}")), [line('"{name: b1}" is not a JSON object')]);
  t.same(findingLines("ACK-12", adopting("adopt-or-create", '["b1"]')), [line('"[\\"b1\\"]" is not a JSON object')]);
  t.same(findingLines("ACK-12", adopting("adopt", '{"a": 1, "b": "x", "c": null}')), [
    line('the value of "a" is not a string'), line('the value of "c" is not a string'),
  ]);
  t.end();
});

test("ACK-17 denies an adoption if the role is not in the account of the AWS resource, and can be waived", (t) => {
  const arn = '{"arn": "arn:aws:sqs:eu-west-1:444455556666:jobs"}';
  const lineFor = (account: string): string => (
    `ACK-17 ${at(FIELDS)}: "arn:aws:sqs:eu-west-1:444455556666:jobs" is in account "444455556666", `
    + `but the role is in account "${account}"`
  );
  const line = lineFor("111122223333");
  const fix = "Change the namespace or the labels of the resource, so that its selector has a role in the account of "
    + "the AWS resource.";
  t.same(findingLines("ACK-17", adopting("adopt", arn)), [`deny ${line}. ${fix}`]);
  const waived = { "ack-role-resolver.io/allow": "ACK-17" };
  t.same(findingLines("ACK-17", adopting("adopt", arn, waived), { requester: ADMIN }), [
    `warn (waived) ${line}. ${fix}`,
  ]);
  t.same(findingLines("ACK-17", adopting("adopt", arn, waived)), [
    `deny ${line}; the waiver is ignored because the requester is not a waiver user. ${fix}`,
  ]);
  const ownAccount = '{"arn": "arn:aws:sqs:eu-west-1:111122223333:jobs"}';
  for (const fields of [ownAccount, '{"arn": "arn:aws:s3:::b1"}', '{"name": "b1"}', undefined]) {
    t.same(findingLines("ACK-17", adopting("adopt", fields)), [], fields ?? "no fields");
  }
  t.same(findingLines("ACK-17", annotated({ [FIELDS]: arn })), [], "the resource is not adopted");
  t.same(findingLines("ACK-17", adopting("adopt", arn), { settings: { mode: "carm" } }), [
    `deny ${lineFor("777788889999")}. ${fix}`,
  ], "the controller's own role is in another account too");
  const unknown = { settings: { mode: "carm", controllerAccount: null } } as const;
  t.same(findingLines("ACK-17", adopting("adopt", arn), unknown), [], "the controller's account is unknown");
  t.end();
});
