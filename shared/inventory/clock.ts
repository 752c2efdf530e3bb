/** Time as an argument, so that tests need not wait for it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` once after `delayMs`; the function returned calls it off. */
  schedule(delayMs: number, run: () => void): () => void;
}

/** Two times that differ tell what has passed between them, also where somebody set the clock meanwhile. */
export interface SteadyClock extends Clock {
  /** Milliseconds since some moment of this process. Never goes back; may stand still while the machine sleeps. */
  steady(): number;
}

/** setTimeout's longest, 24.8 days: it runs anything longer at once (https://nodejs.org/api/timers.html#settimeoutcallback-delay-args). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: SteadyClock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  schedule(delayMs, run) {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      const long = leftMs > LONGEST_TIMER_MS;
      timer = setTimeout(long ? () => wait(leftMs - LONGEST_TIMER_MS) : run, long ? LONGEST_TIMER_MS : leftMs);
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Settles as `work` does, or rejects with what `late` makes once `limitMs` have passed. The work itself goes on. */
export function withTimeout<T>(clock: Pick<Clock, "schedule">, limitMs: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(limitMs, () => reject(late()));
    work.then(resolve, reject).finally(cancel);
  });
}
