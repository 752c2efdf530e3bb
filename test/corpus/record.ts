// Records what the programs answer: node test/corpus/record.ts FILE, or --update to replace the baseline
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { casesOf } from "./case.ts";
import { record, writeBaseline } from "./corpus.ts";
import { statistics } from "./statistics.ts";

const [target] = process.argv.slice(2);
if (target === undefined) {
  process.stderr.write("usage: node test/corpus/record.ts FILE | --update\n");
  process.exitCode = 2;
} else {
  const text = await record();
  await (target === "--update" ? writeBaseline(text) : writeFile(target, text));
  process.stdout.write(`${statistics(casesOf(text)).join("\n")}\n`);
}
