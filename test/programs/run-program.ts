import { spawn } from "node:child_process";
import path from "node:path";

/**
 * Environment variables with which Node.js stores the compiled modules of this project, so that each further start
 * takes half of the CPU time: https://nodejs.org/api/module.html#module-compile-cache
 */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: path.join(import.meta.dirname, "../../.tap/compile-cache"),
} as const;

interface ProgramOptions {
  readonly cwd: string;
  /** The environment of the program. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: empty. */
  readonly input?: string;
  /** When this signal aborts, the program is killed and the promise rejects. */
  readonly signal?: AbortSignal;
}

export interface ProgramResult {
  /** The exit code, or the signal that ended the program. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program. Resolves when the program exits with any exit code. Rejects if the program cannot be started or is
 * aborted.
 */
export async function runProgram(
  command: string, args: readonly string[], options: ProgramOptions,
): Promise<ProgramResult> {
  const { input = "", ...rest } = options;
  const child = spawn(command, args, rest);
  const closed = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? -1));
  });
  // A program can exit before it reads its input. The broken pipe that results is not an error.
  child.stdin.on("error", () => {}).end(input);
  const [code, stdout, stderr] = await Promise.all([
    closed,
    child.stdout.setEncoding("utf8").toArray(),
    child.stderr.setEncoding("utf8").toArray(),
  ]);
  return { code, stdout: stdout.join(""), stderr: stderr.join("") };
}

/** Runs a tool. Rejects with the output of the program unless it exits with status 0. */
export async function runTool(command: string, args: readonly string[], cwd: string): Promise<ProgramResult> {
  const result = await runProgram(command, args, { cwd }).catch((error: unknown) => {
    throw new Error(`${command} could not be started; check that it is on the PATH`, { cause: error });
  });
  if (result.code === 0) return result;
  throw new Error(`${command} ${args.join(" ")} exited with ${result.code}:\n${result.stdout}${result.stderr}`);
}
