// Prints the findings of a SARIF file as annotations, unless ANNOTATIONS is false, and adds them to the summary of the
// job: `node action/main.ts FILE`. `node action/main.ts --map ARGUMENT...` prints the arguments of `map`.
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import { annotations, type SARIFLog } from "./annotations.ts";
import { mapArguments } from "./map-arguments.ts";
import { summary } from "./summary.ts";

const [, , first = "", ...others] = process.argv;
const { ANNOTATIONS, GITHUB_STEP_SUMMARY = "" } = process.env;
if (first === "--map") writeLines(mapArguments(others));
else {
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- lint wrote the file
  const log: SARIFLog = JSON.parse(readFileSync(first, "utf8"));
  if (ANNOTATIONS !== "false") writeLines(annotations(log));
  if (GITHUB_STEP_SUMMARY !== "") appendFileSync(GITHUB_STEP_SUMMARY, summary(log));
}

function writeLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}
