import { Readable, Writable } from "node:stream";
import type { ExitStatus, IO } from "../../cli/io.ts";
import { runCommandLine } from "../../cli/program.ts";

export interface CommandResult {
  readonly status: ExitStatus;
  readonly stdout: string;
  readonly stderr: string;
}

interface ProcessOptions {
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly terminal?: boolean;
  /** The width of the terminal. */
  readonly columns?: number;
}

/** Runs a command line in this process, like `cli/main.ts` with the real streams. */
export function runCommand(argv: readonly string[], options: ProcessOptions = {}): Promise<CommandResult> {
  return captureOutput((io) => runCommandLine(argv, io), options);
}

/** Runs a function with captured streams and returns their text. */
export async function captureOutput(
  run: (io: IO) => Promise<ExitStatus>,
  { stdin = "", environment = {}, terminal = false, columns }: ProcessOptions = {},
): Promise<CommandResult> {
  const stdout = new CapturedStream(terminal, columns);
  const stderr = new CapturedStream(terminal, columns);
  const io: IO = { stdin: Readable.from([stdin]), stdout, stderr, environment };
  const status = await run(io);
  return { status, stdout: stdout.text, stderr: stderr.text };
}

class CapturedStream extends Writable {
  text = "";
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  constructor(terminal: boolean, columns: number | undefined) {
    super();
    this.isTTY = terminal;
    this.columns = columns;
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
