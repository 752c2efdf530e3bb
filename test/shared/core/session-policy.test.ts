import { assert, constantFrom, property, string } from "fast-check";
import { test } from "tap";
import { isJsonObject, parseJSON } from "../../../shared/formats/json.ts";
import { policyFaults } from "../../../shared/core/policy-faults.ts";
import {
  policyARNFaults, policyLengthFault, policyTemplates, readPolicyARNs, writtenPolicy,
} from "../../../shared/core/session-policy.ts";

const STATEMENT = { Effect: "Allow", Action: "s3:*", Resource: "arn:aws:s3:::{namespace}-*" };
const policy = (...statements: readonly object[]): string => (
  JSON.stringify({ Version: "2012-10-17", Statement: statements })
);
const ROLE = "arn:aws:iam::111122223333:role/team-a";
const OWN = "arn:aws:iam::111122223333:policy/ack/team-a";
const OF_AWS = "arn:aws:iam::aws:policy/AmazonS3FullAccess";

test("names the faults of a session policy, and corrects those of which only one value can be meant", (t) => {
  const told = (text: string): unknown => (
    policyFaults(text).map(({ message, repaired }) => [message, repaired !== null])
  );
  t.same(told(policy(STATEMENT)), []);
  t.same(told(JSON.stringify({ Statement: STATEMENT })), [], "a single statement");
  t.same(told("{"), [["the policy is not a JSON object, or nested too deeply", false]]);
  t.same(told("[]"), [["the policy is not a JSON object, or nested too deeply", false]]);
  t.same(told(" ".repeat(20_000) + policy(STATEMENT)), [["the policy has more than 16384 characters", false]]);
  const deep = `${"[".repeat(4000)}${"]".repeat(4000)}`;
  t.same(told(`{"Statement": ${deep}}`), [["the policy is not a JSON object, or nested too deeply", false]]);
  t.equal(writtenPolicy(`{"Statement": ${deep}}`, () => "x").length, 8015, "no reader fails on it");
  t.same(told(policy({ ...STATEMENT, effect: "Allow" })), [
    ['Statement 1 of the policy has "effect", which no statement has', true],
  ]);
  t.same(told(JSON.stringify({ statement: [], Statement: [STATEMENT] })), [
    ['the policy has "statement", which no policy has', true],
  ]);
  t.same(told(JSON.stringify({ Version: "2012-10-18", Statement: STATEMENT })), [
    ["the Version of the policy is not 2012-10-17", true],
  ]);
  t.same(told("{}"), [["the policy has no Statement", false]]);
  t.same(told(policy({ ...STATEMENT, Principal: "*" })), [
    ["Statement 1 of the policy has Principal, which STS rejects: the session itself is the principal", true],
  ]);
  t.same(told(policy(STATEMENT, { ...STATEMENT, Effect: "allow" })), [
    ["the Effect of Statement 2 of the policy is neither Allow nor Deny", true],
  ]);
  t.same(told(policy({ ...STATEMENT, Effect: 1 })), [
    ["the Effect of Statement 1 of the policy is neither Allow nor Deny", false],
  ]);
  t.same(told(JSON.stringify({ Statement: ["x"] })), [["Statement 1 of the policy is not an object", false]]);
  t.same(told(policy({ Effect: "Deny" })), [
    ["Statement 1 of the policy must have either Action or NotAction", false],
    ["Statement 1 of the policy must have either Resource or NotResource", false],
  ]);
  const characters = "the policy contains characters that STS does not accept";
  t.same(told(policy({ ...STATEMENT, Sid: "—" })), [[characters, false]]);
  const [principal] = policyFaults(policy({ ...STATEMENT, Principal: "*" }));
  t.same(policyFaults(JSON.stringify(principal?.repaired)), []);
  t.end();
});

test("a name in a template never adds a statement or changes another text", (t) => {
  const text = policy(STATEMENT, { Effect: "Deny", NotAction: ["s3:*", "{kind}"], Resource: "*" });
  assert(property(string({ unit: "binary" }), constantFrom("namespace", "kind"), (name, template) => {
    const written = writtenPolicy(text, (one) => (one === template ? name : null));
    const expected = text.replaceAll(`{${template}}`, () => JSON.stringify(name).slice(1, -1));
    const [one, other] = [parseJSON(written), parseJSON(expected)];
    return isJsonObject(one) && JSON.stringify(one) === JSON.stringify(other);
  }), { numRuns: 10_000 });
  t.equal(writtenPolicy(" ".repeat(20_000), () => "x").length, 20_000, "too long to be parsed");
  t.equal(writtenPolicy("no policy {namespace}", () => "x"), "no policy {namespace}");
  const ofOthers = '{"a":"${namespace} {other} {}"}';
  t.equal(writtenPolicy(ofOthers, () => "x"), ofOthers);
  t.same(policyTemplates(`${text} \${group} {selector}`), ["namespace", "kind", "selector"]);
  t.end();
});

test("reads a list of policies, and names those that the role cannot have", (t) => {
  t.same(readPolicyARNs(` ${OWN}, ${OF_AWS},,${OWN}`), [OWN, OF_AWS].toSorted());
  const told = (...arns: readonly string[]): readonly string[] => policyARNFaults(arns, ROLE);
  t.same(told(OWN, OF_AWS), []);
  t.same(told("x", ROLE), ['"x" is not the ARN of an IAM policy', `"${ROLE}" is not the ARN of an IAM policy`]);
  t.same(told("arn:aws-cn:iam::aws:policy/A"), ['"arn:aws-cn:iam::aws:policy/A" is not in partition aws of the role']);
  t.match(told("arn:aws:iam::444455556666:policy/a"), [/ is not a policy of AWS, and not of account 111122223333 /]);
  t.same(policyARNFaults([OWN], "no role"), [], "another check reports the role");
  t.same(told(...Array.from({ length: 11 }, (_, i) => `${OWN}${i}`)), ["11 ARNs exceed the limit of 10"]);
  t.end();
});

test("STS limits the policy and the ARNs together", (t) => {
  t.equal(policyLengthFault(null, [OWN]), null);
  t.equal(policyLengthFault("x".repeat(2048), []), null);
  t.equal(policyLengthFault("x".repeat(2040), ["x".repeat(9)]),
    "the policy and the ARNs have 2049 characters, and STS accepts 2048");
  t.end();
});
