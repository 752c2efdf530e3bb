import { type MaybePaced, type Paced, paced } from "../formats/paced.ts";
import type { FieldPath } from "../formats/json.ts";
import { moveEdits } from "./repair.ts";
import { type Check, type CheckEntry, type Fault, findFaults } from "./check.ts";

/** Checks that examine the same subject. */
export interface BoundChecks {
  readonly checks: readonly CheckEntry[];
  /** Returns the faults of the new object that a check of the list finds, in steps if that can take long. */
  readonly faults: (index: number) => MaybePaced<readonly Fault[]>;
  /** The same for the old object. Null if no old object exists. */
  readonly oldFaults: ((index: number) => MaybePaced<readonly Fault[]>) | null;
}

/** Binds checks to the subject that they examine, and to the old subject. */
export function bindChecks<Subject>(
  checks: readonly Check<Subject>[], subject: Subject, old: Subject | null,
): BoundChecks {
  const searches = searchesOf(checks);
  return {
    checks,
    faults: (index) => faultsAt(index, searches, subject),
    oldFaults: old === null ? null : (index) => faultsAt(index, searches, old),
  };
}

/** Returns the checks of an object that another one contains. `moved` returns the path of its fields in the other. */
export function bindIn(moved: (path: FieldPath) => FieldPath, { checks, faults, oldFaults }: BoundChecks): BoundChecks {
  return {
    checks,
    faults: (index) => withPaths(moved, faults(index)),
    oldFaults: oldFaults === null ? null : (index) => withPaths(moved, oldFaults(index)),
  };
}

function withPaths(
  moved: (path: FieldPath) => FieldPath, found: MaybePaced<readonly Fault[]>,
): MaybePaced<readonly Fault[]> {
  if ("next" in found) return laterWithPaths(moved, found);
  return found.map((fault) => withPath(moved, fault));
}

function withPath(moved: (path: FieldPath) => FieldPath, fault: Fault): Fault {
  const { repairs } = fault;
  const path = moved(fault.path);
  return repairs === undefined ? { ...fault, path } : { ...fault, path, repairs: moveEdits(repairs, moved) };
}

function* laterWithPaths(
  moved: (path: FieldPath) => FieldPath, work: Paced<readonly Fault[]>,
): Paced<readonly Fault[]> {
  const faults = yield* work;
  return faults.map((fault) => withPath(moved, fault));
}

function faultsAt<Subject>(
  index: number, searches: readonly Search<Subject>[], subject: Subject,
): MaybePaced<readonly Fault[]> {
  return searches[index]?.(subject) ?? NONE;
}

/** Returns the faults that a check finds in the subject. */
type Search<Subject> = (subject: Subject) => MaybePaced<readonly Fault[]>;

const SEARCHES = new WeakMap<readonly CheckEntry[], readonly Search<never>[]>();

/**
 * Returns the search of each check. Makes them once for each list, because V8 needs ten times as long to read a field
 * of checks, of which hardly two have the same fields, as to call a function.
 */
function searchesOf<Subject>(checks: readonly Check<Subject>[]): readonly Search<Subject>[] {
  const known = SEARCHES.get(checks);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made from the same list
  if (known !== undefined) return known as readonly Search<Subject>[];
  const searches = checks.map((check) => searchOf(check));
  SEARCHES.set(checks, searches);
  return searches;
}

function searchOf<Subject>(check: Check<Subject>): Search<Subject> {
  if ("scan" in check) return check.scan;
  const { when, find } = check;
  const search = { when, find };
  return (subject) => listed(findFaults(search, subject));
}

const NONE: readonly never[] = [];

/** The number of faults that are found or compared between two pauses. */
export const FAULTS_BETWEEN_PAUSES = 200;

function listed(found: Iterable<Fault>): MaybePaced<readonly Fault[]> {
  if (Array.isArray(found)) return found;
  const faults: Fault[] = [];
  const iterator = found[Symbol.iterator]();
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
    if (faults.push(next.value) === FAULTS_BETWEEN_PAUSES) return furtherFaults(iterator, faults);
  }
  return faults;
}

function* furtherFaults(iterator: Iterator<Fault>, faults: Fault[]): Paced<readonly Fault[]> {
  yield faults.length;
  yield* paced({ [Symbol.iterator]: () => iterator }, FAULTS_BETWEEN_PAUSES, (fault) => faults.push(fault) > 0);
  return faults;
}
