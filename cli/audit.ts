import { type Audit, type AuditFinding, auditSteps, type Section, SECTIONS } from "../shared/decisions/audit.ts";
import { decisionSettings } from "../shared/decisions/context.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { findingLines, locate, type LocatedFinding } from "./located-finding.ts";
import { isUnreadable, readState, type State } from "./state.ts";
import { formatTable, type Paint, painter, Progress } from "./terminal.ts";

/** A finding in the shape of `lint -o json`, with the section of the report that it is in. */
export interface ReportedFinding extends LocatedFinding {
  readonly section: AuditFinding["section"];
}

/** Prints nothing but the faults when anything could not be read. */
export async function runAudit(settings: SettingsFor<"audit">, io: IO): Promise<ExitStatus> {
  const state = await readState(settings, io);
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const audit = auditWithProgress(state, settings, io);
  const findings = audit.findings.map((finding) => reported(finding, state));
  const { summary, skipped: notApplied } = audit;
  if (settings.output === "json") io.stdout.write(`${JSON.stringify({ summary: { ...summary, ...bySeverity(findings) }, findings, notApplied }, null, 2)}\n`);
  else {
    writeLines(io.stdout, auditLines({ summary, findings }, painter(io.stdout, io.environment)));
    if (notApplied.length > 0) writeLines(io.stderr, [notAppliedLine(notApplied, painter(io.stderr, io.environment))]);
  }
  const failing = findings.some(({ severity, waived }) => severity === "deny" || (settings.failOn === "warn" && !waived));
  return failing ? EXIT.findings : EXIT.fine;
}

function auditWithProgress({ objects, inventory, origin }: State, settings: SettingsFor<"audit">, io: IO): Audit {
  const progress = new Progress(io.stderr);
  const steps = auditSteps({ objects: objects.map(({ object }) => object), inventory, origin }, decisionSettings(settings));
  for (;;) {
    const step = steps.next();
    if (step.done === true) {
      progress.end();
      return step.value;
    }
    progress.tell(`${step.value} of ${objects.length} objects looked at`);
  }
}

function reported(finding: AuditFinding, { objects }: State): ReportedFinding {
  const found = objects[finding.index];
  if (found === undefined) throw new Error(`a finding of object ${finding.index}, which was not audited`);
  return { section: finding.section, ...locate(finding, found) };
}

function bySeverity(findings: readonly ReportedFinding[]): { denied: number; warned: number } {
  const denied = findings.filter(({ severity }) => severity === "deny").length;
  return { denied, warned: findings.length - denied };
}

/** The title of each section, and what one of its objects is. */
const TITLES: Readonly<Record<Section, string>> = {
  malformed: "malformed selectors, which take no part",
  faulty: "selectors that take part, but the webhook would refuse",
  conflicts: "resources in conflict",
  refused: "resources whose role the maps do not tell",
  drift: "resources in another account or region than wanted",
  unexpectedAccounts: "roles and resources in accounts that are not allowed",
  onDefault: "resources on the controller's own role",
  selectingNothing: "selectors that select nothing",
  staleAnnotations: "resources whose annotations are stale",
  checks: "objects that other checks find fault with",
};

interface Report {
  readonly summary: Audit["summary"];
  readonly findings: readonly ReportedFinding[];
}

/** The counts, then each section that has a finding. */
export function auditLines({ summary, findings }: Report, paint: Paint): string[] {
  const { objects, selectors, resources, unannotated } = summary;
  const counts = SECTIONS.map((section) => [String(summary[section]), TITLES[section]]);
  const lines = [`${objects} objects: ${selectors} selectors, ${resources} resources (${unannotated} without our annotations)`, ...formatTable(counts, ["right"])];
  for (const section of SECTIONS) {
    const own = findings.filter((finding) => finding.section === section);
    if (own.length > 0) lines.push("", paint("bold", capitalised(TITLES[section])), ...own.flatMap((finding) => findingLines(finding, paint)));
  }
  return lines;
}

/** The checks that could not be applied, and what each would have had to know. */
export function notAppliedLine(notApplied: Audit["skipped"], paint: Paint): string {
  return paint("dim", `not applied: ${notApplied.map(({ code, needs }) => `${code} (needs ${needs})`).join(", ")}`);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
