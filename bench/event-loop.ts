import { performance } from "node:perf_hooks";
import process from "node:process";

/** The times of a task, in ms. */
export interface TaskTimes {
  /** The longest time between two turns of the event loop. */
  readonly blockMs: number;
  /** The time until the task settles. */
  readonly totalMs: number;
}

/**
 * Runs a task and measures how long it blocks the event loop. Rejects if the task rejects or does not settle within
 * `limitMs`.
 */
export async function measureBlock(run: () => Promise<unknown>, limitMs: number): Promise<TaskTimes> {
  const start = stamp();
  const progress = { isDone: false };
  const running = run().finally(() => void (progress.isDone = true));
  // The loop ignores a rejection, which is reported after the loop.
  running.catch(() => undefined);
  let blockMs = 0;
  // The first turn of the loop includes the synchronous part of `run`.
  let turn = start;
  do {
    // Each turn is measured.
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setImmediate(resolve));
    const now = stamp();
    // Uses the CPU time if it is shorter, because it excludes the time in which other processes use the processor.
    blockMs = Math.max(blockMs, Math.min(now.wallMs - turn.wallMs, now.cpuMs - turn.cpuMs));
    turn = now;
    // Ends the loop after `limitMs`, because an endless loop would keep the process alive.
    if (turn.wallMs - start.wallMs > limitMs) throw new Error(`the task did not settle within ${limitMs} ms`);
  } while (!progress.isDone);
  await running;
  return { blockMs, totalMs: turn.wallMs - start.wallMs };
}

interface Stamp {
  readonly wallMs: number;
  readonly cpuMs: number;
}

function stamp(): Stamp {
  const { user, system } = process.threadCpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1_000 };
}
