import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const GRACE_MS = 10_000;
const LOG_LINES_SHOWN = 20;

/** A process of the cluster: its output goes to a file, and it never outlives the test process. */
export interface ManagedProcess {
  readonly pid: number;
  /** Settles once the process is gone. */
  readonly ended: Promise<void>;
  /** True once the process is gone. */
  hasEnded(): boolean;
  /** Sends the signal and waits; a process that ignores it is killed after `graceMs`, 10 s by default. */
  stop(signal: NodeJS.Signals, graceMs?: number): Promise<void>;
  /** The last lines that it wrote. */
  logTail(): Promise<string>;
}

/** Starts `command` with an empty environment but for `HOME`, so that no proxy or configuration of the machine reaches it. */
export async function startProcess(command: string, args: readonly string[], home: string, logFile: string): Promise<ManagedProcess> {
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
    throw new Error(`${command} started without a process id`);
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
 * A shell that reads from a pipe which only this process holds: when this process dies, by whatever signal, the read ends and the
 * child is killed. Otherwise a killed test run would leave an API server of 300 MB behind.
 */
function startGuard(pid: number): ChildProcess {
  return spawn("/bin/sh", ["-c", 'trap "" HUP INT TERM; read -r line; kill -KILL "$0"', String(pid)], { stdio: ["pipe", "ignore", "ignore"] });
}

async function endGuard(guard: ChildProcess): Promise<void> {
  if (guard.exitCode === null && guard.signalCode === null) {
    const exited = once(guard, "exit");
    guard.kill("SIGKILL");
    await exited;
  }
}
