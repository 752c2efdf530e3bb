import path from "node:path";
import { pathToFileURL } from "node:url";
import { CATALOGUE } from "../shared/decisions/checks/catalogue.ts";
import type { CheckEntry } from "../shared/decisions/checks/check.ts";
import { formatInputFault, type InputFault } from "../shared/inventory/manifests/reader.ts";
import { VERSION } from "../shared/server/version.ts";
import type { LocatedFinding } from "./located-finding.ts";

const LEVELS = { deny: "error", warn: "warning" } as const;

/** Findings as a SARIF 2.1.0 log (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), with every check of the catalogue as a rule. */
export function sarifLog(findings: readonly LocatedFinding[], faults: readonly InputFault[]): object {
  return {
    $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
    version: "2.1.0",
    runs: [{
      tool: { driver: { name: "ack-role-resolver", version: VERSION, rules: CATALOGUE.map(rule) } },
      columnKind: "utf16CodeUnits",
      invocations: [{ executionSuccessful: faults.length === 0, toolExecutionNotifications: faults.map((fault) => ({ level: "error", message: { text: formatInputFault(fault) } })) }],
      results: findings.map(result),
    }],
  };
}

function rule({ id, severity, reason, fix, example }: CheckEntry): object {
  const help = `${reason} Fix: ${fix}.`;
  return {
    id,
    shortDescription: { text: reason },
    help: { text: `${help}\n\n${example}`, markdown: `${help}\n\n\`\`\`yaml\n${example}\n\`\`\`` },
    defaultConfiguration: severity === "off" ? { enabled: false } : { level: LEVELS[severity] },
  };
}

const RULE_INDEX: ReadonlyMap<string, number> = new Map(CATALOGUE.map(({ id }, index) => [id, index]));

function result(finding: LocatedFinding): object {
  const { code, severity, message, fix, waived } = finding;
  return {
    ruleId: code,
    ruleIndex: RULE_INDEX.get(code),
    level: LEVELS[severity],
    message: { text: `${message}. Fix: ${fix}.` },
    locations: [location(finding)],
    // An empty list would say that all of a run's results were looked at for suppressions, and this one has none.
    ...(waived ? { suppressions: [{ kind: "inSource", justification: "the annotation ack-role-resolver.io/allow waives it" }] } : {}),
  };
}

/** The place in the file, and the field of the object. Standard input and a cluster have no file. */
function location({ file, line, kind, namespace, name, path: field }: LocatedFinding): object {
  const object = [kind, namespace, name].filter((part) => part !== null).join("/");
  const logicalLocations = [{ name: field, fullyQualifiedName: `${object}:${field}`, kind: "member" }];
  if (file === null || file === "-") return { logicalLocations };
  const region = line === null ? {} : { region: { startLine: line } };
  return { physicalLocation: { artifactLocation: { uri: uriOf(file) }, ...region }, logicalLocations };
}

/** Relative paths stay relative, since those who show SARIF resolve them against the repository. */
function uriOf(file: string): string {
  if (path.isAbsolute(file)) return pathToFileURL(file).href;
  return path.posix.normalize(file).split("/").map(encodeURIComponent).join("/");
}
