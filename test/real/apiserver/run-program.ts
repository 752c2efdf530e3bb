import { spawn } from "node:child_process";

export interface ProgramOptions {
  readonly cwd: string;
  /** Default: that of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: nothing. */
  readonly input?: string;
  /** Ends the program when aborted, and rejects. */
  readonly signal?: AbortSignal;
}

export interface ProgramResult {
  /** The exit code, or the signal that ended the program. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Rejects when it cannot be started or is aborted; a code other than 0 is a result. */
export async function runProgram(command: string, args: readonly string[], options: ProgramOptions): Promise<ProgramResult> {
  const { input = "", ...rest } = options;
  const child = spawn(command, args, rest);
  const closed = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? -1));
  });
  // A program may end without having read its input: a broken pipe is no failure then.
  child.stdin.on("error", () => {}).end(input);
  const [code, stdout, stderr] = await Promise.all([
    closed,
    child.stdout.setEncoding("utf8").toArray(),
    child.stderr.setEncoding("utf8").toArray(),
  ]);
  return { code, stdout: stdout.join(""), stderr: stderr.join("") };
}
