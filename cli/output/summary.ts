import type { SkippedCheck } from "../../shared/core/run.ts";
import { isVerbose, type LogSettings } from "../io.ts";
import { type Covered, MORE, notJudgedLines, notJudgedText } from "./coverage.ts";
import { lackInput, skippedLines } from "./skipped-checks.ts";
import type { Paint } from "./terminal.ts";

/** Returns the counts, and what is not known, in one line. */
export function summaryLine(
  counts: string, { covered, skipped }: { readonly covered: Covered; readonly skipped: readonly SkippedCheck[] },
  settings: LogSettings,
): string {
  const unknown = [
    ...[notJudgedText(covered)].filter((text) => text !== null),
    ...(lackInput(skipped) ? ["some checks need more input"] : []),
  ];
  const hint = unknown.length === 0 || isVerbose(settings) ? "" : ` (${MORE})`;
  return [counts, ...unknown].join("; ") + hint;
}

/** Returns which objects were not judged, and which checks were skipped, and why. */
export function detailLines(covered: Covered, skipped: readonly SkippedCheck[], paint: Paint): string[] {
  return [...notJudgedLines(covered), ...skippedLines(skipped, paint)];
}
