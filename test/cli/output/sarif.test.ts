import { CATALOGUE } from "../../../shared/judges.ts";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Ajv } from "ajv";
import { test } from "tap";
import { runCommand } from "../run-command.ts";
import { STATE } from "../state.ts";

const text = {
  type: "object",
  required: ["text"],
  properties: { text: { type: "string", minLength: 1 }, markdown: { type: "string" } },
  additionalProperties: false,
};
const level = { enum: ["none", "note", "warning", "error"] };
const location = {
  type: "object",
  additionalProperties: false,
  properties: {
    physicalLocation: {
      type: "object",
      required: ["artifactLocation"],
      additionalProperties: false,
      properties: {
        artifactLocation: {
          type: "object",
          required: ["uri"],
          properties: { uri: { type: "string", pattern: "^[^\\s\\\\]+$" } },
          additionalProperties: false,
        },
        region: {
          type: "object",
          properties: { startLine: { type: "integer", minimum: 1 } },
          additionalProperties: false,
        },
      },
    },
    logicalLocations: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          fullyQualifiedName: { type: "string" },
          kind: { type: "string" },
        },
        additionalProperties: false,
      },
    },
  },
};
/**
 * The part of the published SARIF schema that covers the output of lint and audit. Checks names, required fields,
 * types and limits, and allows no unknown field. Source:
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json
 */
const SCHEMA = {
  type: "object",
  required: ["version", "runs"],
  additionalProperties: false,
  properties: {
    $schema: { type: "string", format: "uri" },
    version: { enum: ["2.1.0"] },
    runs: {
      type: "array",
      minItems: 0,
      items: {
        type: "object",
        required: ["tool"],
        additionalProperties: false,
        properties: {
          columnKind: { enum: ["utf16CodeUnits", "unicodeCodePoints"] },
          tool: {
            type: "object",
            required: ["driver"],
            additionalProperties: false,
            properties: {
              driver: {
                type: "object",
                required: ["name"],
                additionalProperties: false,
                properties: {
                  name: { type: "string" },
                  version: { type: "string" },
                  rules: {
                    type: "array",
                    uniqueItems: true,
                    items: {
                      type: "object",
                      required: ["id"],
                      additionalProperties: false,
                      properties: {
                        id: { type: "string" },
                        shortDescription: text,
                        help: text,
                        defaultConfiguration: {
                          type: "object",
                          properties: { enabled: { type: "boolean" }, level },
                          additionalProperties: false,
                        },
                      },
                    },
                  },
                },
              },
            },
          },
          invocations: {
            type: "array",
            items: {
              type: "object",
              required: ["executionSuccessful"],
              additionalProperties: false,
              properties: {
                executionSuccessful: { type: "boolean" },
                toolExecutionNotifications: {
                  type: "array",
                  items: {
                    type: "object",
                    required: ["message"],
                    properties: { level, message: text, locations: { type: "array", items: location } },
                    additionalProperties: false,
                  },
                },
              },
            },
          },
          results: {
            type: "array",
            items: {
              type: "object",
              required: ["message"],
              additionalProperties: false,
              properties: {
                ruleId: { type: "string" },
                ruleIndex: { type: "integer", minimum: -1 },
                level,
                message: text,
                suppressions: {
                  type: "array",
                  uniqueItems: true,
                  items: {
                    type: "object",
                    required: ["kind"],
                    properties: { kind: { enum: ["inSource", "external"] }, justification: { type: "string" } },
                    additionalProperties: false,
                  },
                },
                locations: { type: "array", items: location },
              },
            },
          },
        },
      },
    },
  },
};
interface Result {
  readonly ruleId: string;
  readonly ruleIndex: number;
  readonly suppressions?: unknown;
  readonly locations: readonly [
    { readonly physicalLocation?: { readonly artifactLocation: { readonly uri: string } } },
  ];
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
