import { test } from "tap";
import { describeRepairs } from "../../../shared/core/repair.ts";
import { findingsOf, selfLines } from "../core/findings.ts";
import { ROLE, selectorObject } from "../objects.ts";
import { testRows } from "../rows.ts";

type Annotations = Readonly<Record<string, unknown>>;
const PREFIX = "ack-role-resolver.io/";
const POLICY = `${PREFIX}session-policy`;
const ARNS = `${PREFIX}session-policy-arns`;
const SCOPE = `${PREFIX}session-scope`;
const OF_AWS = "arn:aws:iam::aws:policy/A";

const selectorWith = (annotations: Annotations, spec: object = {}): ReturnType<typeof selectorObject> => selectorObject(
  "team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] }, ...spec }, { annotations },
);
const statement = (fields: object = {}): string => (
  JSON.stringify({ Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "*", ...fields }] })
);
const ofPolicy = (text: string): string => `deny IRS-54 metadata.annotations[${POLICY}]: ${text}.`;
const ofARNs = (text: string): string => `deny IRS-55 metadata.annotations[${ARNS}]: ${text}.`;
const LIST = "List up to ten ARNs of policies of AWS or of the role's account, with 2,048 characters together with the "
  + "annotation session-policy";
const tooLong = (length: number): string => (
  `the policy and the ARNs have ${length} characters, and STS accepts 2048. ${LIST}.`
);
const SEVERAL = { namespaceSelector: { names: ["a", "b"] } };
const AS_JSON = "Write an IAM policy as JSON, without Principal";

testRows("IRS-54: denies a session policy that STS rejects", ([text, spec]: readonly [unknown, object?]) => (
  selfLines("IRS-54", selectorWith({ [POLICY]: text }, spec))
), [
  ["none", [undefined]],
  ["a policy", [statement()]],
  ["no JSON", ["{"], ofPolicy(`the policy is not a JSON object, or nested too deeply. ${AS_JSON}`)],
  ["a template", [statement({ Resource: "arn:aws:s3:::{namespace}-{selector}-{account}-{group}" })]],
  ["a template without a value", [statement({ Resource: "arn:aws:s3:::{kind}" })],
    /template \{kind\} has no value: spec\.resourceTypeSelector does not name exactly one kind\. Use \{selector\}, /],
  ["a template that does not exist", [statement({ Resource: "arn:aws:s3:::{acount}" })],
    /template "\{acount\}" does not exist\. Write ".*\{account\}.*"\.$/],
  ["a variable of IAM", [statement({ Resource: "arn:aws:s3:::${aws:PrincipalTag/team}" })]],
  ["no action", [statement({ Action: "kms.Decrypt" })],
    ofPolicy('"kms.Decrypt" in Action of Statement 1 of the policy is not SERVICE:ACTION, such as kms:Decrypt, or *. '
      + AS_JSON)],
  ["no ARN", [statement({ Resource: ["*", "alias/a"] })],
    ofPolicy(`"alias/a" in Resource of Statement 1 of the policy is not an ARN, or *. ${AS_JSON}`)],
  ["no text", [statement({ Resource: 1 })],
    ofPolicy(`a value in Resource of Statement 1 of the policy is not an ARN, or *. ${AS_JSON}`)],
  ["several namespaces", [statement({ Resource: "arn:aws:s3:::{namespace}" }), SEVERAL],
    /^warn IRS-54 .*: \{namespace\} has no value at \/sts, /],
]);

testRows("IRS-55: denies managed policies that STS rejects", (annotations: Annotations) => (
  selfLines("IRS-55", selectorWith(annotations))
), [
  ["none", {}],
  ["a policy of AWS", { [ARNS]: OF_AWS }],
  ["an empty entry", { [ARNS]: `${OF_AWS},` }, ofARNs(`the list has an empty or repeated entry. Write "${OF_AWS}"`)],
  ["nothing", { [ARNS]: "" }, ofARNs("the list has an empty or repeated entry. Remove the annotation")],
  ["another account", { [ARNS]: "arn:aws:iam::444455556666:policy/a" },
    ofARNs('"arn:aws:iam::444455556666:policy/a" is not a policy of AWS, and not of account 111122223333 of the role. '
      + LIST)],
  ["no ARN of a policy", { [ARNS]: "x" }, ofARNs(`"x" is not the ARN of an IAM policy. ${LIST}`)],
  ["a long policy", { [POLICY]: statement({ Sid: "x".repeat(2000) }) },
    `deny IRS-55 metadata.annotations[${POLICY}]: ${tooLong(2074)}`],
  ["long together", { [POLICY]: statement({ Sid: "x".repeat(1960) }), [ARNS]: OF_AWS },
    `deny IRS-55 metadata.annotations[${ARNS}]: ${tooLong(2059)}`],
]);

test("IRS-54: corrects an Effect, and removes a Principal", (t) => {
  const repaired = (text: string): unknown => findingsOf("IRS-54", selectorWith({ [POLICY]: text }))
    .map(({ repairs = [], path }) => describeRepairs(repairs, path));
  t.same(repaired(statement({ Effect: "deny" })), [`write ${JSON.stringify(statement({ Effect: "Deny" }))}`]);
  t.same(repaired(statement({ Principal: "*" })), [`write ${JSON.stringify(statement())}`]);
  t.end();
});

testRows("IRS-56: denies a scope that does not exist", (scope: string) => (
  selfLines("IRS-56", selectorWith({ "ack-role-resolver.io/session-scope": scope }))
), [
  ["service", "service"], ["none", "none"],
  ["upper case", " Service", /" Service" is not a session scope\. Write "service"\.$/],
  ["another word", "everything", /"everything" is not a session scope\. Write service or none, or remove /],
]);

test("IRS-55: leaves a missing role to another check", (t) => {
  const { spec: _spec, ...rest } = selectorWith({ [ARNS]: OF_AWS });
  t.same(selfLines("IRS-55", { ...rest, spec: { namespaceSelector: { names: ["team-a"] } } }), []);
  t.end();
});

const IAM = { resourceTypeSelector: [{ group: "iam.services.k8s.aws" }, { group: "new.services.k8s.aws" }] };
testRows("IRS-55: denies policies that are too long beside the scope of the controller", (annotations: Annotations) => (
  selfLines("IRS-55", selectorWith(annotations, IAM))
), [
  ["short", { [ARNS]: OF_AWS, [SCOPE]: "service" }],
  ["long", { [POLICY]: statement({ Sid: "x".repeat(200) }), [SCOPE]: "service" },
    /: beside the session scope of iam\.services\.k8s\.aws, the policy and the ARNs have .* Shorten /],
  ["without the scope", { [POLICY]: statement({ Sid: "x".repeat(200) }) }],
  ["no policies", { [SCOPE]: "service" }],
  ["a faulty policy, which IRS-54 denies", { [POLICY]: "{}", [SCOPE]: "service" }],
]);

const BOTH_GROUPS = {
  resourceTypeSelector: [{ group: "s3.services.k8s.aws" }, { group: "ecrpublic.services.k8s.aws" }],
};
testRows("IRS-54: warns about a policy with which the controller can do nothing", (policy: object) => (
  selfLines("IRS-54", selectorWith({ [POLICY]: JSON.stringify({ Statement: policy }) }, BOTH_GROUPS))
), [
  ["an action of each", [{ Effect: "Allow", Action: ["s3:Get*", "ecr-public:*"], Resource: "*" }]],
  ["everything", { Effect: "Allow", Action: "*", Resource: "*" }],
  ["all but some", { Effect: "Allow", NotAction: "iam:*", Resource: "*" }],
  ["another service", { Effect: "Allow", Action: "s3:*", Resource: "*" },
    /^warn IRS-54 .*: the policy allows no action of ecrpublic\S+, so its controller can do nothing\. Allow what /],
  ["only denials", { Effect: "Deny", Action: "*", Resource: "*" }, /no action of ecrpublic/, /no action of s3/],
]);
