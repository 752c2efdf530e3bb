import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** What the rows of one run share: a temporary folder, and the programs that `shared` functions have started. */
export class Stage {
  readonly folder: string;
  /** Whether the run only tests the benchmark itself, with small sizes and one round. */
  readonly isQuick: boolean;
  readonly #closers: (() => unknown)[] = [];

  private constructor(folder: string, isQuick: boolean) {
    this.folder = folder;
    this.isQuick = isQuick;
  }

  static async open(isQuick: boolean): Promise<Stage> {
    return new Stage(await mkdtemp(path.join(tmpdir(), "ack-role-resolver-bench-")), isQuick);
  }

  file(name: string): string {
    return path.join(this.folder, name);
  }

  /** Returns the size of a measurement: `quick` in a quick run. */
  size(full: number, quick: number): number {
    return this.isQuick ? quick : full;
  }

  /** Calls the function when the run ends. */
  teardown(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- in reverse order
    for (const close of this.#closers.toReversed()) await close();
    await rm(this.folder, { recursive: true, maxRetries: 3 });
  }
}

/** Returns a function that calls `open` once for each stage, when a row first needs the result. */
export function shared<Result>(open: (stage: Stage) => Promise<Result>): (stage: Stage) => Promise<Result> {
  const opened = new WeakMap<Stage, Promise<Result>>();
  return (stage) => {
    const result = opened.get(stage) ?? open(stage);
    opened.set(stage, result);
    return result;
  };
}
