import { isChecked } from "../shared/decisions/checks/applicable.ts";
import { runChecks, type CheckResult } from "../shared/decisions/checks/run.ts";
import { decisionSettings } from "../shared/decisions/context.ts";
import { compareText } from "../shared/decisions/kubernetes/text.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { notAppliedLine } from "./audit.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { findingLines, locate, type LocatedFinding } from "./located-finding.ts";
import { sarifLog } from "./sarif.ts";
import { readState, reportFaults, type State, type StateObject } from "./state.ts";
import { painter } from "./terminal.ts";

interface Linted {
  /** How many objects there is a check for. */
  readonly checked: number;
  readonly findings: readonly LocatedFinding[];
  readonly notApplied: CheckResult["skipped"];
}

/** Judges and prints what could be read; what could not makes the exit status 2. */
export async function runLint(settings: SettingsFor<"lint">, io: IO): Promise<ExitStatus> {
  const state = await readState(settings, io);
  const linted = lint(state, settings);
  if (settings.output === "json") io.stdout.write(`${JSON.stringify(linted, null, 2)}\n`);
  else if (settings.output === "sarif") io.stdout.write(`${JSON.stringify(sarifLog(linted.findings, state.faults), null, 2)}\n`);
  else printText(linted, io);
  reportFaults(state.faults, io);
  if (state.faults.length > 0) return EXIT.usage;
  const failing = linted.findings.some(({ severity, waived }) => severity === "deny" || (settings.failOn === "warn" && !waived));
  return failing ? EXIT.findings : EXIT.fine;
}

/**
 * Judges each object as if it were created beside all the others. What a check would have to know is the same for each of them, so
 * one that could not be applied to an object was applied to none.
 */
function lint({ objects, inventory, origin }: State, settings: SettingsFor<"lint">): Linted {
  const checked = objects.filter(({ object }) => isChecked(object)).toSorted(byPlace);
  const judged = checked.map((found) => ({ found, ...runChecks({ object: found.object, old: null, requester: null, origin, inventory }, decisionSettings(settings)) }));
  const notApplied = new Map(judged.flatMap((one) => one.skipped.map((check) => [check.code, check] as const)));
  return {
    checked: checked.length,
    findings: judged.flatMap(({ found, findings }) => findings.map((finding) => locate(finding, found))),
    notApplied: [...notApplied.values()].toSorted((a, b) => compareText(a.code, b.code)),
  };
}

/** By file, and in each as they stand there. */
function byPlace(a: StateObject, b: StateObject): number {
  return compareText(a.file ?? "", b.file ?? "");
}

function printText({ checked, findings, notApplied }: Linted, io: IO): void {
  const paint = painter(io.stdout, io.environment);
  const denied = findings.filter(({ severity }) => severity === "deny").length;
  writeLines(io.stdout, [
    ...findings.flatMap((finding) => findingLines(finding, paint)),
    `${checked} checked, ${denied} denied, ${findings.length - denied} warned`,
  ]);
  if (notApplied.length > 0) writeLines(io.stderr, [notAppliedLine(notApplied, painter(io.stderr, io.environment))]);
}
