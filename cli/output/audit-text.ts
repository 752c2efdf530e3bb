import { type Section, SECTIONS } from "../../shared/core/check.ts";
import type { Audit, AuditFinding } from "../../shared/diagnosis/audit.ts";
import { countOf } from "../../shared/formats/text.ts";
import type { Observation } from "../input/observation.ts";
import type { State, StateObject } from "../input/state.ts";
import type { Judged } from "../input/templates.ts";
import { type IO, isQuiet, isVerbose, type LogSettings, writeLines, writeText } from "../io.ts";
import { rootTitle } from "./by-root.ts";
import { controllerLines, type ReportedControllers } from "./controllers.ts";
import type { Covered } from "./coverage.ts";
import { observationLines } from "./observation.ts";
import { foldedLines, type LocatedFinding } from "./located-finding.ts";
import { identityName } from "./resolution-table.ts";
import { detailLines, summaryLine } from "./summary.ts";
import { formatTable, type Paint, painter, wrapLines, wrapWidthOf } from "./terminal.ts";

/** A finding in the format of `lint -o json`, and the section of the report that contains the finding. */
export interface ReportedFinding extends LocatedFinding {
  readonly section: AuditFinding["section"];
}

/** What `audit` found in one root. */
export interface AuditReport extends Pick<State, "root"> {
  /** The objects that the filter selects. */
  readonly objects: readonly StateObject[];
  /** Those that have findings, and the Deployments of controllers. */
  readonly reported: readonly StateObject[];
  readonly judged: readonly Judged[];
  readonly summary: Audit["summary"];
  readonly usage: Audit["usage"];
  readonly findings: readonly ReportedFinding[];
  readonly skipped: Audit["skipped"];
  readonly controllers: ReportedControllers;
}

/** What is about all roots. */
export interface Unknown {
  readonly covered: Covered;
  readonly skipped: Audit["skipped"];
  /** What the profile `observe` has shown; null without a cluster, and in another profile. */
  readonly observation: Observation | null;
}

/**
 * Prints the reports. With several roots, those without problems are only counted, and the last line says what is not
 * known, because it is about all of them.
 */
export function printReports(reports: readonly AuditReport[], unknown: Unknown, settings: LogSettings, io: IO): void {
  const isWhole = reports.length === 1;
  const shown = isWhole || isVerbose(settings) ? reports : reports.filter((report) => hasProblem(report, settings));
  const format = {
    paint: painter(io.stdout, io.environment), width: wrapWidthOf(io.stdout, io.environment), settings,
    summary: (counts: string): string => (isWhole ? summaryLine(counts, unknown, settings) : counts),
  };
  writeLines(io.stdout, shown.flatMap((report) => [
    ...rootTitle(report, format.paint), ...reportLines(report, format),
  ]));
  if (unknown.observation !== null) {
    const isFine = reports.every(({ findings }) => findings.every((one) => one.severity === "warn" && !one.wouldDeny));
    writeLines(io.stdout, wrapLines(observationLines(unknown.observation, isFine, format.paint), format.width));
  }
  if (isVerbose(settings)) {
    writeLines(io.stderr, detailLines(unknown.covered, unknown.skipped, painter(io.stderr, io.environment)));
  } else if (!isWhole && !isQuiet(settings)) {
    const counts = `${countOf(unknown.covered.coverage.judged, "object")} judged in ${countOf(reports.length, "root")}`;
    const fine = reports.length - shown.length;
    const text = fine === 0 ? counts : `${counts}, ${fine} without a problem`;
    writeText(io.stdout, [summaryLine(text, unknown, settings)], io);
  }
}

/** A check that is off has no finding, but its section counts objects. A note says that a flag may be wrong. */
function hasProblem({ findings, summary, controllers }: AuditReport, settings: LogSettings): boolean {
  if (findings.length > 0 || isQuiet(settings)) return findings.length > 0;
  return controllers.notes.length > 0 || SECTIONS.some((section) => summary[section] > 0);
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

interface ReportFormat {
  readonly paint: Paint;
  readonly width: number;
  readonly settings: LogSettings;
  readonly summary: (counts: string) => string;
}

/** Returns the lines of the counts, followed by each section that has findings. */
function reportLines(report: AuditReport, { paint, width, settings, summary: lineOf }: ReportFormat): string[] {
  const { summary, usage, findings, controllers } = report;
  const sections = SECTIONS.flatMap((section) => {
    const own = findings.filter((finding) => finding.section === section);
    if (own.length === 0) return [];
    const title = capitalized(TITLES[section][1]);
    return ["", paint("bold", title), ...wrapLines(foldedLines(own, isVerbose(settings), paint), width)];
  });
  if (isQuiet(settings)) return sections.slice(1);
  return [
    ...wrapLines([lineOf(totalsOf(summary))], width), ...countLines(summary), ...controllerLines(controllers, paint),
    ...usageLines(usage, paint), ...sections,
  ];
}

function totalsOf({ objects, selectors, resources, unannotated, identities, clusters }: Audit["summary"]): string {
  const counts = [countOf(selectors, "selector"), countOf(resources, "resource")];
  if (identities + clusters > 0) counts.push(countOf(identities, "identity"), countOf(clusters, "cluster"));
  const without = unannotated === 0 ? "" : `; ${unannotated} without resolution annotations`;
  return `${countOf(objects, "object")}: ${counts.join(", ")}${without}`;
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

/** Returns a line with the count of each section that is not empty. */
function countLines(summary: Audit["summary"]): string[] {
  const counts = SECTIONS.filter((section) => summary[section] > 0).map((section) => {
    const [one, many] = TITLES[section];
    return [String(summary[section]), summary[section] === 1 ? one : many];
  });
  return formatTable(counts, { alignment: ["right"] });
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
