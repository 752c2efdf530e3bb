import type { Clock } from "../shared/inventory/clock.ts";

/** Settles as `work` does, or rejects with what `late` makes once `limitMs` have passed. The work itself goes on. */
export function within<T>(clock: Pick<Clock, "schedule">, limitMs: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(limitMs, () => reject(late()));
    work.then(resolve, reject).finally(cancel);
  });
}
