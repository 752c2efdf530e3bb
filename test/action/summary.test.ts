import { test } from "tap";
import type { SARIFLog } from "../../action/annotations.ts";
import { mapArguments } from "../../action/map-arguments.ts";
import { summary } from "../../action/summary.ts";
import { runCommand } from "../cli/run-command.ts";

const BAD = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: "team|a \`b\`"}
spec: {arn: "arn:aws:iam::1:role/a", namespaceSelector: {names: [team-a]}}
`;

async function summaryOf(...args: readonly string[]): Promise<string> {
  const { stdout } = await runCommand(["lint", "-o", "sarif", ...args]);
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the type of the output of lint
  const log: SARIFLog = JSON.parse(stdout);
  return summary(log);
}

test("counts the findings and lists denials first, each text as a code span", async (t) => {
  const waived = BAD.replace(/metadata.*/, "metadata: {name: all, annotations: {ack-role-resolver.io/allow: IRS-15}}")
    .replace("::1:", "::111122223333:").replace(/, namespaceSelector.*/, "}");
  const folder = t.testdir({ "a b.yaml": BAD, "c.yaml": waived });
  const text = await summaryOf(folder);
  t.match(text, /^\*\*IAM roles: \d denied, \d warned, 1 waived\*\*\n\n\| {2}\| check \| place \| finding \|\n\| --- /);
  t.match(text, `| **deny** | IRS-03 | \`${folder}/a b.yaml:4\` | \`"arn:aws:iam::1:role/a" is not the ARN of an IAM`);
  t.match(text, String.raw`team\u007ca \u0060b\u0060`);
  t.notMatch(text, "IRS-15");
});

test("states that nothing is wrong, or that input is unreadable", async (t) => {
  const good = BAD.replace("::1:", "::111122223333:").replace(/"team.*"/, "a");
  t.equal(await summaryOf(t.testdir({ "a.yaml": good })), "**IAM roles: 0 denied, 0 warned, 0 waived**\n");
  const text = await summaryOf(t.testdir({ "a.yaml": "a: [\n" }));
  t.match(text, /waived, 1 input error, so the result is incomplete\*\*\n/);
  t.match(text, /\| error \| {2}\| {2}\| `.*a\.yaml:\d: invalid YAML/);
});

test("fits into the limit of GitHub", (t) => {
  const message = { text: "x".repeat(900) };
  const results = Array.from({ length: 2_000 }, () => (
    { ruleId: "IRS-03", level: "error", message, locations: [], suppressions: [] }
  ));
  const text = summary({ runs: [{ invocations: [], results }] });
  t.ok(Buffer.byteLength(text) < 1024 * 1024);
  t.match(text, /\nand \d+ more findings\n$/);
  t.end();
});

test("the role map gets the arguments that it has too", (t) => {
  const all = ["--fix", "--dry-run", "--fail-on=warn", "--check=IRS-18=off", "--complete", "--no-webhook"];
  t.same(mapArguments(all), ["--fail-on=warn", "--check=IRS-18=off", "--complete"]);
  t.end();
});
