import type { PendingChanges } from "./pending-changes.ts";
import type {
  AccessByName, DecisionSettings, Occasion, Origin, Requester, Severity, TemplateContext,
} from "./context.ts";
import { type FieldPath, formatFieldPath, type JsonObject } from "../formats/json.ts";
import { compareText } from "../formats/text.ts";
import type { Paced } from "../formats/paced.ts";
import type { Inventory } from "./inventory.ts";
import { describeRepairs, type Repair } from "./repair.ts";
import type { StoreKey } from "./store.ts";

/** What a check needs: data that the input may not contain, or a setting that has no default. */
export interface Requirement {
  /** As the output names it, for example `the requester`. */
  readonly name: string;
  /** The store that must contain the objects. If it is partial, the result names its kinds that are not listed. */
  readonly store?: StoreKey;
  readonly isMet: (input: CheckInput, settings: DecisionSettings) => boolean;
}

/** The sections of the `audit` report, in the order of the report. In the JSON output, each section is a key. */
export const SECTIONS = [
  "malformed", "faulty", "conflicts", "refused", "drift", "unexpectedAccounts", "onDefault", "selectingNothing",
  "awaitingResync", "staleAnnotations", "unusableIdentities", "openIdentities", "missingSources",
  "crossNamespace", "checks",
] as const;
export type Section = (typeof SECTIONS)[number];

/** One problem that a check found. */
export interface Fault {
  readonly path: FieldPath;
  /** States the problem and the expected value in one clause. The text starts in lower case and has no full stop. */
  readonly message: string;
  /** The ways to correct this fault, the most likely first. Default: only a person can know what is meant. */
  readonly repairs?: readonly Repair[];
  /** The fix of this fault. Default: what its repairs do, or else the fix of the check. */
  readonly fix?: string;
  /** The judged text. If it is set, the stored object has the same fault if it has the same text. */
  readonly value?: string;
  /**
   * Whether this fault makes shipped controllers ignore the whole selector. Controllers report such a fault only in
   * their log.
   */
  readonly dropsSelector?: boolean;
  /** If set, the fault is only a warning, even if the severity of the check is deny. */
  readonly severity?: "warn";
  /** The section of `audit` that reports this fault. Default: the section of the check. */
  readonly section?: Section;
}

/** The description of a check. `explain` prints it, and docs/checks.md contains the first sentence of `reason`. */
export interface CheckEntry {
  readonly id: string;
  readonly severity: Severity | "off";
  /** Whether the annotation `ack-role-resolver.io/allow` can waive the check for one object. Default: false. */
  readonly waivable?: boolean;
  /** Whether `--check` cannot change the severity of the check. Only the limit checks have a fixed severity. */
  readonly fixed?: true;
  /** The problem that the check prevents. */
  readonly reason: string;
  /** The fix of the problem that the check finds: an imperative without a full stop. */
  readonly fix: string;
  /** The fix in mode `carm`, in which no selector sets a role. Default: `fix`. */
  readonly fixInCARM?: string;
  /** A minimal manifest or change in which the check finds a fault. */
  readonly example: string;
  /** Default: none. */
  readonly requires?: readonly Requirement[];
  /** When the check runs. Default: CREATE, UPDATE and AUDIT. */
  readonly on?: readonly Occasion[];
  /** The section of `audit` that reports the faults. Default: `checks`. */
  readonly section?: Section;
  /** What differs when `audit` runs the check on a stored object. */
  readonly inAudit?: Partial<Pick<CheckEntry, "severity" | "waivable" | "requires">>;
  /**
   * Whether every fault of the check counts as new, for example because the check compares the old object with the new
   * object.
   */
  readonly ofChange?: true;
  /**
   * Whether the check also denies requesters whom the other checks only warn, such as controllers.
   */
  readonly bindsControllers?: true;
  /**
   * Whether the check denies only in mode `carm`. In mode `selectors`, CARM maps have no effect, and the check only
   * warns.
   */
  readonly deniesInCARM?: true;
}

/** Returns the fix of the problem in the mode of the controllers. */
export function fixOf({ fix, fixInCARM = fix }: CheckEntry, { mode }: Pick<DecisionSettings, "mode">): string {
  return mode === "carm" ? fixInCARM : fix;
}

/** Returns the fix of a fault, from its repairs if it has some. `fix` is that of its check. */
export function fixOfFault(fault: Pick<Fault, "fix" | "repairs" | "path">, fix: string): string {
  return fault.fix ?? describeRepairs(fault.repairs ?? [], fault.path) ?? fix;
}

/** A check that reads one object or a bounded part of the inventory. */
export interface QuickCheck<Subject> extends CheckEntry {
  /**
   * Whether the subject has what the check is about. Most checks concern few objects, and asking is ten times cheaper
   * than searching for faults. Default: always.
   */
  readonly when?: ((subject: Subject) => boolean) | undefined;
  /** Returns or yields every fault of the subject. `find` reads only the subject and changes nothing. */
  readonly find: (subject: Subject) => Iterable<Fault>;
}

/** Returns the faults that a check finds, or nothing if the subject does not have what the check is about. */
export function findFaults<Subject>(
  { when, find }: Pick<QuickCheck<Subject>, "when" | "find">, subject: Subject,
): Iterable<Fault> {
  return when === undefined || when(subject) ? find(subject) : NO_FAULTS;
}

const NO_FAULTS: readonly never[] = [];

/** A check that scans many objects of the inventory and pauses regularly. */
export interface ScanningCheck<Subject> extends CheckEntry {
  /** Returns every fault of the subject. Changes nothing. */
  readonly scan: (subject: Subject) => Paced<readonly Fault[]>;
}

export type Check<Subject> = QuickCheck<Subject> | ScanningCheck<Subject>;

/** A fault that a check found in one object, and the severity of the fault. */
export interface Finding {
  /** The id of the check. */
  readonly code: string;
  readonly severity: Severity;
  /** Set if the finding is a warning only because of the profile `observe`: `enforce` would deny the object. */
  readonly wouldDeny?: true;
  readonly path: FieldPath;
  /**
   * States the problem and the expected value. The texts `message` and `fix` start in lower case and have no full stop.
   */
  readonly message: string;
  readonly fix: string;
  /** The ways to correct the finding, the most likely first. Absent if only a person can know what is meant. */
  readonly repairs?: readonly Repair[];
  /** Whether the annotation `ack-role-resolver.io/allow` can waive the check. */
  readonly waivable: boolean;
  /** Whether the check is waived for the object. A waived finding never denies. */
  readonly waived: boolean;
  /** The section of `audit` that reports the finding. Default: `checks`. */
  readonly section?: Section;
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

/** Returns `MESSAGE. FIX.`, where FIX starts with a capital letter. */
export function findingSentences({ message, fix }: Pick<FindingText, "message" | "fix">): string {
  return `${message}. ${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}

/**
 * A change of one object, and the data that the checks of the change need. A room adds the data that only its checks
 * read, with `declare module`.
 */
export interface CheckInput {
  /** The object after the change. At DELETE, the deleted object. */
  readonly object: JsonObject;
  /** The stored object at UPDATE and AUDIT; otherwise null. */
  readonly old: JsonObject | null;
  /** Default: UPDATE if `old` is set, else CREATE. */
  readonly operation?: Occasion;
  /** The user that requests the change. Null if the command runs offline; every waiver is then valid. */
  readonly requester: Requester | null;
  readonly origin: Origin;
  /** The current state of the cluster. If null, only the checks that need no other object report faults. */
  readonly inventory?: Inventory | null;
  /** Whether the requester may `use` each selector or identity. Null if no access reviews were made. */
  readonly access?: AccessByName | null;
  /** Admitted changes of other selectors that the inventory does not contain yet. Default: no changes. */
  readonly pending?: PendingChanges;
  /**
   * Whether the checks report every fault as a warning, for example because a cluster controller deletes the object.
   * Checks with `bindsControllers` still deny.
   */
  readonly warnOnly?: boolean;
  /** All stored IAMRoleSelectors. Only `audit` sets them. Default: none. */
  readonly storedSelectors?: readonly JsonObject[];
  /** Set if the object is a template in another object. */
  readonly template?: TemplateContext;
}

/** The data that a check reads in addition to the changed object. */
export interface CheckContext {
  readonly operation: Occasion;
  readonly settings: DecisionSettings;
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** Null offline. */
  readonly requester: Requester | null;
}

/** Returns the operation of a change. */
export function operationOf({ operation, old }: CheckInput): Occasion {
  return operation ?? (old === null ? "CREATE" : "UPDATE");
}

/** Returns the context for checks that compare a change with `inventory`. */
export function contextOf(input: CheckInput, settings: DecisionSettings, inventory: Inventory): CheckContext {
  const { origin, requester } = input;
  return { operation: operationOf(input), settings, inventory, origin, requester };
}

/**
 * Returns whether the change has an old object that is not the new object. An audit passes the same object as old and
 * new.
 */
export function hasOldObject(input: CheckInput): input is CheckInput & { readonly old: JsonObject } {
  return input.old !== null && input.old !== input.object;
}

/**
 * Whether the input contains every namespace and every kind. Manifests often contain only some namespaces of a cluster.
 */
export function isComplete({ origin, settings }: Pick<CheckContext, "origin" | "settings">): boolean {
  return origin === "cluster" || settings.isInputComplete;
}
