import type { Paced } from "../../shared/formats/paced.ts";
import { type SteadyClock, systemClock } from "../../shared/core/clock.ts";
import type { Environment } from "../../shared/server/read-settings.ts";
import type { IO } from "../io.ts";
import { widthOf } from "./terminal.ts";

/** The time from the start of the work to the first progress line, in ms. */
const DELAY_MS = 1000;
const INTERVAL_MS = 100;
/** The control sequence that returns to the start of the line and erases the line (ECMA-48 EL). */
const CLEAR = "\r\u001B[K";

interface ProgressIO extends Pick<IO, "stderr" | "environment"> {
  /** Returns the current time in ms. Default: the time since the start of the process. */
  readonly now?: () => number;
}

/**
 * A progress line on standard error. The line is shown only on a terminal, and not in CI: some CI systems emulate a
 * terminal, but save each update of the line in the log.
 */
export class Progress {
  readonly #io: ProgressIO;
  readonly #now: () => number;
  readonly #isEnabled: boolean;
  #next: number;
  #shown = false;

  constructor(io: ProgressIO) {
    this.#io = io;
    this.#now = io.now ?? ((): number => performance.now());
    this.#isEnabled = isInteractive(io);
    this.#next = this.#now() + DELAY_MS;
  }

  /** Shows the text, unless the last update was less than 100 ms ago. A loop can call `update` for each item. */
  update(text: string): void {
    if (!this.#isEnabled || this.#now() < this.#next) return;
    this.#next = this.#now() + INTERVAL_MS;
    this.#shown = true;
    const { stderr, environment } = this.#io;
    // A line that fills the last column would wrap, and only its second half would be erased.
    stderr.write(`${CLEAR}${text.slice(0, widthOf(stderr, environment) - 1)}`);
  }

  /** Erases the progress line. Call `clear` before writing other output. */
  clear(): void {
    if (this.#shown) this.#io.stderr.write(CLEAR);
    this.#shown = false;
  }
}

function isInteractive({ stderr, environment }: ProgressIO): boolean {
  return stderr.isTTY === true && environment["TERM"] !== "dumb" && !isCI(environment);
}

/** CI systems set CI, usually to `true`. */
function isCI({ CI = "" }: Environment): boolean {
  return CI !== "" && CI !== "false";
}

/** Runs a paced task without pauses, and shows its progress. `textOf` receives the number that the task yields. */
export function runWithProgress<Result>(
  work: Paced<Result>, io: ProgressIO, textOf: (visited: number) => string,
): Result {
  const progress = new Progress(io);
  for (;;) {
    const step = work.next();
    if (step.done === true) {
      progress.clear();
      return step.value;
    }
    progress.update(textOf(step.value));
  }
}

/** Returns the result of `visit` for each item in order, and shows the progress, such as `7 of 9 objects checked`. */
export function mapWithProgress<Item, Result>(
  items: readonly Item[], io: ProgressIO, done: string, visit: (item: Item) => Result,
): Result[] {
  const progress = new Progress(io);
  const results = items.map((item, i) => {
    progress.update(`${i} of ${items.length} ${done}`);
    return visit(item);
  });
  progress.clear();
  return results;
}

/** Shows the text and the elapsed time until `work` settles. */
export async function showElapsed<Result>(
  text: string, io: ProgressIO, work: Promise<Result>, clock: SteadyClock = systemClock,
): Promise<Result> {
  if (!isInteractive(io)) return await work;
  const progress = new Progress({ ...io, now: () => clock.steady() });
  const startMs = clock.steady();
  const tick = (): void => {
    progress.update(`${text}: ${Math.round((clock.steady() - startMs) / 1000)} s`);
    cancel = clock.schedule(DELAY_MS, tick);
  };
  let cancel = clock.schedule(DELAY_MS, tick);
  try {
    return await work;
  } finally {
    cancel();
    progress.clear();
  }
}
