import { type FieldPath, formatFieldPath } from "./field-path.ts";

export type Severity = "deny" | "warn";

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

/** By UTF-16 code unit, so that no order depends on a locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
