import { env } from "node:process";
import { test } from "tap";
import { setTimeLimit } from "../real/time-limit.ts";
import { casesOf } from "./case.ts";
import { readBaseline, record, writeBaseline } from "./corpus.ts";
import { differenceLines, differences } from "./differences.ts";

test("the programs answer every case as in the baseline", async (t) => {
  setTimeLimit(t);
  const text = await record();
  if (env["UPDATE_CORPUS"] === "1" && env["CI"] !== "true") await writeBaseline(text);
  const found = differences(casesOf(await readBaseline()), casesOf(text));
  const fix = "If each difference is intended, update the baseline: UPDATE_CORPUS=1 node test/corpus/corpus.test.ts";
  t.equal(found.length, 0, ["", ...differenceLines(found), fix].join("\n"));
});
