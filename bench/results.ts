import { execFileSync } from "node:child_process";
import { cpus, loadavg, release, totalmem } from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import lock from "../package-lock.json" with { type: "json" };
import { type Summary, summarize } from "./figure.ts";
import type { ProfileLine } from "./profile.ts";
import type { Row } from "./row.ts";
import type { Stage } from "./stage.ts";

/** The file of a run. */
export interface Results {
  readonly date: string;
  readonly commit: string;
  /** Whether the working tree differs from the commit. */
  readonly isChanged: boolean;
  readonly machine: {
    readonly processor: string;
    readonly cores: number;
    readonly memoryGB: number;
    readonly kernel: string;
  };
  readonly versions: Readonly<Record<string, string>>;
  readonly rows: readonly RowResult[];
}

export interface RowResult {
  readonly name: string;
  readonly title: string;
  readonly seconds: number;
  /** The load average of the last minute before and after the row, which includes the row itself. */
  readonly loadBefore: number;
  readonly loadAfter: number;
  /** The processors that other programs kept busy just before the row. */
  readonly otherCores: number;
  /** Whether this is so much that the figures of the row mean little. */
  readonly isDisturbed: boolean;
  readonly figures: readonly Summary[];
  /** The functions that take most of the time of our server under this load. */
  readonly profile: readonly ProfileLine[];
  /** Why the row could not be measured; null if it was. */
  readonly error: string | null;
}

const SAMPLE_MS = 1_000;
const MAX_OTHER_CORES = 0.3;

/** Returns the processors that all programs keep busy, while those of the benchmark wait. */
async function busyCores(): Promise<number> {
  const before = busyMs();
  await sleep(SAMPLE_MS);
  return (busyMs() - before) / SAMPLE_MS;
}

function busyMs(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}

export async function measureRow(stage: Stage, { name, title, measure, profile }: Row): Promise<RowResult> {
  const otherCores = round(await busyCores());
  const startMs = performance.now();
  const [loadBefore = 0] = loadavg();
  const end = (): Omit<RowResult, "figures" | "profile" | "error"> => ({
    name, title, loadBefore: round(loadBefore), loadAfter: round(loadavg()[0] ?? 0), otherCores,
    isDisturbed: otherCores > MAX_OTHER_CORES,
    seconds: Math.round((performance.now() - startMs) / 1_000),
  });
  try {
    const figures = (await measure(stage)).map(summarize);
    const lines = profile === undefined ? [] : await profile(stage);
    return { ...end(), figures, profile: lines, error: null };
  } catch (error) {
    return { ...end(), figures: [], profile: [], error: error instanceof Error ? error.message : String(error) };
  }
}

export function resultsOf(rows: readonly RowResult[]): Results {
  const packages = ["fastify", "pino", "prom-client", "@smithy/signature-v4"] as const;
  return {
    date: new Date().toISOString(), commit: git("rev-parse", "--short", "HEAD"),
    isChanged: git("status", "--porcelain", "--untracked-files=no", ".", ":!bench/results") !== "",
    machine: {
      processor: cpus()[0]?.model ?? "unknown", cores: cpus().length, memoryGB: round(totalmem() / 2 ** 30),
      kernel: release(),
    },
    versions: {
      node: process.versions.node, v8: process.versions.v8,
      ...Object.fromEntries(packages.map((name) => [name, lock.packages[`node_modules/${name}`].version])),
    },
    rows,
  };
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: path.join(import.meta.dirname, ".."), encoding: "utf8" }).trim();
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
