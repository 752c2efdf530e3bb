import * as fc from "fast-check";
import { measureBlock, type TaskTimes } from "../../bench/event-loop.ts";

/** A fuzzed part of the project. */
export interface Target {
  readonly name: string;
  /** Checks random inputs until the time limit. Rejects if an input fails, with the smallest failing input. */
  readonly check: (options: CheckOptions) => Promise<CheckResult>;
}

interface CheckOptions {
  readonly seed: number;
  readonly milliseconds: number;
}

interface CheckResult {
  readonly runs: number;
  readonly longestBlockMs: number;
  /** The input that blocked the event loop for longest. */
  readonly blocking: string;
  /** The longest time until a response. */
  readonly slowestMs: number;
  /** The failure report; null if no input failed. */
  readonly failure: string | null;
}

/**
 * No input may block the event loop of a server for longer than 100 ms. The value is twice this time, because a busy
 * machine can be half as fast.
 */
const MAX_BLOCK_MS = 200;
/** An input fails if no response arrives within this time. A response takes less than 1 s, except on a busy machine. */
const MAX_RESPONSE_MS = 5_000;
const MAX_PRINTED = 1_000;

/** How a target expands a random input, and how it checks the expanded input. */
interface Steps<Input, Expanded> {
  readonly input: fc.Arbitrary<Input>;
  /** Returns the data that the project reads. The time of this function is not measured. */
  readonly expand: (input: Input) => Expanded | Promise<Expanded>;
  /** Throws if the response is wrong. */
  readonly run: (expanded: Expanded) => unknown;
  /** The longest time for which the target may block the event loop, in ms. Default: 200. */
  readonly maxBlockMs?: number;
}

export function target<Input, Expanded>(
  name: string, { input, expand, run, maxBlockMs = MAX_BLOCK_MS }: Steps<Input, Expanded>,
): Target {
  return {
    name,
    async check({ seed, milliseconds }) {
      let worst: TaskTimes = { blockMs: 0, totalMs: 0 };
      let blocking = "";
      let last = { input: "", done: Promise.resolve() };
      const checkOne = async (value: Input): Promise<void> => {
        const expanded = await expand(value);
        const { blockMs, totalMs } = await measureBlock(async () => run(expanded), MAX_RESPONSE_MS);
        if (blockMs > worst.blockMs) blocking = JSON.stringify(value).slice(0, MAX_PRINTED);
        worst = { blockMs: Math.max(blockMs, worst.blockMs), totalMs: Math.max(totalMs, worst.totalMs) };
        if (blockMs > maxBlockMs) throw new Error(`the event loop was blocked for ${Math.round(blockMs)} ms`);
      };
      const property = fc.asyncProperty(input, async (value) => {
        last = { input: JSON.stringify(value), done: checkOne(value) };
        await last.done;
      });
      const details = await fc.check(property, {
        seed, numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: milliseconds, markInterruptAsFailure: false,
      });
      // The time limit can interrupt the check of the last input. A failure of this check counts too.
      const interrupted = await last.done.then(() => null, (error: unknown) => error);
      const error = details.failed ? details.errorInstance : interrupted;
      const report = details.failed ? fc.defaultReportMessage(details) : `Input: ${last.input}`;
      const failure = error === null ? null : `${report ?? ""}\n${reasonOf(error)}`;
      return { runs: details.numRuns, longestBlockMs: worst.blockMs, blocking, slowestMs: worst.totalMs, failure };
    },
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
