import { type Audit, type AuditFinding, auditObjects } from "../shared/checks/audit.ts";
import { isChecked } from "../shared/checks/by-kind.ts";
import { type Section, SECTIONS } from "../shared/checks/check.ts";
import { decisionSettings, type DecisionSettings } from "../shared/contract/context.ts";
import { countOf } from "../shared/formats/text.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "./io.ts";
import {
  countBySeverity, findingLines, isFailing, locate, type LocatedFinding, skippedLines,
} from "./output/located-finding.ts";
import { type Coverage, coverageOf, isIncomplete, writeCoverage } from "./output/coverage.ts";
import { runWithProgress } from "./output/progress.ts";
import { identityName } from "./output/resolution-table.ts";
import { byCode, isUnreadable, readState, type State, unreadMaps } from "./input/state.ts";
import { templateChecker, templatesIn } from "./input/templates.ts";
import { formatTable, type Paint, painter } from "./output/terminal.ts";

/** A finding in the format of `lint -o json`, and the section of the report that contains the finding. */
interface ReportedFinding extends LocatedFinding {
  readonly section: AuditFinding["section"];
}

interface Report {
  readonly summary: Audit["summary"];
  readonly usage: Audit["usage"];
  readonly findings: readonly ReportedFinding[];
  readonly skippedFiles: State["skippedFiles"];
  readonly coverage: Coverage;
}

/** Prints the report of the audit. If any input is unreadable, prints only the faults of the input. */
export async function runAudit(settings: SettingsFor<"audit">, io: IO): Promise<ExitStatus> {
  const state = await readState(settings, io, { stdinCommand: "audit -", inAllNamespaces: true });
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const audit = auditWithProgress(state, settings, io);
  const ofTemplates = templateFindings(state, decisionSettings(settings));
  const findings = [...audit.findings.map((finding) => reportedFinding(finding, state)), ...ofTemplates.flat()];
  const summary = { ...audit.summary, checks: audit.summary.checks + ofTemplates.length };
  const judged = state.objects.filter(({ object }) => isChecked(object, state.inventory)).length;
  const coverage = coverageOf(judged + templatesIn(state).length, state.unjudged);
  const report = { summary, usage: audit.usage, findings, skippedFiles: state.skippedFiles, coverage };
  const skipped = byCode([...audit.skipped, ...unreadMaps(state, decisionSettings(settings))]);
  if (settings.output === "json") printJSON(report, skipped, io);
  else printText(report, skipped, io);
  writeCoverage(coverage, io);
  const isFailed = isFailing(findings, settings.failOn) || isIncomplete(coverage, settings.failOn);
  return isFailed ? EXIT.findings : EXIT.fine;
}

function auditWithProgress({ objects, inventory, origin }: State, settings: SettingsFor<"audit">, io: IO): Audit {
  const input = { objects: objects.map(({ object }) => object), inventory, origin };
  const work = auditObjects(input, decisionSettings(settings));
  return runWithProgress(work, io, (checked) => `${checked} of ${countOf(objects.length, "object")} checked`);
}

/** Returns the findings of each template that has findings. They are in the last section. */
function templateFindings(state: State, settings: DecisionSettings): ReportedFinding[][] {
  const check = templateChecker(state, settings);
  return templatesIn(state).map((template) => (
    check(template).map((finding) => ({ section: "checks" as const, ...locate(finding, template.container) }))
  )).filter((findings) => findings.length > 0);
}

function reportedFinding(finding: AuditFinding, { objects }: State): ReportedFinding {
  const found = objects[finding.index];
  if (found === undefined) throw new Error(`the finding refers to object ${finding.index}, which does not exist`);
  return { section: finding.section, ...locate(finding, found) };
}

function printJSON({ usage, ...report }: Report, notApplied: Audit["skipped"], io: IO): void {
  const { summary, findings, skippedFiles, coverage } = report;
  const { byIdentity, byAccount, omittedIdentities, omittedAccounts } = usage;
  const json = {
    summary: { ...summary, ...countBySeverity(findings) },
    clusterUsage: { byIdentity, byAccount, omittedIdentities, omittedAccounts },
    findings, notApplied, skippedFiles, coverage,
  };
  writeJSON(io, json);
}

function printText(report: Report, skipped: Audit["skipped"], io: IO): void {
  writeLines(io.stdout, reportLines(report, painter(io.stdout, io.environment)));
  writeLines(io.stderr, skippedLines(skipped, painter(io.stderr, io.environment)));
}

/** The singular and the plural of the title of each section. */
const TITLES: Readonly<Record<Section, readonly [one: string, many: string]>> = {
  malformed: ["malformed selector (not effective)", "malformed selectors (not effective)"],
  faulty: ["effective selector that the webhook would deny", "effective selectors that the webhook would deny"],
  conflicts: ["resource in conflict", "resources in conflict"],
  refused: ["resource without a role in the CARM maps", "resources without a role in the CARM maps"],
  drift: [
    "resource whose account or region differs from its resolution",
    "resources whose account or region differs from their resolution",
  ],
  unexpectedAccounts: [
    "selector or resource that uses a forbidden account",
    "selectors and resources that use a forbidden account",
  ],
  onDefault: ["resource that uses the controller's own role", "resources that use the controller's own role"],
  selectingNothing: ["selector that selects no resource", "selectors that select no resource"],
  staleAnnotations: ["object with stale annotations", "objects with stale annotations"],
  unusableIdentities: ["identity that no namespace may use", "identities that no namespace may use"],
  openIdentities: ["identity that every namespace may use", "identities that every namespace may use"],
  missingSources: ["identity whose source does not exist", "identities whose source does not exist"],
  checks: ["object with other findings", "objects with other findings"],
};

/** Returns the lines of the counts, followed by each section that has findings. */
function reportLines({ summary, usage, findings }: Report, paint: Paint): string[] {
  const { objects, selectors, resources, unannotated, identities, clusters } = summary;
  const sections = SECTIONS.flatMap((section) => {
    const own = findings.filter((finding) => finding.section === section);
    if (own.length === 0) return [];
    const title = capitalized(TITLES[section][1]);
    return ["", paint("bold", title), ...own.flatMap((finding) => findingLines(finding, paint))];
  });
  const counts = [countOf(selectors, "selector"), countOf(resources, "resource")];
  if (identities + clusters > 0) {
    counts.push(countOf(identities, "identity"), countOf(clusters, "cluster"));
  }
  return [
    `${countOf(objects, "object")}: ${counts.join(", ")}; ${unannotated} without resolution annotations`,
    ...countLines(summary, paint), ...usageLines(usage, paint), ...sections,
  ];
}

/** The number of identities and of accounts that the text report lists. */
const MAX_USAGE_LINES = 20;

/** Returns the number of clusters for each identity and for each account. Lists those with the most clusters. */
function usageLines(usage: Audit["usage"], paint: Paint): string[] {
  const { byIdentity, byAccount, omittedIdentities, omittedAccounts } = usage;
  const identities = byIdentity.map(({ kind, namespace, name, clusters }) => [
    String(clusters), identityName({ kind, name: namespace === null ? name : `${namespace}/${name}` }),
  ]);
  const accounts = byAccount.map(({ account, clusters }) => [String(clusters), account]);
  return [
    ...usageTable("Clusters by identity", identities, omittedIdentities, paint),
    ...usageTable("Clusters by account", accounts, omittedAccounts, paint),
  ];
}

function usageTable(title: string, rows: readonly string[][], omitted: number, paint: Paint): string[] {
  if (rows.length === 0) return [];
  const more = omitted + Math.max(0, rows.length - MAX_USAGE_LINES);
  const lines = formatTable(rows.slice(0, MAX_USAGE_LINES), { alignment: ["right"] });
  return ["", paint("bold", title), ...lines, ...(more > 0 ? [`and ${more} more`] : [])];
}

/**
 * Returns a line with the count of each section. Lines with a count of 0 are dim, so that the other lines stand out.
 */
function countLines(summary: Audit["summary"], paint: Paint): string[] {
  const counts = SECTIONS.map((section) => {
    const [one, many] = TITLES[section];
    return [String(summary[section]), summary[section] === 1 ? one : many];
  });
  const lines = formatTable(counts, { alignment: ["right"] });
  return lines.map((line, i) => (counts[i]?.[0] === "0" ? paint("dim", line) : line));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
