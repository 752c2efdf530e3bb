import type { Operation, Origin, Runtime, Severity } from "../context.ts";
import { type FieldPath, formatFieldPath } from "../kubernetes/field-path.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { compareText } from "../kubernetes/text.ts";
import type { Paced } from "../paced.ts";
import type { SelectorSpec } from "../selectors/iamroleselector.ts";

/** What a check needs besides the object: data that the input may lack, or a setting without a default. */
export type Requirement =
  | "namespaces"
  | "kinds"
  | "resources"
  | "config maps"
  | "the requester"
  | "the stored object"
  | "selectors and namespaces"
  | "access reviews"
  | "STS"
  | "--controller-account or --controller-role"
  | "--allowed-accounts or --controller-role"
  | "--allowed-accounts"
  | "--controller-service-accounts"
  | "--tenant-labels"
  | "--allowed-endpoint-hosts"
  | "--watch-namespace"
  | "--watch-selectors";

/** One problem that a check found. */
export interface Fault {
  readonly path: FieldPath;
  /** What is wrong and what was expected: one clause, lower case, without a full stop. */
  readonly message: string;
  /** A more precise fix than the one of the check. */
  readonly fix?: string;
  /** Whether shipped controllers drop the whole selector because of this fault. They report it in one log line only. */
  readonly dropsSelector?: boolean;
  /** Overrides the severity of the check where the fault is known to be harmless. */
  readonly severity?: "warn";
}

/** An IAMRoleSelector that is checked without any other object. */
export interface SelectorSubject {
  readonly object: JsonObject;
  readonly spec: SelectorSpec;
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** The description of a check. docs/checks.md is generated from `reason`, `fix` and `example`. */
export interface CheckEntry {
  readonly id: string;
  readonly severity: Severity | "off";
  /** Whether the annotation `ack-role-resolver.io/allow` can waive the check for one object. */
  readonly waivable: boolean;
  /** What goes wrong without the check. */
  readonly reason: string;
  /** How to fix what the check finds: an imperative, without a full stop. */
  readonly fix: string;
  /** The smallest manifest or change that the check catches. */
  readonly example: string;
  /** Default: none. */
  readonly requires?: readonly Requirement[];
  /** Default: CREATE and UPDATE. */
  readonly on?: readonly Operation[];
  /** Whether the check compares the old object with the new one. Its faults are new even if the old object had them. */
  readonly ofChange?: true;
  /** Whether the check denies in mode `carm` only. In mode `selectors` it warns, since the maps have no effect. */
  readonly deniesInCARM?: true;
}

/** A check that looks at one object, or at a bounded part of the inventory. */
export interface QuickCheck<Subject> extends CheckEntry {
  /** Yields every fault of the subject. Reads nothing else and changes nothing. */
  readonly find: (subject: Subject) => Iterable<Fault>;
}

/** A check that scans many objects of the inventory, and pauses while it does. */
export interface ScanningCheck<Subject> extends CheckEntry {
  /** Returns every fault of the subject. Changes nothing. */
  readonly scan: (subject: Subject) => Paced<readonly Fault[]>;
}

export type Check<Subject> = QuickCheck<Subject> | ScanningCheck<Subject>;

/** A check that needs nothing but the IAMRoleSelector. */
export type SelectorCheck = QuickCheck<SelectorSubject>;

/** A check with its subject: ready to run. */
export interface BoundCheck {
  readonly check: CheckEntry;
  /** Finds the faults of the new object. */
  readonly faults: () => Paced<readonly Fault[]>;
  /** Finds the faults of the old object; null if it has none, or if old faults are no excuse for the check. */
  readonly oldFaults: (() => Paced<readonly Fault[]>) | null;
}

/** Binds checks to a subject, and to the old subject for the checks where a fault of the old object is an excuse. */
export function bindChecks<Subject>(
  checks: readonly Check<Subject>[], subject: Subject, old: Subject | null,
): BoundCheck[] {
  return checks.map((check) => ({
    check,
    faults: () => faultsOf(check, subject),
    oldFaults: old === null || check.ofChange === true ? null : () => faultsOf(check, old),
  }));
}

function* faultsOf<Subject>(check: Check<Subject>, subject: Subject): Paced<readonly Fault[]> {
  return "scan" in check ? yield* check.scan(subject) : [...check.find(subject)];
}

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
