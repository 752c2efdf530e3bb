import path from "node:path";
import { pathToFileURL } from "node:url";
import { isChecked } from "../shared/checks/by-kind.ts";
import { CATALOGUE } from "../shared/checks/catalogue.ts";
import type { CheckEntry } from "../shared/checks/check.ts";
import { type CheckResult, runChecks } from "../shared/checks/run.ts";
import { decisionSettings, type DecisionSettings } from "../shared/contract/context.ts";
import { compareText } from "../shared/formats/text.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { STDIN } from "../shared/files/listing.ts";
import { formatInputFault, type InputFault } from "../shared/files/manifest-reader.ts";
import { unjudgedText } from "../shared/files/unjudged.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { VERSION } from "../shared/contract/installation.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "./io.ts";
import { countBySeverity, foldedLines, isFailing, locate, type LocatedFinding } from "./output/located-finding.ts";
import { mergeRoots } from "./output/by-root.ts";
import { type Coverage, coverageOf, isIncomplete, writeCoverage } from "./output/coverage.ts";
import { mapWithProgress } from "./output/progress.ts";
import { CHECK_FIELDS, Only } from "./input/only.ts";
import {
  byCode, readStates, reportFaults, type State, type StateObject, type States, unreadMaps,
} from "./input/state.ts";
import { type Template, templateChecker, templatesIn } from "./input/templates.ts";
import { skippedLines } from "./output/skipped-checks.ts";
import { painter } from "./output/terminal.ts";

/** The result of `lint`, in the format of `-o json`. */
interface LintResult {
  /** The number of checked objects and templates. Objects of other kinds have no checks and are not counted. */
  readonly checked: number;
  readonly findings: readonly LocatedFinding[];
  readonly notApplied: CheckResult["skipped"];
  /** The unreadable files and objects, which were not checked. If the list is not empty, the exit status is 2. */
  readonly inputErrors: readonly InputFault[];
  readonly skippedFiles: State["skippedFiles"];
  readonly coverage: Coverage;
}

/** Prints the findings for every readable object. Returns exit status 2 if any input is unreadable. */
export async function runLint(settings: SettingsFor<"lint">, io: IO): Promise<ExitStatus> {
  const only = new Only(settings, CHECK_FIELDS);
  const states = await readStates(settings, io, { stdinCommand: "lint -", inAllNamespaces: true });
  const result = lintAll(states, only, settings, io);
  if (settings.output === "text") printText(result, settings.logLevel === "debug", io);
  else {
    writeJSON(io, settings.output === "json" ? result : sarifLog(result));
    writeCoverage(result.coverage, io);
  }
  const [{ faults }] = states;
  reportFaults(faults, io);
  if (faults.length > 0) return EXIT.usage;
  const isFailed = isFailing(result.findings, settings.failOn) || isIncomplete(result.coverage, settings.failOn);
  return isFailed ? EXIT.findings : EXIT.fine;
}

function lintAll(states: States, only: Only, settings: SettingsFor<"lint">, io: IO): LintResult {
  const [{ faults, skippedFiles, unjudged }] = states;
  writeLines(io.stderr, only.noObjectLines(states));
  const results = states.map((state) => lint(state, only.objectsOf(state), decisionSettings(settings), io));
  const skipped = new Map(results.flatMap((one) => one.skipped.map((check) => [check.code, check] as const)));
  const checked = new Set(results.flatMap((one) => one.checked)).size;
  const findings = mergeRoots(results.map(({ root, findings: items }) => ({ root, items })));
  return {
    checked,
    findings: states.length === 1 ? findings : findings.toSorted(byFile),
    notApplied: byCode([...skipped.values()]),
    inputErrors: faults.map(({ file, line, message }) => ({ file, line, message })),
    skippedFiles,
    coverage: coverageOf(checked, unjudged),
  };
}

interface RootResult extends Pick<State, "root"> {
  /** The objects and templates. Objects outside all roots are the same in each root. */
  readonly checked: readonly JsonObject[];
  readonly findings: readonly LocatedFinding[];
  readonly skipped: CheckResult["skipped"];
}

/**
 * Checks each of the objects as if a user created it in a cluster that contains all other objects of the state, and
 * each template in them.
 */
function lint(state: State, objects: readonly StateObject[], decisions: DecisionSettings, io: IO): RootResult {
  const { inventory, origin, root } = state;
  const checkTemplate = templateChecker(state, decisions);
  const checked: readonly Checked[] = [
    ...objects.filter(({ object }) => isChecked(object, inventory)).map((found) => ({ found, template: null })),
    ...templatesIn({ objects, inventory }).map((template) => ({ found: template.container, template })),
  ].toSorted((a, b) => byFile(a.found, b.found));
  const results = mapWithProgress(checked, io, "objects checked", ({ found, template }) => {
    if (template !== null) return { found, findings: checkTemplate(template), skipped: [] };
    const input = { object: found.object, old: null, requester: null, origin, inventory };
    return { found, ...runChecks(input, decisions) };
  });
  return {
    root,
    checked: checked.map(({ found, template }) => (template ?? found).object),
    findings: results.flatMap(({ found, findings }) => findings.map((finding) => locate(finding, found))),
    skipped: [...results.flatMap(({ skipped }) => skipped), ...unreadMaps(state, decisions)],
  };
}

/** An object, or a template in it. */
interface Checked {
  readonly found: StateObject;
  readonly template: Template | null;
}

/** Compares objects by file. The sort is stable, so the objects of a file stay in order, before its templates. */
function byFile(a: Pick<StateObject, "file">, b: Pick<StateObject, "file">): number {
  return compareText(a.file ?? "", b.file ?? "");
}

function printText({ checked, findings, notApplied, coverage }: LintResult, isComplete: boolean, io: IO): void {
  const paint = painter(io.stdout, io.environment);
  const { denied, warned } = countBySeverity(findings);
  writeLines(io.stderr, skippedLines(notApplied, painter(io.stderr, io.environment)));
  writeLines(io.stdout, [
    ...foldedLines(findings, isComplete, paint),
    `${checked} checked, ${denied} denied, ${warned} warned, ${unjudgedText(coverage.reasons)}`,
  ]);
}

const SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";
const SARIF_LEVELS = { deny: "error", warn: "warning" } as const;
const RULE_INDEX: ReadonlyMap<string, number> = new Map(CATALOGUE.map(({ id }, index) => [id, index]));

/**
 * Returns the findings as a SARIF 2.1.0 log, in which each check is a rule.
 * Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
 */
function sarifLog({ findings, inputErrors }: LintResult): object {
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
    message: { text: formatInputFault(fault) },
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

const SUPPRESSION = { kind: "inSource", justification: "waived by the annotation ack-role-resolver.io/allow" };

function sarifResult(finding: LocatedFinding): object {
  const { code, severity, message, fix, waived, root } = finding;
  return {
    ruleId: code,
    ruleIndex: RULE_INDEX.get(code),
    level: SARIF_LEVELS[severity],
    message: { text: `${message}. Fix: ${fix}.` },
    locations: [sarifLocation(finding)],
    // SARIF requires a list in every result of the run if one result has a list.
    suppressions: waived ? [SUPPRESSION] : [],
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
