import path from "node:path";
import { test } from "tap";
import { annotations, type SARIFLog } from "../../action/annotations.ts";
import { runCommand } from "../cli/run-command.ts";

const VALID = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec: {arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: {names: [team-a]}}
`;

async function annotationsOf(files: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await runCommand(["lint", "-o", "sarif", ...files]);
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the type of the output of lint
  const log: SARIFLog = JSON.parse(stdout);
  return annotations(log);
}

test("returns one command with file, line and check for each finding", async (t) => {
  const folder = t.testdir({ "a, b: 100%.yaml": VALID.replace("111122223333", "11112222333") });
  const file = path.relative(process.cwd(), path.join(folder, "a, b: 100%.yaml"));
  const [command = "", ...others] = await annotationsOf([file]);
  t.same(others, []);
  const escaped = file.replace("%", "%25").replace(":", "%3A").replace(",", "%2C");
  t.equal(command.slice(0, command.indexOf("::", 2)), `::error file=${escaped},line=4,title=IRS-03`);
  t.match(command, /::"arn:aws:iam::11112222333:role\/team-a" is not the ARN of an IAM role: .* Fix: /);
});

test("returns absolute paths for absolute file URLs", async (t) => {
  const folder = t.testdir({ "a b.yaml": VALID.replace("111122223333", "1") });
  const file = path.join(folder, "a b.yaml");
  t.match(await annotationsOf([file]), [new RegExp(`^::error file=${file},line=4,`)]);
});

test("returns a command without a file for each input error", async (t) => {
  const folder = t.testdir({ "a.yaml": "a: [\n" });
  const [command = "", ...others] = await annotationsOf([folder]);
  t.same(others, []);
  t.match(command, /^::error::.*a\.yaml/);
});

test("omits waived findings, and never starts a second command", (t) => {
  const result = { ruleId: "IRS-01", level: "warning", locations: [] };
  const results = [
    { ...result, message: { text: "one\r\n::error::two, 100%: three ##[stop-commands]x" }, suppressions: [] },
    { ...result, message: { text: "waived" }, suppressions: [{}] },
  ];
  t.same(annotations({ runs: [{ invocations: [], results }] }), [
    "::warning title=IRS-01::one%0D%0A:\\u003aerror::two, 100%25: three #\\u0023[stop-commands]x",
  ]);
  t.end();
});
