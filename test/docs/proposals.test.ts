import { readFileSync } from "node:fs";
import { test } from "tap";
import { proposedExamples, withExampleTable } from "../../docs/proposals.ts";
import { codeBlocks } from "../documented-commands.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const PAGE = read("docs/proposals.md");

test("the table has a row for each YAML block of the proposals", async (t) => {
  const blocks = codeBlocks(read("test/fixtures/proposals.md"));
  t.equal(blocks.length, 31);
  t.same(proposedExamples().map(({ yaml }) => ["yaml", yaml]), blocks);
  const stale = PAGE.replaceAll(/^\| \[S\d\]\(.*\n/gm, "");
  t.equal(PAGE.split("\n").length - stale.split("\n").length, blocks.length);
  t.equal(await withExampleTable(stale), PAGE);
});

test("the page lists at most 30 statements that are not implemented", (t) => {
  const rows = PAGE.split("\n").filter((line) => /^\| S\d/.test(line));
  t.ok(rows.length > 0 && rows.length <= 30, `${rows.length}`);
  t.end();
});
