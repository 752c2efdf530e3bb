import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { get } from "node:http";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { stringAt } from "../../shared/decisions/kubernetes/json.ts";

/** A server that runs in a separate process. */
export interface Program {
  readonly process: ChildProcess;
  /** On 127.0.0.1. */
  readonly port: number;
  /** The time from the start of the process until the server was ready, in ms. */
  readonly readyMs: number;
}

const READY_LIMIT_MS = 20_000;

/** Starts the bare server, which prints its port. */
export async function startBareServer(file: string, args: readonly string[] = []): Promise<Program> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(child.stdout)) {
    return { process: child, port: Number(line), readyMs: performance.now() - startMs };
  }
  throw new Error("the bare server exited before it listened");
}

/** Starts the built sidecar and waits until /readyz returns 200. */
export async function startSidecar(
  command: string, flags: readonly string[], environment: Readonly<Record<string, string>>,
): Promise<Program> {
  const startMs = performance.now();
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
  const argv = [command, "sidecar", "--group", "s3.services.k8s.aws", ...listen, ...flags];
  const child = spawn(process.execPath, argv, { env: environment, stdio: ["ignore", "inherit", "pipe"] });
  const lines: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    lines.push(line);
    const entry: unknown = JSON.parse(line);
    const [address, healthAddress] = [stringAt(entry, "address"), stringAt(entry, "health_address")];
    if (address === null || healthAddress === null) continue;
    // Discards the remaining log lines, because a full pipe would block the sidecar.
    child.stderr.resume();
    await isReady(`http://${healthAddress}/readyz`, startMs);
    return { process: child, port: Number(address.split(":").at(-1)), readyMs: performance.now() - startMs };
  }
  throw new Error(`the sidecar exited before it listened: ${lines.join("\\n")}`);
}

async function isReady(url: string, startMs: number): Promise<void> {
  while (performance.now() - startMs < READY_LIMIT_MS) {
    // oxlint-disable-next-line no-await-in-loop -- polls until it is ready
    if ((await statusOf(url)) === 200) return;
    // oxlint-disable-next-line no-await-in-loop -- polls until it is ready
    await sleep(2);
  }
  throw new Error(`${url} did not return 200 within ${READY_LIMIT_MS / 1000} s`);
}

function statusOf(url: string): Promise<number> {
  return new Promise((resolve) => {
    get(url, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on("error", () => resolve(0));
  });
}

export async function stop({ process: child }: Pick<Program, "process">): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
}

/** Returns the resident memory of a process, in MB. Requires Linux. */
export async function residentMB({ process: child }: Program): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Returns the processor time that a process has used, in ms. The resolution is 10 ms. Requires Linux. */
export async function processorMs(pid: number | undefined): Promise<number> {
  const [, fields = ""] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}

/** Returns the run time of a program, in ms. Rejects if the exit status of the program is not 0. */
export async function runTimeMs(argv: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "ignore", "inherit"] });
  const status: unknown = (await once(child, "close"))[0];
  if (status !== 0) throw new Error(`${argv.join(" ")} exited with ${String(status)}`);
  return performance.now() - startMs;
}
