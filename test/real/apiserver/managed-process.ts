import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const GRACE_MS = 10_000;
const LOG_LINES_SHOWN = 20;

/** A process of the cluster. The process writes to a log file, and is killed when the test process exits. */
export interface ManagedProcess {
  readonly pid: number;
  /** Resolves when the process has exited. */
  readonly ended: Promise<void>;
  /** Returns whether the process has exited. */
  hasEnded(): boolean;
  /** Sends the signal and waits for the exit. Kills the process after `graceMs`, by default 10 s. */
  stop(signal: NodeJS.Signals, graceMs?: number): Promise<void>;
  /** Returns the last lines of the log file. */
  logTail(): Promise<string>;
}

/**
 * Starts `command` with no environment variables except `HOME`, so that no proxy or configuration of the machine
 * applies.
 */
export async function startProcess(
  command: string, args: readonly string[], home: string, logFile: string,
): Promise<ManagedProcess> {
  const log = await open(logFile, "a");
  const child = spawn(command, args, { cwd: home, env: { HOME: home }, stdio: ["ignore", log.fd, log.fd] });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  try {
    await once(child, "spawn");
  } finally {
    await log.close();
  }
  const pid = child.pid;
  if (pid === undefined) {
    throw new Error(`${command} has no process ID`);
  }
  const guard = startGuard(pid);
  const ended = exited.then(() => endGuard(guard));
  return {
    pid,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    stop: async (signal, graceMs = GRACE_MS) => {
      child.kill(signal);
      await killUnlessEnded(child, ended, graceMs);
    },
    logTail: async () => (await readFile(logFile, "utf8")).trimEnd().split("\n").slice(-LOG_LINES_SHOWN).join("\n"),
  };
}

async function killUnlessEnded(child: ChildProcess, ended: Promise<void>, graceMs: number): Promise<void> {
  const grace = new AbortController();
  const killed = delay(graceMs, undefined, { signal: grace.signal }).then(
    () => child.kill("SIGKILL"),
    () => false,
  );
  await ended;
  grace.abort();
  await killed;
}

/**
 * Starts a shell that reads from a pipe of this process. When this process ends, even by SIGKILL, the read ends and the
 * shell kills the process `pid`. Without this shell, a killed test run would leave an API server running, which uses
 * 300 MB.
 */
function startGuard(pid: number): ChildProcess {
  const script = 'trap "" HUP INT TERM; read -r line; kill -KILL "$0"';
  return spawn("/bin/sh", ["-c", script, String(pid)], { stdio: ["pipe", "ignore", "ignore"] });
}

async function endGuard(guard: ChildProcess): Promise<void> {
  if (guard.exitCode === null && guard.signalCode === null) {
    const exited = once(guard, "exit");
    guard.kill("SIGKILL");
    await exited;
  }
}
