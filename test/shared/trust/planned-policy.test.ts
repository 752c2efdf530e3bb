import { test } from "tap";
import { rejectionOf } from "../../../shared/trust/planned-policy.ts";
import { Intended } from "../../../shared/trust/intended.ts";
import { TrustChains } from "../../../shared/trust/trust-chains.ts";
import { whoElse } from "../../../shared/trust/who-else.ts";
import { ask } from "./ask.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { callerOf, selectorTarget } from "./review.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";
import { TrustReview } from "../../../shared/trust/trust-review.ts";
import type { IAMData } from "../../../shared/trust/iam-data.ts";

const ACCOUNT = "222222222222";
const CALLERS = exportOf({ RoleDetailList: [roleDetail(APP, document(), {
  RolePolicyList: [{ PolicyName: "sts", PolicyDocument: document(grant()) }],
})] });
const GOOD = allow({ AWS: APP });

/** Returns data in which ROLE is planned, as a manifest of the IAM controller of ACK. */
function planned(...statements: readonly Fields[]): IAMData {
  const spec = { name: "target", assumeRolePolicyDocument: JSON.stringify(document(...statements)) };
  const role = { apiVersion: "iam.services.k8s.aws/v1alpha1", kind: "Role", metadata: { name: "target" }, spec };
  return dataOf([ACCOUNT, role], CALLERS);
}

function stored(...statements: readonly Fields[]): IAMData {
  return dataOf(exportOf({ RoleDetailList: [roleDetail(ROLE, document(...statements))] }), CALLERS);
}

const BAD_PRINCIPALS = [
  "arn:aws:iam::111122223333:role/ack-*", "arn:aws:iam::*:root", "arn:aws:sts::111122223333:assumed-role/ack/*",
  "11112222333", "arn:aws:iam::111122223333:group/ops", "ack", "arn:aws:iam::111122223333:role/a b",
  "arn:aws:iam::111122223333:user/a b", "arn:aws:sts::111122223333:assumed-role/a b/c",
  "arn:aws-cn:iam::111122223333:role/a", "arn:aws-cn:iam::111122223333:root", "arn:none:iam::111122223333:root",
];

test("a planned trust policy with a principal that IAM rejects is a no that names the principal", async (t) => {
  for (const bad of BAD_PRINCIPALS) {
    for (const statement of [allow({ AWS: [APP, bad] }), GOOD]) {
      const deny = { ...allow({ AWS: bad }), Effect: "Deny", Condition: { Bool: { "aws:ViaAWSService": true } } };
      const statements = statement === GOOD ? [GOOD, deny] : [statement];
      const answer = ask(APP, planned(...statements));
      t.match(answer, /^no: IAM rejects the planned trust policy: the principal "/, bad);
      t.ok(answer.includes(JSON.stringify(bad)), bad);
      // Without the principal, the answer is yes.
      t.equal(ask(APP, planned(GOOD)), "yes");
    }
  }
});

test("a stored trust policy is read as it is", async (t) => {
  for (const bad of BAD_PRINCIPALS) t.equal(ask(APP, stored(allow({ AWS: [APP, bad] }))), "yes", bad);
  const both = dataOf(
    exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: [APP, "ack"] })))] }), CALLERS,
    [ROLE, document(allow({ AWS: [APP, "ack"] }))],
  );
  t.equal(ask(APP, both), "yes", "one of the files is an export");
  t.match(ask(APP, dataOf([ROLE, document(allow({ AWS: [APP, "ack"] }))], CALLERS)), /^no: IAM rejects /);
});

test("a plan of Terraform is planned, a state of Terraform is stored", async (t) => {
  const text = JSON.stringify(document(allow({ AWS: [APP, "ack"] })));
  const values = { name: "target", path: "/", assume_role_policy: text };
  const resource = { address: "aws_iam_role.target", mode: "managed", type: "aws_iam_role", name: "target" };
  const change = { actions: ["create"], before: null, after: values };
  const plan = { format_version: "1.2", resource_changes: [{ ...resource, change }] };
  const state = { format_version: "1.0", values: { root_module: { resources: [{ ...resource, values }] } } };
  t.match(ask(APP, dataOf([ACCOUNT, plan], CALLERS)), /^no: IAM rejects /);
  t.equal(ask(APP, dataOf([ACCOUNT, state], CALLERS)), "yes");
});

test("what IAM rejects besides principals is no yes either", async (t) => {
  const long = Array.from({ length: 300 }, (_, i) => `arn:aws:iam::444455556666:role/a-long-name-of-a-role-${i}`);
  const certain: readonly (readonly [text: RegExp, ...statements: readonly Fields[]])[] = [
    [/"lambda" of statement 1 is malformed/, allow({ AWS: APP, Service: "lambda" })],
    [/"\*\.amazonaws\.com" of statement 1 contains a wildcard/, allow({ AWS: APP, Service: "*.amazonaws.com" })],
    [/statement 1 has an action of another service/, { ...GOOD, Action: ["sts:AssumeRole", "s3:GetObject"] }],
    [/two statements have the Sid "A"/, { ...GOOD, Sid: "A" }, { ...GOOD, Sid: "A" }],
    [/the Sid "a b" has characters/, { ...GOOD, Sid: "a b" }],
    [/role\/gone" of statement 1 does not exist/, allow({ AWS: [APP, "arn:aws:iam::111122223333:role/gone"] })],
    [/it has \d+ characters, more than 8192/, allow({ AWS: [APP, ...long] })],
  ];
  for (const [text, ...statements] of certain) {
    const data = planned(...statements);
    t.match(ask(APP, data), /^no: IAM rejects the planned trust policy: /, String(text));
    const role = data.role(ROLE);
    t.match(role === null ? null : rejectionOf(role, data), { isCertain: true, text });
  }
});

test("whether IAM stores other planned trust policies is unknown", async (t) => {
  const uncertain: readonly (readonly [text: RegExp, ...statements: readonly Fields[]])[] = [
    [/"\*" of statement 1 contains a wildcard/, allow({ AWS: APP, Federated: "*" })],
    [/"provider" of statement 1 is malformed/, allow({ AWS: APP, Federated: "provider" })],
    [/"s3\.example\.com" of statement 1 may not be a service/, allow({ AWS: APP, Service: "s3.example.com" })],
    [/statement 2 names no principal/, GOOD, allow({ AWS: [] })],
    [/may be the unique ID of a deleted role/, allow({ AWS: [APP, "AROAEXAMPLEEXAMPLEID"] })],
    [/statement 1 names the role itself/, allow({ AWS: [APP, ROLE] })],
    [/statement 2 has NotPrincipal/, GOOD, { Effect: "Deny", NotPrincipal: { AWS: APP }, Action: "sts:TagSession" }],
    [/statement 1 has actions of other services/, { ...GOOD, Action: "*" }],
    [/statement 1 has the operator "StringIs"/, { ...GOOD, Condition: { StringIs: { "aws:userid": "b" } } }, GOOD],
    [/more than the 2048 that accounts have by default/, GOOD, { ...GOOD, Sid: "A".repeat(2048) }],
  ];
  for (const [text, ...statements] of uncertain) {
    const data = planned(...statements);
    t.match(ask(APP, data), /^unknown: valid trust policy .* \(IAM may reject it: /, String(text));
    t.match(ask(APP, data), text);
    t.match(ask(APP, stored(...statements)), /^(yes|unknown: (?!valid))/, String(text));
  }
  const id = allow({ AWS: "AROAEXAMPLEEXAMPLEID" });
  t.match(ask(APP, planned(id)), /^no: no statement/, "whether IAM stores it or not");
});

test("a planned trust policy of ordinary principals is accepted", async (t) => {
  const others = {
    AWS: [
      APP, "444455556666", "arn:aws:iam::444455556666:root", "arn:aws:iam::444455556666:user/jane",
      "arn:aws:sts::444455556666:assumed-role/a/b", "arn:aws:sts::444455556666:federated-user/jane",
      "arn:aws:iam::444455556666:role/a/b",
    ],
    Service: ["ec2.amazonaws.com", "lambda.amazonaws.com"], Federated: ["accounts.google.com"],
  };
  const statements = [
    { ...allow(others), Sid: "A", Action: ["sts:AssumeRole", "sts:Tag*"] }, { ...GOOD, Sid: "" }, GOOD,
  ];
  t.equal(ask(APP, planned(...statements)), "yes");
  const data = planned();
  t.equal(rejectionOf({ arn: ROLE, trust: null, isStored: false }, data), null);
  t.equal(rejectionOf({ arn: ROLE, trust: "{", isStored: false }, data), null, "reported as invalid");
  t.match(ask(NEAR, planned(allow({ AWS: NEAR }))), /^unknown/, "its account is not exported whole");
});

test("lint and trust who name the principal that IAM rejects", async (t) => {
  const data = planned(allow({ AWS: [APP, "arn:aws:iam::111122223333:role/ack-*"] }));
  const intended = new Intended([APP]);
  const review = new TrustReview({ callers: [callerOf()], data, nowSeconds: 1, intended });
  const message = /^arn:\S+ cannot assume the role: IAM rejects the planned trust policy: the principal "arn:.*\*"/;
  t.match(review.problemsOf(selectorTarget()), [{ code: "TR-01", message, fix: "correct it in file 1" }]);
  const chains = new TrustChains({ data, nowSeconds: 1 }, intended);
  t.match(whoElse(ROLE, data, chains), { fault: /^IAM rejects the planned trust policy: the principal "arn:.*\*"/ });
  t.match(whoElse(ROLE, planned(GOOD), new TrustChains({ data: planned(GOOD), nowSeconds: 1 }, intended)), {
    unintended: [],
  });
});
