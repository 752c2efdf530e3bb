import { test } from "tap";
import { runCommand } from "../run-command.ts";

const selector = (name: string, spec: string): string => `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: ${name}}
spec: ${spec}
---
`;
const GOOD = selector("good", '{arn: "arn:aws:iam::111122223333:role/good", namespaceSelector: {names: [good]}}');
const BAD = selector("bad", '{arn: "arn:aws:iam::1:role/bad", namespaceSelector: {names: [Bad]}}');
const BUCKET = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: b, namespace: other}\n";

test("each file is a suite, and each judged object a case that fails if it sets the exit status", async (t) => {
  const dir = t.testdir({ "a.yaml": GOOD + BAD, "b.yaml": BUCKET });
  const argv = ["lint", "-o", "junit", "--check", "IRS-18=off", dir];
  const { status, stdout } = await runCommand(argv);
  t.equal(status, 1);
  t.equal(stdout.replaceAll(dir, "DIR"), `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="ack-role-resolver lint" tests="3" failures="1" errors="0">
  <testsuite name="DIR/a.yaml" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="IAMRoleSelector" name="good" file="DIR/a.yaml" line="1">
    </testcase>
    <testcase classname="IAMRoleSelector" name="bad" file="DIR/a.yaml" line="6">
      <failure type="IRS-03" message="IRS-03 spec.arn: &quot;arn:aws:iam::1:role/bad&quot; is not the ARN of an IAM \
role: its account is &quot;1&quot;, not 12 digits (and 1 more finding)">DIR/a.yaml:9: deny IRS-03 \
IAMRoleSelector bad spec.arn
    &quot;arn:aws:iam::1:role/bad&quot; is not the ARN of an IAM role: its account is &quot;1&quot;, not 12 digits
    fix: write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME
DIR/a.yaml:9: deny IRS-09 IAMRoleSelector bad spec.namespaceSelector.names[0]
    &quot;Bad&quot; is not a valid namespace name: a namespace name must consist of lower-case letters, digits and \
'-', and start and end with a letter or digit
    fix: write &quot;bad&quot;</failure>
    </testcase>
  </testsuite>
  <testsuite name="DIR/b.yaml" tests="1" failures="0" errors="0" skipped="0">
    <testcase classname="Bucket" name="other/b" file="DIR/b.yaml" line="1">
      <system-out>DIR/b.yaml:3: warn ACK-05 Bucket other/b metadata
    No IAMRoleSelector selects the resource, so the controller's own role is used
    fix: label the resource or its namespace so that a selector matches, unless the controller's account is intended\
</system-out>
    </testcase>
  </testsuite>
</testsuites>
`);
  const strict = await runCommand([...argv, "--fail-on", "warn"]);
  t.match(strict.stdout, /<testcase classname="Bucket" name="other\/b" .*>\n +<failure type="ACK-05" /);
});

test("what cannot be read is an error", async (t) => {
  const { status, stdout } = await runCommand(["lint", "-o", "junit", "-"], { stdin: `${GOOD}}` });
  t.equal(status, 2);
  t.match(stdout, /<testsuites .* tests="1" failures="0" errors="1">\n {2}<testsuite name="-" tests="1" /);
  t.match(stdout, /<testcase classname="input" name="-:6">\n +<error type="ERR_INPUT_UNREADABLE" message="-:6: /);
});

test("audit reports conflicts as failures of their resources", async (t) => {
  const stdin = GOOD + GOOD.replaceAll("good}", "more}") + BUCKET.replace("other", "good");
  const { status, stdout } = await runCommand(["audit", "-o", "junit", "-"], { stdin });
  t.equal(status, 1);
  t.match(stdout, /<testcase classname="Bucket" name="good\/b">\n +<failure type="ACK-03" message="ACK-03 metadata: /);
});
