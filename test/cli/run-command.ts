import { Readable, Writable } from "node:stream";
import type { ExitStatus, IO } from "../../cli/io.ts";
import { runCommandLine } from "../../cli/program.ts";

export interface Ran {
  readonly status: ExitStatus;
  readonly stdout: string;
  readonly stderr: string;
}

interface Given {
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly terminal?: boolean;
}

/** Runs a command line in this process, as `cli/main.ts` does with the real streams. */
export function runCommand(argv: readonly string[], given: Given = {}): Promise<Ran> {
  return captured((io) => runCommandLine(argv, io), given);
}

/** Runs what takes a process's streams, and gives what it wrote there. */
export async function captured(run: (io: IO) => Promise<ExitStatus>, { stdin = "", environment = {}, terminal = false }: Given = {}): Promise<Ran> {
  const stdout = new Captured(terminal);
  const stderr = new Captured(terminal);
  const io: IO = { stdin: Readable.from([stdin]), stdout, stderr, environment };
  const status = await run(io);
  return { status, stdout: stdout.text, stderr: stderr.text };
}

class Captured extends Writable {
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
