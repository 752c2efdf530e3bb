import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { field } from "../shared/decisions/kubernetes/json.ts";
import { runTimeMs } from "./sidecar/programs.ts";
import type { Result } from "./result.ts";
import { writeChange, writePlatform } from "./scale/files.ts";
import { NAMESPACES, RESOURCES, SELECTORS } from "./scale/size.ts";

const ROOT = path.join(import.meta.dirname, "..");
const TARGET_MS = 15_000;
const TARGET_MB = 500;

/** Measures the commands, as a release ships them, with a large folder of manifests. Requires Linux. */
export async function run(): Promise<readonly Result[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-bench-"));
  try {
    const [platform, change] = [path.join(folder, "platform"), path.join(folder, "change")];
    const dist = path.join(folder, "dist");
    await runTimeMs([path.join(ROOT, "build.ts"), dist]);
    writePlatform(platform);
    writeChange(change);
    const results: Result[] = [];
    for (const argv of [
      ["lint", platform], ["resolve", platform], ["audit", platform], ["impact", change, "--from", platform],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent commands affect each other
      results.push(...await measure([path.join(dist, "ack-role-resolver.js"), ...argv], argv[0] ?? ""));
    }
    return results;
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Cost {
  readonly wallMs: number;
  readonly processorMs: number;
  readonly peakMB: number;
  readonly lines: number;
}

async function measure(argv: readonly string[], command: string): Promise<Result[]> {
  const { wallMs, processorMs, peakMB, lines } = await costOf(argv);
  const input = `${SELECTORS} selectors, ${NAMESPACES} namespaces and ${RESOURCES} resources, a file each`;
  return [
    { name: `${command}: ${input}, ${lines} lines printed`, value: wallMs, unit: "ms", target: TARGET_MS },
    { name: `${command}: processor time`, value: processorMs, unit: "ms", target: null },
    { name: `${command}: peak memory`, value: peakMB, unit: "MB", target: TARGET_MB },
  ];
}

/** Prints the costs of the process to file descriptor 3 at its exit. VmHWM is the peak of the resident memory. */
const REPORT_COSTS = `data:text/javascript,${encodeURIComponent(`
  import { readFileSync, writeSync } from "node:fs";
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    const peakKB = Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
    writeSync(3, JSON.stringify({ processorMs: (user + system) / 1000, peakMB: peakKB / 1024 }));
  });
`)}`;

/** Runs a program of Node.js. Rejects if it reports unreadable input. */
async function costOf(argv: readonly string[]): Promise<Cost> {
  const startMs = performance.now();
  const child = spawn(process.execPath, ["--import", REPORT_COSTS, ...argv], {
    stdio: ["ignore", "pipe", "inherit", "pipe"],
  });
  const exit = once(child, "close");
  const report = text(readable(child.stdio[3]));
  const lines = await linesOf(readable(child.stdout));
  const status: unknown = (await exit)[0];
  const wallMs = performance.now() - startMs;
  if (status !== 0 && status !== 1) throw new Error(`${argv.join(" ")} exited with ${String(status)}`);
  const costs: unknown = JSON.parse(await report);
  return {
    wallMs, lines, processorMs: Number(field(costs, "processorMs")), peakMB: Number(field(costs, "peakMB")),
  };
}

function readable(stream: unknown): Readable {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of a pipe that is not standard
  return stream as Readable;
}

async function linesOf(stream: Readable): Promise<number> {
  let lines = 0;
  for await (const chunk of stream) lines += String(chunk).split("\n").length - 1;
  return lines;
}
