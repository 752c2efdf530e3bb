// Checks the coverage of the last test run: 100% of lines, branches and functions in the pure folders
// of shared/, and 90% of lines in every other folder.
import { readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import process from "node:process";

interface Count {
  readonly total: number;
  readonly covered: number;
}
type Kind = "lines" | "branches" | "functions";
type Summary = Readonly<Record<Kind, Count>>;

const ROOT = new URL("../", import.meta.url).pathname;
// oxlint-disable-next-line typescript/no-unsafe-assignment -- the type of istanbul's json-summary report
const summaries: Readonly<Record<string, Summary>> = JSON.parse(
  readFileSync(`${ROOT}.tap/report/coverage-summary.json`, "utf8"),
);
/** The folders without I/O: see docs/architecture.md. */
const PURE = /^shared\/(?!api|files|sources|server|core\/clock\.ts$)/;
const faults: string[] = [];
const folders = new Map<string, Count>();

for (const [path, summary] of Object.entries(summaries)) {
  if (path === "total") continue;
  const file = relative(ROOT, path).split(sep).join("/");
  if (PURE.test(file)) requireAll(file, summary);
  else addLines(file.startsWith("shared/") ? file.split("/", 2).join("/") : (file.split("/")[0] ?? ""), summary.lines);
}
for (const [folder, { total, covered }] of folders) {
  const percent = (100 * covered) / total;
  process.stdout.write(`# coverage of ${folder}: ${percent.toFixed(1)}% of ${total} lines\n`);
  if (percent < 90) faults.push(`${folder}: ${percent.toFixed(1)}% of lines are covered; the minimum is 90%`);
}
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

function requireAll(file: string, summary: Summary): void {
  for (const kind of ["lines", "branches", "functions"] as const) {
    const { total, covered } = summary[kind];
    if (covered === total) continue;
    faults.push(`${file}: ${covered} of ${total} ${kind} are covered; the minimum in a pure folder is 100%`);
  }
}

function addLines(folder: string, lines: Count): void {
  const { total, covered } = folders.get(folder) ?? { total: 0, covered: 0 };
  folders.set(folder, { total: total + lines.total, covered: covered + lines.covered });
}
