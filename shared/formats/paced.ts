/**
 * A long task that pauses at each `yield` and returns its result. Each `yield` passes the number of items that the
 * current loop has visited, for a progress line. `drain` runs the task without pauses. `runInSlices` of
 * shared/server/slices.ts runs other work during each pause.
 */
export type Paced<Result> = Generator<number, Result, void>;

/** A result, or a task that returns it if it takes long. */
export type MaybePaced<Result> = Result | Paced<Result>;

/**
 * Visits each item and pauses after every `every` items. Stops and returns false when `visit` returns false. Returns
 * true after the last item.
 */
export function* paced<Item>(items: Iterable<Item>, every: number, visit: (item: Item) => boolean): Paced<boolean> {
  let visited = 0;
  for (const item of items) {
    if (!visit(item)) return false;
    if (++visited % every === 0) yield visited;
  }
  return true;
}

/** Runs a paced task without pauses and returns its result. */
export function drain<Result>(work: Paced<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
