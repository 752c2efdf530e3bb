import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject } from "../../shared/formats/json.ts";
import { get } from "../loopback-request.ts";
import { COMPILE_CACHE } from "../programs/run-program.ts";
import { until } from "./apiserver/until.ts";

/** The time in which lines arrive, in ms. The machine may be loaded. */
const SETTLE_MS = 200;
const MAIN = new URL("../../cli/main.ts", import.meta.url).pathname;
/**
 * The maximum time for a response of a real process, in ms. The sidecar should respond within 850 ms, or within 3 s at
 * /sts, and without these limits, a hanging STS call would delay the response by 5 s. The value is between these times,
 * because the machine may be loaded. Other tests verify the limits with a fake clock.
 */
export const RESPONSE_LIMIT_MS = 4_000;

/** A JSON line of the server's log, or `{text}` for another line of its standard error. */
type LogLine = Readonly<Record<string, unknown>>;

/** `ack-role-resolver COMMAND` in a separate process, as in a Pod. */
export interface ServerProcess {
  /** The address of the server's listener, `HOST:PORT`. */
  readonly address: string;
  readonly healthAddress: string;
  readonly pid: number;
  /** The log of the server so far. A line can arrive after its response. */
  readonly log: readonly LogLine[];
  /** Resolves to the log, when it contains the lines of all responses. */
  settledLog(): Promise<readonly LogLine[]>;
  /** Sends a signal, such as SIGSTOP, and does not wait. */
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM or `signal`, and resolves to the exit status when the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts the server on free loopback ports and waits until it is ready. Rejects with the log if the server exits
 * earlier.
 */
export async function startServer(
  command: "webhook" | "sidecar", args: readonly string[], environment: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
  return await startProgram(command, [MAIN, command, ...listen, ...args], environment);
}

/** Runs a program that is, or contains, a server. Waits until the server is ready. */
export async function startProgram(
  name: string, argv: readonly string[], environment: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const env = { ...COMPILE_CACHE, ...environment };
  const child = spawn(process.execPath, [...argv], { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const log: LogLine[] = [];
  const listening = await firstListening(child, log);
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal);
    await ended;
    return child.exitCode;
  };
  const signal = (sent: NodeJS.Signals): void => void child.kill(sent);
  const settledLog = async (): Promise<readonly LogLine[]> => {
    await sleep(SETTLE_MS);
    return log;
  };
  const healthAddress = String(listening["health_address"]);
  const isReady = async (): Promise<boolean> => (await get(`http://${healthAddress}/readyz`)).status === 200;
  if (await until(isReady)) {
    const address = String(listening["address"]);
    return { address, healthAddress, pid: child.pid ?? 0, log, settledLog, signal, stop };
  }
  await stop("SIGKILL");
  throw new Error(`${name} did not become ready:\n${textOf(log)}`);
}

async function firstListening(child: ChildProcess, log: LogLine[]): Promise<LogLine> {
  const { promise, resolve, reject } = Promise.withResolvers<LogLine>();
  if (child.stderr === null) throw new Error("the process has no standard error");
  createInterface(child.stderr).on("line", (text) => {
    const line = parseLine(text);
    log.push(line);
    if (String(line["msg"]).endsWith(" listening")) resolve(line);
  }).once("close", () => reject(new Error(`the server exited before it listened:\n${textOf(log)}`)));
  return await promise;
}

function parseLine(text: string): LogLine {
  try {
    const line: unknown = JSON.parse(text);
    return isJsonObject(line) ? line : { text };
  } catch {
    return { text };
  }
}

function textOf(log: readonly LogLine[]): string {
  return log.map((line) => JSON.stringify(line)).join("\n");
}
