import type { JsonObject } from "../../../shared/formats/json.ts";
import { ADMIN } from "../objects.ts";
import { testRows } from "../rows.ts";
import { annotated, of, tiered } from "./resource-lines.ts";

const POLICY = "services.k8s.aws/adoption-policy";
const FIELDS = "services.k8s.aws/adoption-fields";

function adopting(policy: string, fields?: string, rest: JsonObject = {}): JsonObject {
  return annotated({ [POLICY]: policy, ...(fields !== undefined && { [FIELDS]: fields }), ...rest });
}

const policy = (value: string, fix: string): string =>
  `deny ACK-12 metadata.annotations[${POLICY}]: "${value}" is not an adoption policy. ${fix}.`;
const fields = (message: string): string => `deny ACK-12 metadata.annotations[${FIELDS}]: ${message}. `
  + `Set a JSON object of strings that identifies the AWS resource, such as '{"name": "my-bucket"}'.`;
const meant = (value: string): string => `Write "${value}"`;
const REQUIRED = fields("the adoption policy adopt requires the fields that identify the AWS resource");

testRows("ACK-12 denies an unknown adoption policy, and missing and invalid fields", of("ACK-12"), [
  ["adopt-only", [adopting("adopt-only")], policy("adopt-only", meant("adopt"))],
  ["a misspelled policy", [adopting("adopt-or-crate")], policy("adopt-or-crate", meant("adopt-or-create"))],
  ["another text", [adopting("yes")], policy("yes", 'If the AWS resource exists, write "adopt"; or to create '
    + 'it if it is missing, write "adopt-or-create"')],
  ["valid fields", [adopting("adopt", '{"name": "b1"}')]],
  ["adopt-or-create needs no fields", [adopting("adopt-or-create")]],
  ["no adoption", [tiered("gold")]],
  ["no fields", [adopting("adopt")], REQUIRED],
  ["empty fields", [adopting("adopt", "")], REQUIRED],
  ["no JSON", [adopting("adopt", "{name: b1}")], fields('"{name: b1}" is not a JSON object')],
  ["a list", [adopting("adopt-or-create", '["b1"]')], fields('"[\\"b1\\"]" is not a JSON object')],
  ["values that are not strings", [adopting("adopt", '{"a": 1, "b": "x", "c": null}')],
    fields('the value of "a" is not a string'), fields('the value of "c" is not a string')],
]);

const ARN = '{"arn": "arn:aws:sqs:eu-west-1:444455556666:jobs"}';
const line = (account: string): string => (
  `ACK-17 metadata.annotations[${FIELDS}]: "arn:aws:sqs:eu-west-1:444455556666:jobs" is in account "444455556666", `
  + `but the role is in account "${account}"`
);
const FIX = "Change the namespace or the labels of the resource, so that its selector has a role in the account of "
  + "the AWS resource.";
const WAIVED = adopting("adopt", ARN, { "ack-role-resolver.io/allow": "ACK-17" });

testRows("ACK-17 denies an adoption if the role is not in the account of the AWS resource", of("ACK-17"), [
  ["another account", [adopting("adopt", ARN)], `deny ${line("111122223333")}. ${FIX}`],
  ["a waiver", [WAIVED, { requester: ADMIN }], `warn (waived) ${line("111122223333")}. ${FIX}`],
  ["a waiver of another requester", [WAIVED], `deny ${line("111122223333")}; the waiver is ignored because the `
    + `requester `
    + `is not a waiver user. ${FIX}`],
  ["the same account", [adopting("adopt", '{"arn": "arn:aws:sqs:eu-west-1:111122223333:jobs"}')]],
  ["an ARN without an account", [adopting("adopt", '{"arn": "arn:aws:s3:::b1"}')]],
  ["no ARN", [adopting("adopt", '{"name": "b1"}')]],
  ["no fields", [adopting("adopt")]],
  ["the resource is not adopted", [annotated({ [FIELDS]: ARN })]],
  ["the controller's own role is in another account too", [adopting("adopt", ARN), { settings: { mode: "carm" } }],
    `deny ${line("777788889999")}. ${FIX}`],
  ["the controller's account is unknown",
    [adopting("adopt", ARN), { settings: { mode: "carm", controllerAccount: null } }]],
]);
