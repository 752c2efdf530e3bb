import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { isJsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { get } from "../loopback-request.ts";
import { until } from "./apiserver/until.ts";

const MAIN = new URL("../../cli/main.ts", import.meta.url).pathname;
/**
 * What an answer of a real process is held to. The sidecar's own limit is 850 ms, which is tested to the millisecond on a clock of its own, and a hung
 * call would take 5 s without it; this is between the two, since a machine that runs other tests beside this one is late as well.
 */
export const ANSWER_LIMIT_MS = 2_500;
const READY_LIMIT_MS = 15_000;

/** A JSON line that a server logged, or `{text}` for another line on its standard error. */
export type LogLine = Readonly<Record<string, unknown>>;

/** `ack-role-resolver COMMAND` as a process of its own, as it runs in a Pod. */
export interface ServerProcess {
  /** `HOST:PORT` as it listens. */
  readonly address: string;
  readonly healthAddress: string;
  /** What it has logged so far. */
  readonly log: readonly LogLine[];
  /** Sends SIGTERM, or the signal given, and resolves to the exit status once the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts it on free ports of loopback, and waits until it is ready. Rejects with what it logged when it ends before. */
export async function startServer(command: "webhook" | "sidecar", args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
  const child = spawn(process.execPath, [MAIN, command, ...listen, ...args], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const log: LogLine[] = [];
  const listening = await firstListening(child, log);
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal);
    await ended;
    return child.exitCode;
  };
  const server = { address: String(listening["address"]), healthAddress: String(listening["health_address"]), log, stop };
  if (await until(async () => (await get(`http://${server.healthAddress}/readyz`)).status === 200, READY_LIMIT_MS)) return server;
  await stop("SIGKILL");
  throw new Error(`${command} did not get ready:\n${log.map((line) => JSON.stringify(line)).join("\n")}`);
}

async function firstListening(child: ChildProcess, log: LogLine[]): Promise<LogLine> {
  const { promise, resolve, reject } = Promise.withResolvers<LogLine>();
  if (child.stderr === null) throw new Error("the process has no standard error");
  createInterface(child.stderr).on("line", (text) => {
    const line = parseLine(text);
    log.push(line);
    if (String(line["msg"]).endsWith(" listening")) resolve(line);
  }).once("close", () => reject(new Error(`it ended before it listened:\n${log.map((line) => JSON.stringify(line)).join("\n")}`)));
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
