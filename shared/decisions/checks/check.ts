import type { Operation, Origin, Runtime, Severity } from "../context.ts";
import type { FieldPath } from "../kubernetes/field-path.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import type { SelectorSpec } from "../selectors/iamroleselector.ts";

/** What a check has to know beside the object: what the input may not hold, or a setting that has no default. */
export type Requirement = "namespaces" | "kinds" | "resources" | "config maps" | "the requester" | "the stored object" | "selectors and namespaces" | "access reviews" | "STS" | `--${string}`;

/** One thing that a check found wrong. */
export interface Fault {
  readonly path: FieldPath;
  /** What is there and what was expected, as one sentence without its full stop. */
  readonly message: string;
  /** Replaces the check's own fix where the fault knows better. */
  readonly fix?: string;
  /** Whether the shipped controllers drop the whole selector for it, with a log line only. */
  readonly dropsSelector?: boolean;
  /** Replaces the check's own severity where the fault is known to be harmless. */
  readonly severity?: "warn";
}

/**
 * What a check gives while it looks: faults, and null at places where a long look may be put off for a while, so that nothing
 * else waits for it.
 */
export type Found = Iterable<Fault | null>;

/** An IAMRoleSelector under check, by itself. */
export interface SelectorSubject {
  readonly object: JsonObject;
  readonly spec: SelectorSpec;
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** A check as documents and severities know it. `reason`, `fix` and `example` are also what docs/checks.md prints. */
export interface CheckEntry {
  readonly id: string;
  readonly severity: Severity | "off";
  /** Whether `ack-role-resolver.io/allow` can waive it for one object (marked D* in the documents). */
  readonly waivable: boolean;
  /** What goes wrong without it. */
  readonly reason: string;
  /** How to mend what it finds, as an imperative without its full stop. */
  readonly fix: string;
  /** The least of a manifest, or of a change, that it catches. */
  readonly example: string;
  /** Default: none. */
  readonly requires?: readonly Requirement[];
  /** Default: CREATE and UPDATE. */
  readonly on?: readonly Operation[];
  /** Whether it judges the step from the stored object to the new one, so that what stood before is no excuse. */
  readonly ofChange?: true;
  /** Whether it denies in mode `carm` alone, and warns where the maps do not decide. */
  readonly deniesInCARM?: true;
}

/** An entry of the catalogue with its decision. */
export interface Check<Subject> extends CheckEntry {
  /** Whether it speaks of the object as a whole, and so says nothing while a part of it cannot be read. */
  readonly ofWhole?: true;
  /** Every fault of the subject; it neither sees nor changes anything else. */
  readonly find: (subject: Subject) => Found;
}

/** A check that tells from an IAMRoleSelector alone, at once. */
export interface SelectorCheck extends Check<SelectorSubject> {
  readonly find: (subject: SelectorSubject) => Iterable<Fault>;
}

/** A check with its subject: what is left to do is to look. `findBefore` looks at the stored object, null where there is none. */
export interface AppliedCheck {
  readonly check: CheckEntry;
  readonly find: () => Found;
  readonly findBefore: (() => Found) | null;
}

/** Applies checks to a subject, and to what stood before where that can excuse a fault. */
export function applied<Subject>(checks: readonly Check<Subject>[], subject: Subject, before: Subject | null): AppliedCheck[] {
  return checks.map((check) => ({
    check,
    find: () => check.find(subject),
    findBefore: before === null || check.ofChange === true ? null : () => check.find(before),
  }));
}
