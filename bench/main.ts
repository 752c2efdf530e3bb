import { readdir } from "node:fs/promises";
import { cpus } from "node:os";
import { formatResult, isMissed, type Result } from "./result.ts";

interface Bench {
  readonly run: () => readonly Result[] | Promise<readonly Result[]>;
}

function isBench(module: unknown): module is Bench {
  return typeof module === "object" && module !== null && "run" in module && typeof module.run === "function";
}

/** Runs all benchmarks of this folder in sequence. Exits with status 1 if a benchmark misses its target. */
async function main(): Promise<void> {
  process.stdout.write(`Node ${process.version}, ${cpus()[0]?.model ?? "unknown processor"}\n`);
  const files = await readdir(import.meta.dirname);
  const names = files.filter((name) => name.endsWith(".ts") && name !== "main.ts").toSorted();
  for (const name of names) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent benchmarks affect each other
    const module: unknown = await import(new URL(name, import.meta.url).href);
    if (!isBench(module)) continue;
    process.stdout.write(`\n${name.slice(0, -".ts".length)}\n`);
    // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent benchmarks affect each other
    const results = await module.run();
    for (const result of results) process.stdout.write(`${formatResult(result)}\n`);
    if (results.some(isMissed)) process.exitCode = 1;
  }
}

await main();
