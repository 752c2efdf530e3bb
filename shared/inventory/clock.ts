/** The current time and timers. Tests pass a fake clock. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Calls `run` once after `delayMs`. Returns a function that cancels the call. */
  schedule(delayMs: number, run: () => void): () => void;
}

/** A clock that also measures durations correctly when the system time is changed. */
export interface SteadyClock extends Clock {
  /** Milliseconds since an arbitrary start. Never decreases. May stop while the machine sleeps. */
  steady(): number;
}

/**
 * The longest delay of setTimeout, 24.8 days. It runs a longer one immediately
 * (https://nodejs.org/api/timers.html#settimeoutcallback-delay-args).
 */
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

/** Settles as `work` does, or rejects with `timeoutError()` after `limitMs`. Does not cancel the work. */
export function withTimeout<T>(
  clock: Pick<Clock, "schedule">, limitMs: number, work: Promise<T>, timeoutError: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(limitMs, () => reject(timeoutError()));
    work.then(resolve, reject).finally(cancel);
  });
}
