import { type Audit, type AuditFinding, auditSteps } from "../shared/decisions/audit.ts";
import { decisionSettings, type SettingsFor } from "../shared/decisions/settings.ts";
import { auditLines, notAppliedLine } from "./audit-text.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { locate, type LocatedFinding } from "./located-finding.ts";
import { painter } from "./paint.ts";
import { Progress } from "./progress.ts";
import { isUnreadable, readState, type State } from "./state.ts";

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
  const { summary, notApplied } = audit;
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
