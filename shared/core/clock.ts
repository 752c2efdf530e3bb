/** Provides the current time and timers. Tests pass a fake clock. */
export interface Clock {
  /** Returns the current time, in ms since the Unix epoch. */
  now(): number;
  /** Calls `run` once after `delayMs`. The returned function cancels the call. */
  schedule(delayMs: number, run: () => void): () => void;
}

/** A clock that measures durations correctly even if the system time changes. */
export interface SteadyClock extends Clock {
  /**
   * Returns the time since an arbitrary start, in ms. The returned time never decreases, but it may stop while the
   * machine sleeps.
   */
  steady(): number;
}

/**
 * The maximum delay of setTimeout, 24.8 days. If the delay is longer, setTimeout runs the callback immediately
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

/**
 * Settles like `work`, or rejects with `timeoutError()` if `work` takes longer than `limitMs`. Does not cancel `work`.
 */
export function withTimeout<T>(
  clock: Pick<Clock, "schedule">, limitMs: number, work: Promise<T>, timeoutError: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(limitMs, () => reject(timeoutError()));
    work.then(resolve, reject).finally(cancel);
  });
}

/** Waits for `delayMs`. Resolves early if `signal` is aborted. */
export async function sleep(clock: Pick<Clock, "schedule">, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || delayMs <= 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const cancel = clock.schedule(delayMs, end);
  signal.addEventListener("abort", end);
  await promise;
  signal.removeEventListener("abort", end);
  cancel();
}

/**
 * Runs `step` again and again until `signal` aborts. Each step returns the time until the next step, in ms. Steps never
 * overlap. Rejects if a step rejects.
 */
export async function repeat(
  clock: Pick<Clock, "schedule">, signal: AbortSignal, step: () => Promise<number>,
): Promise<void> {
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- steps are sequential
    await sleep(clock, await step(), signal);
  }
}
