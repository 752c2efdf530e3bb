import { CATALOGUE } from "../../../shared/judges.ts";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Ajv } from "ajv";
import { test } from "tap";
import { runCommand } from "../run-command.ts";
import { STATE } from "../state.ts";
import { SCHEMA } from "./sarif-schema.ts";

interface Result {
  readonly ruleId: string;
  readonly ruleIndex: number;
  readonly suppressions?: unknown;
  readonly fixes?: readonly Fix[];
  readonly locations: readonly [
    { readonly physicalLocation?: { readonly artifactLocation: { readonly uri: string } } },
  ];
}

interface Fix {
  readonly description: { readonly text: string };
  readonly artifactChanges: readonly {
    readonly artifactLocation: { readonly uri: string };
    readonly replacements: readonly {
      readonly deletedRegion: Readonly<Record<"startLine" | "startColumn" | "endLine" | "endColumn", number>>;
      readonly insertedContent?: { readonly text: string };
    }[];
  }[];
}

interface Run {
  readonly results: readonly Result[];
  readonly tool: {
    readonly driver: {
      readonly rules: readonly {
        readonly id: string;
        readonly help: { readonly text: string };
        readonly defaultConfiguration: object;
      }[];
    };
  };
  readonly invocations: readonly object[];
}

const validate = new Ajv({ allErrors: true, formats: { uri: /^https?:/ } }).compile<{ readonly runs: readonly [Run] }>(
  SCHEMA,
);

const BAD = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec:
  arn: arn:aws:iam::111122223333:user/jane
  namespaceSelector: {names: [team-a]}
`;
const WAIVED = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: all, annotations: {ack-role-resolver.io/allow: IRS-15}}
spec: {arn: "arn:aws:iam::111122223333:role/all"}
`;

async function sarif(argv: readonly string[], stdin = ""): Promise<{ readonly status: number; readonly run: Run }> {
  const { status, stdout } = await runCommand(["lint", "-o", "sarif", ...argv], { stdin });
  const log: unknown = JSON.parse(stdout);
  if (!validate(log)) throw new Error(JSON.stringify(validate.errors));
  return { status, run: log.runs[0] };
}

test("reports each finding as a result that has the file position and the object name", async (t) => {
  const dir = t.testdir({ "team a.yaml": BAD });
  const { status, run } = await sarif([dir]);
  t.equal(status, 1);
  t.strictSame(
    run.results.find(({ ruleId }) => ruleId === "IRS-03"),
    {
      ruleId: "IRS-03",
      ruleIndex: CATALOGUE.findIndex(({ id }) => id === "IRS-03"),
      level: "error",
      message: {
        text:
          '"arn:aws:iam::111122223333:user/jane" is not the ARN of an IAM role: its resource is "user/jane", ' +
          "not role/NAME. Fix: write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.",
      },
      suppressions: [],
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: pathToFileURL(path.join(dir, "team a.yaml")).href },
            region: { startLine: 5 },
          },
          logicalLocations: [
            { name: "spec.arn", fullyQualifiedName: "IAMRoleSelector/team-a:spec.arn", kind: "member" },
          ],
        },
      ],
    },
  );
});

test("reports relative paths as encoded relative URIs, and reports no file for standard input", async (t) => {
  const dir = t.testdir({ "team a.yaml": BAD });
  const relative = path.relative(process.cwd(), dir);
  const uris = (await sarif([`./${relative}`])).run.results.map(
    ({ locations }) => locations[0].physicalLocation?.artifactLocation.uri,
  );
  t.equal(uris[0], `${relative}/team%20a.yaml`);
  const { run } = await sarif(["-"], BAD);
  t.strictSame(Object.keys(run.results[0]?.locations[0] ?? {}), ["logicalLocations"]);
});

test("describes every check as a rule that has help and a severity", async (t) => {
  const { status, run } = await sarif(["-"], BAD.replace("user/jane", "role/jane"));
  t.equal(status, 0);
  t.same(run.results, []);
  const { rules } = run.tool.driver;
  t.same(rules.map(({ id }) => id), CATALOGUE.map(({ id }) => id));
  for (const [i, { reason, fix, example, severity }] of CATALOGUE.entries()) {
    t.equal(rules[i]?.help.text, `${reason} Fix: ${fix}.\n\n${example}`);
    t.same(
      rules[i]?.defaultConfiguration,
      severity === "off" ? { enabled: false } : { level: severity === "deny" ? "error" : "warning" },
    );
  }
});

test("suppresses a result only if the finding is waived", async (t) => {
  const { status, run } = await sarif(["-"], WAIVED);
  t.equal(status, 0);
  const waived = run.results.find(({ ruleId }) => ruleId === "IRS-15");
  t.match(waived, {
    level: "warning",
    suppressions: [{ kind: "inSource", justification: "waived by the annotation ack-role-resolver.io/allow" }],
  });
  t.same((await sarif(["-"], BAD)).run.results[0]?.suppressions, []);
});

test("reports an unreadable file as a notification and the run as unsuccessful", async (t) => {
  const dir = t.testdir({ "a.yaml": BAD, "b.json": "{" });
  const { status, run } = await sarif([dir]);
  t.equal(status, 2);
  const uri = pathToFileURL(path.join(dir, "b.json")).href;
  const physicalLocation = { artifactLocation: { uri }, region: { startLine: 1 } };
  const notification = { level: "error", message: { text: /b\.json:1: / }, locations: [{ physicalLocation }] };
  t.match(run.invocations, [{ executionSuccessful: false, toolExecutionNotifications: [notification] }]);
  t.ok(run.results.length > 0, "the readable files are checked");
  const invalid = await sarif(["-"], "{");
  t.match(invalid.run.invocations, [{ toolExecutionNotifications: [{ message: { text: /^-:1: / } }] }]);
  t.notMatch(invalid.run.invocations, [{ toolExecutionNotifications: [{ locations: [] }] }], "stdin has no location");
  t.match((await sarif(["-"], BAD)).run.invocations, [{ executionSuccessful: true, toolExecutionNotifications: [] }]);
});

test("audit reports its findings as results of the same rules", async (t) => {
  const { status, stdout } = await runCommand(["audit", "-", "-o", "sarif"], { stdin: STATE });
  t.equal(status, 1);
  const log: unknown = JSON.parse(stdout);
  if (!validate(log)) throw new Error(JSON.stringify(validate.errors));
  const [{ results, tool: { driver } }] = log.runs;
  t.same(results.map(({ ruleId }) => ruleId), ["IRS-02", "ACK-03", "ACK-05", "ACK-02", "IRS-17", "IRS-17"]);
  for (const { ruleId, ruleIndex } of results) t.equal(driver.rules[ruleIndex]?.id, ruleId);
});

/** Returns the text after a fix, as a viewer applies it. */
function applied(text: string, { artifactChanges }: Fix): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const offset = (line: number, column: number): number => lines.slice(0, line - 1).join("").length + column - 1;
  return (artifactChanges[0]?.replacements ?? []).toReversed().reduce((result, { deletedRegion, insertedContent }) => {
    const { startLine, startColumn, endLine, endColumn } = deletedRegion;
    const [start, end] = [offset(startLine, startColumn), offset(endLine, endColumn)];
    return result.slice(0, start) + (insertedContent?.text ?? "") + result.slice(end);
  }, text);
}

test("reports the repairs of each finding as fixes of its file", async (t) => {
  const text = BAD.replace("user/jane", "role/jane")
    .replace("{names: [team-a]}", "\n    names:\n    - team-a # a\n    - team-a # again");
  const dir = t.testdir({ "a.yaml": text, "b.yaml": BAD.replace("team-a", "team-b") });
  const { run: { results } } = await sarif([dir]);
  const [fix, ...others] = results.find(({ ruleId }) => ruleId === "IRS-08")?.fixes ?? [];
  t.same(others, []);
  t.match(fix, {
    description: { text: "remove this entry" },
    artifactChanges: [{ artifactLocation: { uri: pathToFileURL(path.join(dir, "a.yaml")).href } }],
  });
  t.equal(fix && applied(text, fix), text.replace("    - team-a # again\n", ""));
  t.equal(results.find(({ ruleId }) => ruleId === "IRS-03")?.fixes, undefined, "only a person knows the role");
  const last = text.trimEnd();
  const unended = await sarif([t.testdir({ "c.yaml": last })]);
  const fixAtEnd = unended.run.results.find(({ ruleId }) => ruleId === "IRS-08")?.fixes?.[0];
  t.equal(fixAtEnd && applied(last, fixAtEnd), last.replace("\n    - team-a # again", ""));
  const { run } = await sarif(["-"], text);
  t.same(run.results.flatMap(({ fixes: own = [] }) => own), [], "standard input has no file");
});
