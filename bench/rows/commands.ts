import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { field } from "../../shared/formats/json.ts";
import { atMost, type Figure } from "../figure.ts";
import { builtCommand, runTimeMs } from "../programs.ts";
import { inPairs, inRounds, type Row } from "../row.ts";
import { NAMESPACES, SELECTOR, writeChange, writePlatform } from "../scale/files.ts";
import { type Stage, shared } from "../stage.ts";

/** The folders `platform`, which has 13 files for each namespace, and `change`. */
const platform = shared(async (stage) => {
  const [all, change] = [stage.file("platform"), stage.file("change")];
  writePlatform(all, stage.size(NAMESPACES, 10));
  writeChange(change, stage.size(NAMESPACES, 10));
  return { all, change };
});

/** Measures a command on many files. The floor reads the files. */
function filesRow(command: "lint" | "impact", goalMs: number): Row {
  return {
    name: `${command}-20000`, title: `${command} of a platform of 20,000 files, beside reading the files`,
    measure: async (stage): Promise<readonly Figure[]> => {
      const { all, change } = await platform(stage);
      const input = command === "lint" ? [all] : [change, "--from", all];
      const argv = [await builtCommand(stage), command, ...input];
      const floor = (): Promise<Cost> => costOf([import.meta.filename, all]);
      const [ours = [], bare = []] = await inRounds(stage.size(3, 1), [() => costOf(argv), floor]);
      const figure = (of: (cost: Cost) => number): Pick<Figure, "ours" | "floor"> =>
        ({ ours: ours.map(of), floor: bare.map(of) });
      return [
        { name: "elapsed time", unit: "ms", ...figure((cost) => cost.wallMs), goal: atMost(goalMs, "value") },
        { name: "processor time", unit: "ms", ...figure((cost) => cost.processorMs) },
        { name: "peak memory", unit: "MB", ...figure((cost) => cost.peakMB), goal: atMost(500, "value") },
      ];
    },
  };
}

interface Cost {
  readonly wallMs: number;
  readonly processorMs: number;
  readonly peakMB: number;
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
export async function costOf(argv: readonly string[]): Promise<Cost> {
  const startMs = performance.now();
  const child = spawn(process.execPath, ["--import", REPORT_COSTS, ...argv], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const exit = once(child, "close");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of a pipe that is not standard
  const report = text(child.stdio[3] as Readable);
  const status: unknown = (await exit)[0];
  const wallMs = performance.now() - startMs;
  if (status !== 0 && status !== 1) throw new Error(`${argv.join(" ")} exited with ${String(status)}`);
  const costs: unknown = JSON.parse(await report);
  return { wallMs, processorMs: Number(field(costs, "processorMs")), peakMB: Number(field(costs, "peakMB")) };
}

const LINT_FILE: Row = {
  name: "lint-file", title: "lint of one file, beside node -e 0",
  measure: async (stage: Stage) => {
    const [command, file] = [await builtCommand(stage), stage.file("selector.yaml")];
    writeFileSync(file, SELECTOR);
    const figure = { name: "run", unit: "ms", goal: atMost(80, "value") } as const;
    const lint = (): Promise<number> => runTimeMs([command, "lint", file]);
    return [await inPairs(stage.size(25, 1), figure, lint, () => runTimeMs(["-e", "0"]))];
  },
};

export const COMMAND_ROWS: readonly Row[] = [LINT_FILE, filesRow("lint", 3_200), filesRow("impact", 5_000)];

/** The floor of a command on many files: reads each file below the folder. */
function readAll(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, file) => sum + readFileSync(path.join(file.parentPath, file.name), "utf8").length, 0);
}

const [folder] = process.argv.slice(2);
if (import.meta.main && folder !== undefined) readAll(folder);
