/** A long piece of work that may be put off at each null that it yields, and returns its result. */
export type Steps<Result> = Generator<null, Result>;

/** Does all of it at once. */
export function finish<Result>(steps: Iterator<unknown, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** What an iterable yields beside its pauses, as steps. */
export function* gather<Item extends object>(items: Iterable<Item | null>): Steps<Item[]> {
  const gathered: Item[] = [];
  for (const item of items) {
    if (item === null) yield null;
    else gathered.push(item);
  }
  return gathered;
}
