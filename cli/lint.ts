import { runChecks } from "../shared/judges.ts";
import { type Clock, systemClock } from "../shared/core/clock.ts";
import type { CheckResult } from "../shared/core/run.ts";
import { decisionSettings, type DecisionSettings } from "../shared/core/context.ts";
import { compareText } from "../shared/formats/text.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import type { InputFault } from "../shared/files/manifest-reader.ts";
import { type JudgedRoot, judgeAndFix } from "./fix.ts";
import {
  EXIT, type ExitStatus, type IO, isQuiet, isVerbose, type LogSettings, withoutNotes, writeJSON, writeLines, writeText,
} from "./io.ts";
import { countBySeverity, foldedLines, isFailing, type LocatedFinding, locator } from "./output/located-finding.ts";
import { distinctObjects, mergeRoots } from "./output/by-root.ts";
import { type Covered, coverageOf, isIncomplete, writeNotJudged } from "./output/coverage.ts";
import { junitReport } from "./output/junit.ts";
import { mapWithProgress } from "./output/progress.ts";
import { type ReviewedState, reviewRoles, reviewsRoles, unreadChecks } from "./features.ts";
import { CHECK_FIELDS, Only } from "./input/only.ts";
import { reportFaults } from "./input/input-faults.ts";
import { readStates, type State, type StateObject } from "./input/state.ts";
import { Texts } from "./input/texts.ts";
import { type Judged, judgedIn, judgedObjects, templateChecker } from "./input/templates.ts";
import { sarifLog } from "./output/sarif.ts";
import { notApplied } from "./output/skipped-checks.ts";
import { detailLines, summaryLine } from "./output/summary.ts";
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
  readonly coverage: Covered["coverage"];
}

/** Prints the findings for every readable object. Returns exit status 2 if any input is unreadable. */
export async function runLint(settings: SettingsFor<"lint">, io: IO, clock = systemClock): Promise<ExitStatus> {
  const only = new Only(settings, CHECK_FIELDS);
  const texts = new Texts();
  const roots = await judgeAndFix(settings, io, texts, async (to) => await judge({ settings, only, texts, clock }, to));
  const judged = roots.flatMap((root) => root.judged);
  const covered = coverageOf(distinctObjects(roots), judged, roots[0]?.state.unjudged ?? []);
  const result = lintResult(roots, covered, settings.output, texts);
  printResult(result, { covered, judged }, settings, io);
  const faults = roots[0]?.state.faults ?? [];
  reportFaults(faults, settings, io);
  if (faults.length > 0) return EXIT.usage;
  const { failOn } = settings;
  return isFailing(result.findings, failOn) || isIncomplete(covered, failOn) ? EXIT.findings : EXIT.fine;
}

interface Printed {
  readonly covered: Covered;
  readonly judged: readonly Judged[];
}

function printResult(result: LintResult, { covered, judged }: Printed, settings: SettingsFor<"lint">, io: IO): void {
  const { output, failOn } = settings;
  if (output === "text") printText(result, covered, settings, io);
  else if (output === "junit") {
    io.stdout.write(junitReport({ ...result, command: "lint", judged: judgedObjects(judged), failOn }));
  } else writeJSON(io, output === "json" ? result : sarifLog(result));
  if (output !== "text") writeNotJudged(covered, settings, io);
}

interface Question {
  readonly settings: SettingsFor<"lint">;
  readonly only: Only;
  readonly texts: Texts;
  readonly clock: Clock;
}

async function judge({ settings, only, texts, clock }: Question, io: IO): Promise<readonly RootResult[]> {
  const options = {
    stdinCommand: "lint -", inAllNamespaces: true, readsControllers: reviewsRoles(settings), texts: texts.current,
  };
  const states = await readStates(settings, io, options);
  const notes = withoutNotes(io, settings);
  const reviewed = await reviewRoles(states, settings, notes, clock.now());
  writeText(notes.stderr, only.noObjectLines(states), io);
  const decisions = decisionSettings(settings);
  return reviewed.states.map((state) => lint(state, only, decisions, notes));
}

function lintResult(
  roots: readonly RootResult[], { coverage }: Covered, output: SettingsFor<"lint">["output"], texts: Texts,
): LintResult {
  const { faults = [], skippedFiles = {} } = roots[0]?.state ?? {};
  const merged = mergeRoots(roots.map(({ state, results }) => {
    const locateIn = locator(output, state.objects, texts);
    const items = results.flatMap(({ found, findings: all }) => all.map((finding) => locateIn(finding, found)));
    return { root: state.root, items };
  }));
  const findings = roots.length === 1 ? merged : merged.toSorted(byFile);
  return {
    checked: coverage.judged,
    findings,
    notApplied: notApplied(roots.flatMap(({ skipped }) => skipped), findings),
    inputErrors: faults.map(({ file, line, message }) => ({ file, line, message })),
    skippedFiles,
    coverage,
  };
}

interface RootResult extends JudgedRoot {
  readonly state: ReviewedState;
  /** The objects that the filter selects. */
  readonly objects: readonly StateObject[];
  readonly judged: readonly Judged[];
  readonly skipped: CheckResult["skipped"];
}

/**
 * Checks each of the objects as if a user created it in a cluster that contains all other objects of the state, and
 * each template in them.
 */
function lint(state: ReviewedState, only: Only, decisions: DecisionSettings, io: IO): RootResult {
  const { inventory, origin, evidence } = state;
  const objects = only.objectsOf(state);
  const checkTemplate = templateChecker(state, decisions);
  const judged = judgedIn({ objects, inventory }).toSorted((a, b) => byFile(a.found, b.found));
  const results = mapWithProgress(judged, io, "objects checked", ({ found, template }) => {
    if (template !== null) return { found, findings: checkTemplate(template), skipped: [] };
    const input = { ...evidence, object: found.object, old: null, requester: null, origin, inventory };
    return { found, ...runChecks(input, decisions) };
  });
  const skipped = [...results.flatMap((one) => one.skipped), ...unreadChecks(state, decisions)];
  return { state, objects, judged, results, skipped };
}

/** Compares objects by file. The sort is stable, so the objects of a file stay in order, before its templates. */
function byFile(a: Pick<StateObject, "file">, b: Pick<StateObject, "file">): number {
  return compareText(a.file ?? "", b.file ?? "");
}

function printText(result: LintResult, covered: Covered, settings: LogSettings, io: IO): void {
  const { checked, findings, notApplied: skipped } = result;
  const { denied, warned } = countBySeverity(findings);
  if (isVerbose(settings)) writeLines(io.stderr, detailLines(covered, skipped, painter(io.stderr, io.environment)));
  writeText(io.stdout, foldedLines(findings, isVerbose(settings), painter(io.stdout, io.environment)), io);
  if (isQuiet(settings)) return;
  const counts = `${checked} checked, ${denied} denied, ${warned} warned`;
  writeText(io.stdout, [summaryLine(counts, { covered, skipped }, settings)], io);
}
