import { type ReviewedState, reviewRoles, unreadChecks } from "./features.ts";
import { auditWithProgress } from "./input/audited.ts";
import { CHECK_FIELDS, Only } from "./input/only.ts";
import { byCode, isUnreadable, readStates, type State, type StateObject } from "./input/state.ts";
import { countJudged, type Judged, judgedIn, judgedObjects, templateChecker } from "./input/templates.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "./io.ts";
import { mergeRoots, rootTitle } from "./output/by-root.ts";
import { controllerLines, controllersJSON, type ReportedControllers, settlementLines } from "./output/controllers.ts";
import { coverageOf, isIncomplete, writeCoverage } from "./output/coverage.ts";
import { junitReport } from "./output/junit.ts";
import { countBySeverity, foldedLines, isFailing, type LocatedFinding, locator } from "./output/located-finding.ts";
import { identityName } from "./output/resolution-table.ts";
import { sarifLog } from "./output/sarif.ts";
import { skippedLines } from "./output/skipped-checks.ts";
import { formatTable, type Paint, painter } from "./output/terminal.ts";
import { settleSettings } from "../shared/controllers/controller-settings.ts";
import { type Section, SECTIONS } from "../shared/core/check.ts";
import { systemClock } from "../shared/core/clock.ts";
import { tightest } from "../shared/core/closures.ts";
import { decisionSettings, type DecisionSettings } from "../shared/core/context.ts";
import { WEBHOOK } from "../shared/core/installation.ts";
import type { SkippedCheck } from "../shared/core/run.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import type { Audit, AuditFinding } from "../shared/diagnosis/audit.ts";
import { countOf } from "../shared/formats/text.ts";

/** A finding in the format of `lint -o json`, and the section of the report that contains the finding. */
interface ReportedFinding extends LocatedFinding {
  readonly section: AuditFinding["section"];
}

interface Report extends Pick<State, "root"> {
  readonly judged: readonly Judged[];
  readonly summary: Audit["summary"];
  readonly usage: Audit["usage"];
  readonly findings: readonly ReportedFinding[];
  readonly skipped: Audit["skipped"];
  readonly controllers: ReportedControllers;
}

/** Prints the report of the audit. If any input is unreadable, prints only the faults of the input. */
export async function runAudit(settings: SettingsFor<"audit">, io: IO, clock = systemClock): Promise<ExitStatus> {
  const only = new Only(settings, CHECK_FIELDS);
  const options = { stdinCommand: "audit -", inAllNamespaces: true, readsControllers: true, readsSidecars: true };
  const states = await readStates(settings, io, options);
  const [{ faults, skippedFiles, unjudged }] = states;
  if (isUnreadable(faults, io)) return EXIT.usage;
  writeLines(io.stderr, only.noObjectLines(states));
  const reviewed = await reviewRoles(states, settings, io, clock.now());
  const reports = reviewed.states.map((state) => auditRoot(state, only, settings, io));
  const judged = reports.flatMap((report) => report.judged);
  const coverage = coverageOf(countJudged(judged), unjudged);
  const notApplied = new Map(reports.flatMap(({ skipped }) => skipped.map((check) => [check.code, check] as const)));
  const skipped = byCode([...notApplied.values()]);
  const { output, failOn } = settings;
  if (output === "json") writeJSON(io, { ...auditJSON(reports), notApplied: skipped, skippedFiles, coverage });
  else if (output === "text") printText(reports, skipped, settings.logLevel === "debug", io);
  else {
    const result = { findings: allFindings(reports), inputErrors: [] };
    if (output === "sarif") writeJSON(io, sarifLog(result));
    else io.stdout.write(junitReport({ ...result, command: "audit", judged: judgedObjects(judged), failOn }));
    // A Deployment in the input can cause settings with which findings disappear.
    const paint = painter(io.stderr, io.environment);
    writeLines(io.stderr, reports.flatMap(({ controllers }) => settlementLines(controllers, paint)));
  }
  writeCoverage(coverage, io);
  const isFailed = reports.some(({ findings }) => isFailing(findings, failOn));
  return isFailed || isIncomplete(coverage, failOn) ? EXIT.findings : EXIT.fine;
}

function auditRoot(state: ReviewedState, only: Only, settings: SettingsFor<"audit">, io: IO): Report {
  const objects = only.objectsOf(state);
  const controllers = settleSettings(settings, state.controllers);
  const settled = withInstalledProfile(decisionSettings({ ...settings, ...controllers.settings }), state);
  const audit = auditWithProgress(state, objects, settled, io);
  const judged = judgedIn({ objects, inventory: state.inventory });
  const locate = locator(settings.output, state.objects);
  const ofTemplates = templateFindings(judged, templateChecker(state, settled), locate);
  const ofObjects = audit.findings.map((finding) => reportedFinding(finding, objects, locate));
  const findings = [...ofObjects, ...ofTemplates.flat()];
  const summary = { ...audit.summary, checks: audit.summary.checks + ofTemplates.length };
  const skipped = [...audit.skipped, ...unreadChecks(state, settled), ...unreadSidecars(state, settled)];
  return {
    root: state.root, judged, summary, usage: audit.usage, findings, skipped,
    controllers: { ...controllers, deployments: state.controllers.controllers },
  };
}

/** Requires of sidecars what the profile of the installation in the cluster requires. */
function withInstalledProfile(settings: DecisionSettings, { sidecars }: State): DecisionSettings {
  if (sidecars === null) return settings;
  const { profileNamespaces } = sidecars;
  const closures = tightest(settings.injection.closures, sidecars.closures);
  return { ...settings, profileNamespaces, injection: { ...settings.injection, closures } };
}

/** Returns the findings of each template that has findings. They are in the last section. */
function templateFindings(
  judged: readonly Judged[], check: ReturnType<typeof templateChecker>, locate: ReturnType<typeof locator>,
): ReportedFinding[][] {
  return judged.map(({ found, template }) => {
    const findings = template === null ? [] : check(template);
    return findings.map((finding) => ({ section: "checks" as const, ...locate(finding, found) }));
  }).filter((findings) => findings.length > 0);
}

function reportedFinding(
  finding: AuditFinding, objects: readonly StateObject[], locate: ReturnType<typeof locator>,
): ReportedFinding {
  const found = objects[finding.index];
  if (found === undefined) throw new Error(`the finding refers to object ${finding.index}, which does not exist`);
  return { section: finding.section, ...locate(finding, found) };
}

function allFindings(reports: readonly Report[]): readonly ReportedFinding[] {
  return mergeRoots(reports.map(({ root, findings: items }) => ({ root, items })));
}

/** Returns the fields of the reports. With several roots, a summary counts an object outside all roots for each. */
function auditJSON(reports: readonly Report[]): object {
  const parts = reports.map(({ root, summary, usage, findings, controllers }) => {
    const { byIdentity, byAccount, omittedIdentities, omittedAccounts } = usage;
    return {
      root, summary: { ...summary, ...countBySeverity(findings) },
      clusterUsage: { byIdentity, byAccount, omittedIdentities, omittedAccounts },
      controllers: controllersJSON(controllers),
    };
  });
  const findings = allFindings(reports);
  const [first, ...others] = parts;
  if (others.length > 0 || first === undefined) return { roots: parts, findings };
  return { summary: first.summary, clusterUsage: first.clusterUsage, controllers: first.controllers, findings };
}

function printText(
  reports: readonly Report[], skipped: Audit["skipped"], isComplete: boolean, io: IO,
): void {
  const paint = painter(io.stdout, io.environment);
  writeLines(io.stdout, reports.flatMap((report) => [
    ...rootTitle(report, paint), ...reportLines(report, isComplete, paint),
  ]));
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
  awaitingResync: [
    "resource whose controller last used another role", "resources whose controller last used another role",
  ],
  staleAnnotations: ["object with stale annotations", "objects with stale annotations"],
  unusableIdentities: ["identity that no namespace may use", "identities that no namespace may use"],
  openIdentities: ["identity that every namespace may use", "identities that every namespace may use"],
  missingSources: ["identity whose source does not exist", "identities whose source does not exist"],
  crossNamespace: ["object that uses another namespace", "objects that use other namespaces"],
  checks: ["object with other findings", "objects with other findings"],
};

/** Returns the lines of the counts, followed by each section that has findings. */
function reportLines({ summary, usage, findings, controllers }: Report, isComplete: boolean, paint: Paint): string[] {
  const { objects, selectors, resources, unannotated, identities, clusters } = summary;
  const sections = SECTIONS.flatMap((section) => {
    const own = findings.filter((finding) => finding.section === section);
    if (own.length === 0) return [];
    const title = capitalized(TITLES[section][1]);
    return ["", paint("bold", title), ...foldedLines(own, isComplete, paint)];
  });
  const counts = [countOf(selectors, "selector"), countOf(resources, "resource")];
  if (identities + clusters > 0) {
    counts.push(countOf(identities, "identity"), countOf(clusters, "cluster"));
  }
  return [
    `${countOf(objects, "object")}: ${counts.join(", ")}; ${unannotated} without resolution annotations`,
    ...countLines(summary, paint), ...controllerLines(controllers, paint), ...usageLines(usage, paint), ...sections,
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

/** Reports AUD-16 as skipped if the Pods or the profile of the installation could not be read. */
function unreadSidecars({ sidecars }: State, { checkSeverities }: DecisionSettings): SkippedCheck[] {
  if (sidecars?.isRead !== false || checkSeverities.get("AUD-16") === "off") return [];
  return [{ code: "AUD-16", needs: `the right to list Pods, and ConfigMaps of the name ${WEBHOOK.profile}` }];
}
