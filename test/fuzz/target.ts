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
  /** The input of the longest block. */
  readonly blocking: string;
  /** The longest time until a response. */
  readonly slowestMs: number;
  /** Null if no input failed. */
  readonly failure: string | null;
}

/** No input may block the event loop for longer than this. */
const MAX_BLOCK_MS = 1_000;
/** An input without a response in this time fails. */
const MAX_RESPONSE_MS = 2_000;
const MAX_PRINTED = 1_000;

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
      const times = new Times();
      let blocking = "";
      let last = { input: "", done: Promise.resolve() };
      const checkOne = async (value: Input): Promise<void> => {
        const expanded = await expand(value);
        const before = times.longestBlockMs;
        const blockMs = await times.measure(async () => run(expanded));
        if (blockMs > before) blocking = JSON.stringify(value).slice(0, MAX_PRINTED);
        if (blockMs > MAX_BLOCK_MS) throw new Error(`the event loop was blocked for ${Math.round(blockMs)} ms`);
      };
      const property = fc.asyncProperty(input, async (value) => {
        last = { input: JSON.stringify(value), done: checkOne(value) };
        await last.done;
      });
      const details = await fc.check(property, {
        seed, numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: milliseconds, markInterruptAsFailure: false,
      });
      // The time limit interrupts the last input. Its failure counts too.
      const interrupted = await last.done.then(() => null, (error: unknown) => error);
      const error = details.failed ? details.errorInstance : interrupted;
      const report = details.failed ? fc.defaultReportMessage(details) : `Input: ${last.input}`;
      const failure = error === null ? null : `${report ?? ""}\n${reasonOf(error)}`;
      const { longestBlockMs, slowestMs } = times;
      return { runs: details.numRuns, longestBlockMs, blocking, slowestMs, failure };
    },
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

/** Measures the time until each response, and the longest time between two turns of the event loop. */
class Times {
  longestBlockMs = 0;
  slowestMs = 0;

  /** Returns the longest block during `run`, in ms. Rejects if `run` rejects or does not settle in time. */
  async measure(run: () => Promise<unknown>): Promise<number> {
    const start = stamp();
    const progress = { isDone: false };
    const running = run().finally(() => void (progress.isDone = true));
    // The rejection is reported after the loop.
    running.catch(() => undefined);
    let longest = 0;
    // The first turn of the loop includes the synchronous part of `run`.
    let turn = start;
    do {
      await new Promise((resolve) => setImmediate(resolve));
      const now = stamp();
      // The CPU time excludes the time in which other processes use the processor.
      longest = Math.max(longest, Math.min(now.wallMs - turn.wallMs, now.cpuMs - turn.cpuMs));
      turn = now;
      // The loop must end, because it would keep the process alive.
      if (turn.wallMs - start.wallMs > MAX_RESPONSE_MS) throw new Error(`no response in ${MAX_RESPONSE_MS} ms`);
    } while (!progress.isDone);
    this.longestBlockMs = Math.max(this.longestBlockMs, longest);
    this.slowestMs = Math.max(this.slowestMs, turn.wallMs - start.wallMs);
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
