import { runChecks } from "../shared/judges.ts";
import { type Clock, systemClock } from "../shared/core/clock.ts";
import type { CheckResult } from "../shared/core/run.ts";
import { decisionSettings, type DecisionSettings } from "../shared/core/context.ts";
import { compareText } from "../shared/formats/text.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import type { InputFault } from "../shared/files/manifest-reader.ts";
import { unjudgedText } from "../shared/files/unjudged.ts";
import { type JudgedRoot, judgeAndFix } from "./fix.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "./io.ts";
import { countBySeverity, foldedLines, isFailing, type LocatedFinding, locator } from "./output/located-finding.ts";
import { mergeRoots } from "./output/by-root.ts";
import { type Coverage, coverageOf, isIncomplete, writeCoverage } from "./output/coverage.ts";
import { junitReport } from "./output/junit.ts";
import { mapWithProgress } from "./output/progress.ts";
import { type ReviewedState, reviewRoles, reviewsRoles, unreadChecks } from "./features.ts";
import { CHECK_FIELDS, Only } from "./input/only.ts";
import {
  byCode, readStates, reportFaults, type State, type StateObject,
} from "./input/state.ts";
import { Texts } from "./input/texts.ts";
import { countJudged, type Judged, judgedIn, judgedObjects, templateChecker } from "./input/templates.ts";
import { sarifLog } from "./output/sarif.ts";
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
export async function runLint(settings: SettingsFor<"lint">, io: IO, clock = systemClock): Promise<ExitStatus> {
  const only = new Only(settings, CHECK_FIELDS);
  const texts = new Texts();
  const roots = await judgeAndFix(settings, io, texts, async (to) => await judge({ settings, only, texts, clock }, to));
  const judged = roots.flatMap((root) => root.judged);
  const result = lintResult(roots, judged, settings.output, texts);
  printResult(result, judged, settings, io);
  const faults = roots[0]?.state.faults ?? [];
  reportFaults(faults, io);
  if (faults.length > 0) return EXIT.usage;
  const { failOn } = settings;
  return isFailing(result.findings, failOn) || isIncomplete(result.coverage, failOn) ? EXIT.findings : EXIT.fine;
}

function printResult(
  result: LintResult, judged: readonly Judged[], { output, failOn, logLevel }: SettingsFor<"lint">, io: IO,
): void {
  if (output === "text") printText(result, logLevel === "debug", io);
  else if (output === "junit") {
    io.stdout.write(junitReport({ ...result, command: "lint", judged: judgedObjects(judged), failOn }));
  } else writeJSON(io, output === "json" ? result : sarifLog(result));
  if (output !== "text") writeCoverage(result.coverage, io);
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
  const reviewed = await reviewRoles(states, settings, io, clock.now());
  writeLines(io.stderr, only.noObjectLines(states));
  const decisions = decisionSettings(settings);
  return reviewed.states.map((state) => lint(state, only, decisions, io));
}

function lintResult(
  roots: readonly RootResult[], judged: readonly Judged[], output: SettingsFor<"lint">["output"], texts: Texts,
): LintResult {
  const { faults = [], skippedFiles = {}, unjudged = [] } = roots[0]?.state ?? {};
  const skipped = new Map(roots.flatMap((one) => one.skipped.map((check) => [check.code, check] as const)));
  const checked = countJudged(judged);
  const findings = mergeRoots(roots.map(({ state, results }) => {
    const locateIn = locator(output, state.objects, texts);
    const items = results.flatMap(({ found, findings: all }) => all.map((finding) => locateIn(finding, found)));
    return { root: state.root, items };
  }));
  return {
    checked,
    findings: roots.length === 1 ? findings : findings.toSorted(byFile),
    notApplied: byCode([...skipped.values()]),
    inputErrors: faults.map(({ file, line, message }) => ({ file, line, message })),
    skippedFiles,
    coverage: coverageOf(checked, unjudged),
  };
}

interface RootResult extends JudgedRoot {
  readonly state: ReviewedState;
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
  return { state, judged, results, skipped };
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
