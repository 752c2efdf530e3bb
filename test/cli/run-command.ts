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
}

/** Runs a command line in this process, like `cli/main.ts` with the real streams. */
export function runCommand(argv: readonly string[], options: ProcessOptions = {}): Promise<CommandResult> {
  return captureOutput((io) => runCommandLine(argv, io), options);
}

/** Runs a function with captured streams and returns their text. */
export async function captureOutput(
  run: (io: IO) => Promise<ExitStatus>, { stdin = "", environment = {}, terminal = false }: ProcessOptions = {},
): Promise<CommandResult> {
  const stdout = new CapturedStream(terminal);
  const stderr = new CapturedStream(terminal);
  const io: IO = { stdin: Readable.from([stdin]), stdout, stderr, environment };
  const status = await run(io);
  return { status, stdout: stdout.text, stderr: stderr.text };
}

class CapturedStream extends Writable {
  text = "";
  readonly isTTY: boolean;
  constructor(terminal: boolean) {
    super();
    this.isTTY = terminal;
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
