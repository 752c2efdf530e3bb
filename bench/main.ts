// `npm run bench -- [--quick] [--write] [--help] [ROW...]`: measures all rows, or those whose names contain an
// argument. A run of all rows, or with --write, writes bench/results/, but not a quick one. Exits with status 1 if a
// goal is missed or a row fails.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { formatSummary } from "./figure.ts";
import { picture, readResults } from "./picture.ts";
import { measureRow, type RowResult, resultsOf } from "./results.ts";
import { ROWS } from "./rows.ts";
import { Stage } from "./stage.ts";

const flag = { type: "boolean", default: false } as const;
const { values: { quick, write, help }, positionals } = parseArgs({
  options: { quick: flag, write: flag, help: flag }, allowPositionals: true,
});
if (help) {
  process.stdout.write("usage: npm run bench -- [--quick] [--write] [PART_OF_A_ROW...]; see bench/README.md. Rows:\n");
  for (const { name, title } of ROWS) process.stdout.write(`  ${name.padEnd(24)} ${title}\n`);
  process.exit();
}
const selected = ROWS.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));

function print({ name, title, seconds, loadBefore, otherCores, isDisturbed, figures, error }: RowResult): void {
  process.stdout.write(`\n${name}: ${title} (${seconds} s, load average ${loadBefore})\n`);
  if (isDisturbed) process.stdout.write(`  DISTURBED: other programs kept ${otherCores} cores busy at the start\n`);
  if (error !== null) process.stdout.write(`  FAILED: ${error}\n`);
  for (const figure of figures) process.stdout.write(`${formatSummary(figure)}\n`);
  if (error !== null || figures.some(({ isMissed }) => isMissed)) process.exitCode = 1;
}

/** Writes the results. Keeps the other rows of an earlier run on the same day and commit. */
function save(measured: readonly RowResult[]): void {
  const results = resultsOf(measured);
  const folder = path.join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${results.date.slice(0, 10)}-${results.commit}.json`);
  const earlier = existsSync(file) ? readResults(file).rows : [];
  const all = [...measured, ...earlier];
  const rows = ROWS.flatMap(({ name }) => all.find((row) => row.name === name) ?? []);
  writeFileSync(file, `${JSON.stringify({ ...results, rows }, null, 2)}\n`);
  writeFileSync(path.join(folder, "latest.svg"), picture({ ...results, rows }));
}

async function main(): Promise<void> {
  if (selected.length === 0) throw new Error(`no such row; the rows are ${ROWS.map(({ name }) => name).join(", ")}`);
  if (quick && write) throw new Error("--quick measures too little to be written: omit one of --quick and --write");
  const stage = await Stage.open(quick);
  const rows: RowResult[] = [];
  try {
    for (const row of selected) {
      // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent measurements affect each other
      const result = await measureRow(stage, row);
      rows.push(result);
      print(result);
      if (write || (!quick && selected.length === ROWS.length)) save(rows);
    }
  } finally {
    await stage.close();
  }
}

await main();
