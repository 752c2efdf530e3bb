import type { Severity } from "../context.ts";
import { type FieldPath, formatFieldPath } from "../kubernetes/field-path.ts";
import { compareText } from "../kubernetes/text.ts";

/** What a check found in one object: `message` says what is wrong and what was expected, `fix` how to mend it. */
export interface Finding {
  readonly code: string;
  readonly severity: Severity;
  readonly path: FieldPath;
  readonly message: string;
  readonly fix: string;
  /** Whether `ack-role-resolver.io/allow` may waive the check. */
  readonly waivable: boolean;
  /** Whether it did: a waived finding never denies. */
  readonly waived: boolean;
}

/** One order everywhere: by code, then by path. */
export function compareFindings(a: Finding, b: Finding): number {
  return compareText(a.code, b.code) || compareText(formatFieldPath(a.path), formatFieldPath(b.path));
}

/** `IRS-03 spec.arn: MESSAGE. FIX.`, the line that a person reads. */
export function findingLine(finding: FindingText): string {
  return `${finding.code} ${formatFieldPath(finding.path)}: ${findingSentences(finding)}`;
}

/** `MESSAGE. FIX.` as sentences. */
export function findingSentences({ message, fix }: Pick<FindingText, "message" | "fix">): string {
  return `${message}. ${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}

type FindingText = Pick<Finding, "code" | "path" | "message" | "fix">;
