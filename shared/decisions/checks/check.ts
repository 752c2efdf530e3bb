import type { WrittenSelector } from "../iamroleselector.ts";
import type { FieldPath } from "../field-path.ts";
import type { Severity } from "../finding.ts";
import type { JsonObject } from "../json.ts";
import type { Origin } from "../type-entry.ts";

/** What the shipped controllers understand, or all that is documented. */
export type Runtime = "ack" | "extended";

/** One thing that a check found wrong. */
export interface Fault {
  readonly path: FieldPath;
  /** What is there and what was expected, as one sentence without its full stop. */
  readonly message: string;
  /** Replaces the check's own fix where the fault knows better. */
  readonly fix?: string;
  /** Whether the shipped controllers drop the whole selector for it, with a log line only. */
  readonly dropsSelector?: boolean;
}

/** An IAMRoleSelector under check. */
export interface SelectorSubject {
  readonly object: JsonObject;
  readonly written: WrittenSelector;
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** An entry of the catalogue. `reason`, `fix` and `example` are also what docs/checks.md prints. */
export interface Check<Subject> {
  readonly id: string;
  readonly severity: Severity;
  /** Whether `ack-role-resolver.io/allow` can waive it for one object (marked D* in the documents). */
  readonly waivable: boolean;
  /** What goes wrong without it. */
  readonly reason: string;
  /** How to mend what it finds, as an imperative without its full stop. */
  readonly fix: string;
  /** The least of a manifest that it catches. */
  readonly example: string;
  /** Whether it speaks of the object as a whole, and so says nothing while a part of it cannot be read. */
  readonly ofWhole?: true;
  /** Every fault of the subject; it neither sees nor changes anything else. */
  readonly find: (subject: Subject) => Iterable<Fault>;
}
