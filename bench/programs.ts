import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { stringAt } from "../shared/formats/json.ts";
import { get } from "../test/loopback-request.ts";
import { type Stage, shared } from "./stage.ts";

/** A server that runs in a separate process. */
export interface Program {
  readonly process: ChildProcess;
  /** On 127.0.0.1. */
  readonly port: number;
  /** The time from the start of the process until the server was ready, in ms. */
  readonly readyMs: number;
  /** The file that receives the standard error. */
  readonly log: string;
}

/** The webhook or the sidecar. */
export interface Server extends Program {
  /** The URL of the health listener. */
  readonly health: string;
}

const ROOT = path.join(import.meta.dirname, "..");
const READY_LIMIT_MS = 60_000;
const POLL_MS = 2;

/** Builds the command as a release ships it. Resolves to its path. */
export const builtCommand = shared(async (stage) => {
  await runTimeMs([path.join(ROOT, "build.ts"), stage.file("dist")]);
  return stage.file("dist/ack-role-resolver.js");
});

/** The command that runs from its sources, whose functions have names in a profile. */
export const SOURCE_COMMAND = path.join(ROOT, "cli/start.js");

/** Defines `require`, because CommonJS modules in a bundle call `require`, and ES modules do not define it. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/**
 * Bundles a program of this folder, because type stripping at run time needs memory. Resolves to the path of the
 * bundle.
 */
export async function bundle(stage: Stage, name: string): Promise<string> {
  const outfile = stage.file(`${name.replaceAll("/", "-")}.mjs`);
  await build({
    entryPoints: [path.join(import.meta.dirname, `${name}.ts`)], outfile, bundle: true, platform: "node",
    mainFields: ["module", "main"], format: "esm", banner: { js: REQUIRE },
  });
  return outfile;
}

let logs = 0;

function start(
  stage: Stage, argv: readonly string[], environment: NodeJS.ProcessEnv,
): Pick<Program, "process" | "log"> {
  const log = stage.file(`${logs++}.log`);
  const file = openSync(log, "a");
  // A file needs no reader, which would use the processors of the measured programs.
  const child = spawn(process.execPath, argv, { env: environment, stdio: ["ignore", "pipe", file] });
  closeSync(file);
  stage.teardown(() => stop({ process: child }));
  return { process: child, log };
}

/** Starts a program that prints its port. */
export async function startProgram(stage: Stage, argv: readonly string[]): Promise<Program> {
  const startMs = performance.now();
  const started = start(stage, argv, {});
  const { stdout } = started.process;
  if (stdout === null) throw new Error("the program has no standard output");
  for await (const line of createInterface(stdout)) {
    return { ...started, port: Number(line), readyMs: performance.now() - startMs };
  }
  throw new Error(`${argv.join(" ")} exited before it listened: ${await readFile(started.log, "utf8")}`);
}

interface ServerOptions {
  /** The arguments before `webhook` or `sidecar`. */
  readonly command: readonly string[];
  readonly flags: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

/** Starts the webhook or the sidecar, and waits until /readyz returns 200. */
export async function startServer(
  stage: Stage, name: "webhook" | "sidecar", { command, flags, environment = {} }: ServerOptions,
): Promise<Server> {
  const startMs = performance.now();
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
  const started = start(stage, [...command, name, ...listen, ...flags], environment);
  started.process.stdout?.resume();
  while (performance.now() - startMs < READY_LIMIT_MS) {
    // oxlint-disable-next-line no-await-in-loop -- polls until it is ready
    const line = (await readFile(started.log, "utf8")).split("\n").find((text) => text.includes('"health_address"'));
    const entry: unknown = JSON.parse(line ?? "{}");
    const [address, health] = [stringAt(entry, "address"), stringAt(entry, "health_address")];
    // oxlint-disable-next-line no-await-in-loop -- polls until it is ready
    if (address !== null && health !== null && (await statusOf(`http://${health}/readyz`)) === 200) {
      const port = Number(address.split(":").at(-1));
      return { ...started, port, health: `http://${health}`, readyMs: performance.now() - startMs };
    }
    if (started.process.exitCode !== null) break;
    // oxlint-disable-next-line no-await-in-loop -- polls until it is ready
    await sleep(POLL_MS);
  }
  throw new Error(`the ${name} did not become ready: ${(await readFile(started.log, "utf8")).slice(-2_000)}`);
}

async function statusOf(url: string): Promise<number> {
  return await get(url).then(({ status }) => status, () => 0);
}

export async function stop(
  { process: child }: Pick<Program, "process">, signal: NodeJS.Signals = "SIGKILL",
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "exit");
}

/** Returns the resident memory of a process, in MB. Requires Linux. */
export async function residentMB({ process: child }: Program): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

interface ProcessorTimes {
  readonly userMs: number;
  readonly systemMs: number;
}

/** Returns the processor times that a process has used. The resolution is 10 ms. Requires Linux. */
export async function processorTimes(pid: number | undefined): Promise<ProcessorTimes> {
  const [, fields = ""] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ");
  const [user = 0, system = 0] = fields.split(" ").slice(11, 13).map(Number);
  return { userMs: user * 10, systemMs: system * 10 };
}

/** Returns the run time of a program, in ms. Rejects if the exit status of the program is not 0. */
export async function runTimeMs(argv: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const child = spawn(process.execPath, argv, { stdio: "ignore" });
  const status: unknown = (await once(child, "close"))[0];
  if (status !== 0) throw new Error(`${argv.join(" ")} exited with ${String(status)}`);
  return performance.now() - startMs;
}
