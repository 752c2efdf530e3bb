import { test } from "tap";
import { setTimeLimit } from "../real/time-limit.ts";
import { casesOf } from "./case.ts";
import { readBaseline, record } from "./corpus.ts";
import { differenceLines, differences } from "./differences.ts";

test("the programs answer every case as in the baseline", async (t) => {
  setTimeLimit(t);
  const text = await record();
  const found = differences(casesOf(await readBaseline()), casesOf(text));
  const fix = "If each difference is intended, update the baseline: node test/corpus/record.ts --update";
  t.equal(found.length, 0, ["", ...differenceLines(found), fix].join("\n"));
});
