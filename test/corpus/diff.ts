// Compares two records: node test/corpus/diff.ts BEFORE AFTER [--messages]. A record may be `baseline`.
import process from "node:process";
import { parseArgs } from "node:util";
import { readRecord } from "./corpus.ts";
import { differenceLines, differences } from "./differences.ts";

const { values, positionals } = parseArgs({
  options: { messages: { type: "boolean", default: false } }, allowPositionals: true,
});
const [before, after] = positionals;
if (before === undefined || after === undefined) {
  process.stderr.write("usage: node test/corpus/diff.ts BEFORE AFTER [--messages]\n");
  process.exitCode = 2;
} else {
  const found = differences(await readRecord(before), await readRecord(after), values);
  process.stdout.write(`${[...differenceLines(found), `${found.length} kinds of differences`].join("\n")}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
