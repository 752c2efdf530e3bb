import { test } from "tap";
import { runCommand } from "../run-command.ts";
import { junitFaults } from "./junit-schema.ts";

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
  <testsuite name="DIR/a.yaml" tests="2" failures="1" errors="0" skipped="0" file="DIR/a.yaml">
    <testcase classname="IAMRoleSelector" name="good">
    </testcase>
    <testcase classname="IAMRoleSelector" name="bad">
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
  <testsuite name="DIR/b.yaml" tests="1" failures="0" errors="0" skipped="0" file="DIR/b.yaml">
    <testcase classname="Bucket" name="other/b">
      <system-out>DIR/b.yaml:3: warn ACK-05 Bucket other/b metadata
    No IAMRoleSelector selects the resource, so the controller's own role is used
    fix: label the resource or its namespace so that a selector matches, unless the controller's account is intended\
</system-out>
    </testcase>
  </testsuite>
</testsuites>
`);
  const strict = await runCommand([...argv, "--fail-on", "warn"]);
  t.match(strict.stdout, /<testcase classname="Bucket" name="other\/b">\n +<failure type="ACK-05" /);
});

test("what cannot be read is an error", async (t) => {
  const { status, stdout } = await runCommand(["lint", "-o", "junit", "-"], { stdin: `${GOOD}}` });
  t.equal(status, 2);
  t.match(stdout, /<testsuites .* tests="1" failures="0" errors="1">\n {2}<testsuite name="-" tests="1" /);
  t.notMatch(stdout, / file="/);
  t.match(stdout, /<testcase classname="input" name="-:6">\n +<error type="ERR_INPUT_UNREADABLE" message="-:6: /);
});

test("audit reports conflicts as failures of their resources", async (t) => {
  const stdin = GOOD + GOOD.replaceAll("good}", "more}") + BUCKET.replace("other", "good");
  const { status, stdout } = await runCommand(["audit", "-o", "junit", "-"], { stdin });
  t.equal(status, 1);
  t.match(stdout, /<testcase classname="Bucket" name="good\/b">\n +<failure type="ACK-03" message="ACK-03 metadata: /);
});

test("reports have only what the schema of Jenkins allows", async (t) => {
  const dir = t.testdir({ "a&b.yaml": GOOD + BAD, "b.yaml": BUCKET, "broken.yaml": `${GOOD}}` });
  for (const argv of [["lint", dir], ["lint", "-"], ["lint", "--fail-on", "warn", dir], ["audit", `${dir}/a&b.yaml`]]) {
    const { stdout } = await runCommand([...argv, "-o", "junit"], { stdin: BAD });
    t.match(stdout, /<testcase /, argv.join(" "));
    t.same(junitFaults(stdout), [], argv.join(" "));
  }
});

test("the restated schema of Jenkins finds what its schema does not allow", (t) => {
  const suite = '<testsuite name="a" tests="1" failures="0" errors="0" skipped="0">';
  t.same(junitFaults(`<testsuites>${suite}<testcase name="b" file="c" line="1"></testcase></testsuite></testsuites>`), [
    "<testcase>: attribute file", "<testcase>: attribute line",
  ]);
  t.same(junitFaults('<testsuites skipped="0"><testcase classname="a"></testcase></testsuites>'), [
    "<testsuites>: attribute skipped", "<testcase> in <testsuites>", "<testcase>: name is missing",
  ]);
  t.same(junitFaults('<testsuites><testsuite name="a" tests="0" time="fast">text</testsuite></testsuites>'), [
    "<testsuite>: failures is missing", "<testsuite>: errors is missing", '<testsuite>: time="fast"',
    "text in <testsuite>",
  ]);
  t.same(junitFaults("<suite></suite>"), ["<suite> is not defined"]);
  t.same(junitFaults("<testsuites><"), ["not well-formed"]);
  t.end();
});
