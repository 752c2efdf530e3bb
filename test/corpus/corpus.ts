import { readFile, writeFile } from "node:fs/promises";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { type Case, casesOf, lineOf } from "./case.ts";
import { commandCases } from "./command-cases.ts";
import { grantCases } from "./grant-cases.ts";
import { manifestCases } from "./manifest-cases.ts";
import { fixtureReviewCases, reviewCases } from "./review-cases.ts";

const BASELINE = new URL("baseline.jsonl.br", import.meta.url);

/** Yields what the programs answer in every case of the corpus, always in the same order. */
export async function* corpus(): AsyncIterable<Case> {
  yield* reviewCases();
  yield* fixtureReviewCases();
  yield* grantCases();
  yield* commandCases();
  yield* manifestCases();
}

/** Returns the record: one line of JSON for each case. */
export async function record(): Promise<string> {
  const lines: string[] = [];
  for await (const one of corpus()) lines.push(lineOf(one));
  return `${lines.join("\n")}\n`;
}

export async function readBaseline(): Promise<string> {
  return brotliDecompressSync(await readFile(BASELINE)).toString();
}

/** Stores the record as the baseline. gzip would need thrice the space, because its window has only 32 KiB. */
export async function writeBaseline(text: string): Promise<void> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(text),
  };
  await writeFile(BASELINE, brotliCompressSync(text, { params }));
}

/** Reads a record, or the baseline if the name is `baseline`. */
export async function readRecord(name: string): Promise<readonly Case[]> {
  return casesOf(name === "baseline" ? await readBaseline() : await readFile(name, "utf8"));
}
