import { CATALOGUE } from "../../shared/judges.ts";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { CheckEntry } from "../../shared/core/check.ts";
import { VERSION } from "../../shared/core/installation.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { formatInputFault, type InputFault } from "../../shared/files/manifest-reader.ts";
import type { LocatedFinding } from "./located-finding.ts";
import type { SarifFix } from "./sarif-fixes.ts";

const SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";
const SARIF_LEVELS = { deny: "error", warn: "warning" } as const;
const RULE_INDEX: ReadonlyMap<string, number> = new Map(CATALOGUE.map(({ id }, index) => [id, index]));

interface SarifInput {
  readonly findings: readonly LocatedFinding[];
  /** What could not be read, and so was not judged. */
  readonly inputErrors: readonly InputFault[];
}

/**
 * Returns the findings as a SARIF 2.1.0 log, in which each check is a rule.
 * Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
 */
export function sarifLog({ findings, inputErrors }: SarifInput): object {
  return {
    $schema: SARIF_SCHEMA,
    version: "2.1.0",
    runs: [{
      tool: { driver: { name: "ack-role-resolver", version: VERSION, rules: CATALOGUE.map(sarifRule) } },
      columnKind: "utf16CodeUnits",
      invocations: [sarifInvocation(inputErrors)],
      results: findings.map(sarifResult),
    }],
  };
}

function sarifInvocation(faults: readonly InputFault[]): object {
  return { executionSuccessful: faults.length === 0, toolExecutionNotifications: faults.map(sarifNotification) };
}

function sarifNotification(fault: InputFault): object {
  const physicalLocation = sarifPlace(fault);
  return {
    level: "error",
    message: { text: withoutLinks(formatInputFault(fault)) },
    ...(physicalLocation === null ? {} : { locations: [{ physicalLocation }] }),
  };
}

function sarifRule({ id, severity, reason, fix, example }: CheckEntry): object {
  const help = `${reason} Fix: ${fix}.`;
  return {
    id,
    shortDescription: { text: reason },
    help: { text: `${help}\n\n${example}`, markdown: `${help}\n\n\`\`\`yaml\n${example}\n\`\`\`` },
    defaultConfiguration: severity === "off" ? { enabled: false } : { level: SARIF_LEVELS[severity] },
  };
}

function shownFix({ text, changes }: SarifFix): object {
  const artifactChanges = changes.map(({ file, replacements }) => (
    { artifactLocation: { uri: uriOf(file) }, replacements }
  ));
  return { description: { text: withoutLinks(text) }, artifactChanges };
}

/**
 * Escapes a text that contains a link `[text](url)`, which viewers would show as a link: SARIF 2.1.0, section 3.11.6.
 */
function withoutLinks(text: string): string {
  return text.includes("](") ? text.replaceAll(/[\\[\]]/g, String.raw`\$&`) : text;
}

const SUPPRESSION = { kind: "inSource", justification: "waived by the annotation ack-role-resolver.io/allow" };

function sarifResult(finding: LocatedFinding): object {
  const { code, severity, message, fix, waived, root, fixes = [] } = finding;
  return {
    ruleId: code,
    ruleIndex: RULE_INDEX.get(code),
    level: SARIF_LEVELS[severity],
    message: { text: withoutLinks(`${message}. Fix: ${fix}.`) },
    locations: [sarifLocation(finding)],
    // SARIF requires a list in every result of the run if one result has a list.
    suppressions: waived ? [SUPPRESSION] : [],
    ...(fixes.length > 0 && { fixes: fixes.map(shownFix) }),
    ...(root !== undefined && { properties: { root } }),
  };
}

/** Returns the SARIF location of the field. If the input is standard input or a cluster, the location has no file. */
function sarifLocation({ file, line, kind, namespace, name, path: field }: LocatedFinding): object {
  const object = [kind, namespace, name].filter((part) => part !== null).join("/");
  const logicalLocations = [{ name: field, fullyQualifiedName: `${object}:${field}`, kind: "member" }];
  const physicalLocation = sarifPlace({ file, line });
  return physicalLocation === null ? { logicalLocations } : { physicalLocation, logicalLocations };
}

/** Returns the file and line in the format of SARIF. Returns null for standard input and for a cluster. */
function sarifPlace({ file, line }: Pick<LocatedFinding, "file" | "line">): object | null {
  if (file === null || file === STDIN) return null;
  return { artifactLocation: { uri: uriOf(file) }, ...(line !== null && { region: { startLine: line } }) };
}

/** Returns the URI of a file. A relative path stays relative: SARIF viewers resolve the path against the repository. */
function uriOf(file: string): string {
  if (path.isAbsolute(file)) return pathToFileURL(file).href;
  return path.posix.normalize(file).split("/").map(encodeURIComponent).join("/");
}
