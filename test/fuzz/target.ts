import { performance } from "node:perf_hooks";
import process from "node:process";
import * as fc from "fast-check";

/** A fuzzed part of the project. */
export interface Target {
  readonly name: string;
  /** Checks random inputs until the time limit. Rejects if an input fails, with the smallest failing input. */
  readonly check: (options: CheckOptions) => Promise<CheckResult>;
}

export interface CheckOptions {
  readonly seed: number;
  readonly milliseconds: number;
}

export interface CheckResult {
  readonly runs: number;
  readonly longestBlockMs: number;
  /** Null if no input failed. */
  readonly failure: string | null;
}

/** No input may block the event loop for longer than this. */
const MAX_BLOCK_MS = 1_000;

/** How a target expands a random input, and how it checks the expanded input. */
interface Steps<Input, Expanded> {
  readonly input: fc.Arbitrary<Input>;
  /** Returns the data that the project reads. The time is not measured. */
  readonly expand: (input: Input) => Expanded | Promise<Expanded>;
  /** Throws if the response is wrong. */
  readonly run: (expanded: Expanded) => unknown;
}

export function target<Input, Expanded>(name: string, { input, expand, run }: Steps<Input, Expanded>): Target {
  return {
    name,
    async check({ seed, milliseconds }) {
      const block = new LongestBlock();
      const property = fc.asyncProperty(input, async (value) => {
        const expanded = await expand(value);
        const blockMs = await block.measure(async () => run(expanded));
        if (blockMs > MAX_BLOCK_MS) throw new Error(`the event loop was blocked for ${Math.round(blockMs)} ms`);
      });
      const details = await fc.check(property, {
        seed, numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: milliseconds, markInterruptAsFailure: false,
      });
      const error = details.failed ? details.errorInstance : null;
      const reason = error instanceof Error ? error.stack ?? error.message : String(error);
      const failure = details.failed ? `${fc.defaultReportMessage(details) ?? "failed"}\n${reason}` : null;
      return { runs: details.numRuns, longestBlockMs: block.longestMs, failure };
    },
  };
}

/** Measures the longest time between two turns of the event loop. */
class LongestBlock {
  longestMs = 0;

  /** Returns the longest block during `run`, in ms. Rejects if `run` rejects. */
  async measure(run: () => Promise<unknown>): Promise<number> {
    let longest = 0;
    const progress = { isDone: false };
    // The first turn of the loop includes the synchronous part of `run`.
    let turn = stamp();
    const running = run().finally(() => void (progress.isDone = true));
    // The rejection is reported after the loop.
    running.catch(() => undefined);
    do {
      await new Promise((resolve) => setImmediate(resolve));
      const now = stamp();
      // The CPU time excludes the time in which other processes use the processor.
      longest = Math.max(longest, Math.min(now.wallMs - turn.wallMs, now.cpuMs - turn.cpuMs));
      turn = now;
    } while (!progress.isDone);
    this.longestMs = Math.max(this.longestMs, longest);
    await running;
    return longest;
  }
}

interface Stamp {
  readonly wallMs: number;
  readonly cpuMs: number;
}

function stamp(): Stamp {
  const { user, system } = process.threadCpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1_000 };
}
