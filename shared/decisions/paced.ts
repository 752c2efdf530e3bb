/**
 * Long work that pauses at each `yield` and returns its result. A pause yields how many items the current loop has
 * visited, for a progress line. `drain` runs the work without a pause. `runInSlices` of shared/server/slices.ts lets
 * other work run at each pause.
 */
export type Paced<Result> = Generator<number, Result, void>;

/**
 * Visits each item and pauses after every `every` items. Returns true after the last item, or false as soon as `visit`
 * returns false.
 */
export function* paced<Item>(items: Iterable<Item>, every: number, visit: (item: Item) => boolean): Paced<boolean> {
  let visited = 0;
  for (const item of items) {
    if (!visit(item)) return false;
    if (++visited % every === 0) yield visited;
  }
  return true;
}

/** Runs paced work to its end without a pause, and returns its result. */
export function drain<Result>(work: Paced<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
