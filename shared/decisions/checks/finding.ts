import type { Severity } from "../context.ts";
import { type FieldPath, formatFieldPath } from "../kubernetes/field-path.ts";
import { compareText } from "../kubernetes/text.ts";

/** A fault that a check found in one object, with its severity. */
export interface Finding {
  /** The id of the check. */
  readonly code: string;
  readonly severity: Severity;
  readonly path: FieldPath;
  /** What is wrong and what was expected. Like `fix`, it starts in lower case and has no full stop. */
  readonly message: string;
  readonly fix: string;
  /** Whether the annotation `ack-role-resolver.io/allow` can waive the check. */
  readonly waivable: boolean;
  /** Whether the check is waived for the object. A waived finding never denies. */
  readonly waived: boolean;
}

type FindingText = Pick<Finding, "code" | "path" | "message" | "fix">;

/** Orders findings by code, then by path. */
export function compareFindings(a: Finding, b: Finding): number {
  return compareText(a.code, b.code) || compareText(formatFieldPath(a.path), formatFieldPath(b.path));
}

/** Returns `IRS-03 spec.arn: MESSAGE. FIX.` */
export function findingLine(finding: FindingText): string {
  return `${finding.code} ${formatFieldPath(finding.path)}: ${findingSentences(finding)}`;
}

/** Returns `MESSAGE. FIX.` as sentences. */
export function findingSentences({ message, fix }: Pick<FindingText, "message" | "fix">): string {
  return `${message}. ${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}
