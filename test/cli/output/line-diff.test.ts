import { array, assert, constantFrom, integer, property } from "fast-check";
import { spawnSync } from "node:child_process";
import { equal } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "tap";
import { hasCommand } from "../../optional-command.ts";
import { lineChanges, linesOf, unifiedHunks } from "../../../cli/output/line-diff.ts";

const apply = (before: readonly string[], after: readonly string[]): string => {
  let result = before;
  for (const { start, end, lines } of lineChanges(before, after).toReversed()) {
    result = result.toSpliced(start, end - start, ...lines);
  }
  return result.join("");
};

test("returns the changed lines", async (t) => {
  t.strictSame(lineChanges(["a\n"], ["a\n"]), []);
  t.strictSame(lineChanges(linesOf("a\nb\nc\nd\n"), linesOf("a\nx\nc\n")), [
    { start: 1, end: 2, lines: ["x\n"] }, { start: 3, end: 4, lines: [] },
  ]);
  const [many, others] = ["a", "b"].map((word) => Array.from({ length: 2001 }, (_, i) => `${word}${i}\n`));
  t.equal(lineChanges(many ?? [], others ?? []).length, 1, "too many lines to compare");
});

test("formats hunks", async (t) => {
  t.equal(unifiedHunks("a\n", "a\n", 3), "");
  t.equal(unifiedHunks("", "a\n", 3), "@@ -0,0 +1 @@\n+a\n");
  t.equal(unifiedHunks("a\nb", "a\nc", 3), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    + "\\ No newline at end of file\n");
  t.equal(unifiedHunks("1\n2\n3\n4\n5\n", "1\nx\n3\n4\n5\n6\n", 0), "@@ -2 +2 @@\n-2\n+x\n@@ -5,0 +6 @@\n+6\n");
  t.equal(unifiedHunks("1\n2\n3\n4\n5\n", "x\n2\n3\n5\n", 1), "@@ -1,5 +1,4 @@\n-1\n+x\n 2\n 3\n-4\n 5\n");
});

test("the diff of random texts is one that patch applies", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "line-diff-"));
  t.teardown(() => { rmSync(folder, { recursive: true }); });
  const file = join(folder, "a.yaml");
  const canPatch = hasCommand(t, "patch");
  const lines = array(constantFrom("a", "b", "c", "d e", ""), { maxLength: 12 });
  assert(property(lines, lines, constantFrom("", "\n"), integer({ min: 0, max: 3 }), (one, other, end, context) => {
    const [before, after] = [one.join("\n") + end, other.join("\n") + end];
    equal(apply(linesOf(before), linesOf(after)), after);
    const hunks = unifiedHunks(before, after, context);
    if (hunks === "" || after === "" || !canPatch) return;
    writeFileSync(file, before);
    const { status, stdout } = spawnSync("patch", [file], {
      input: `--- a.yaml\n+++ a.yaml\n${hunks}`, encoding: "utf8",
    });
    equal(status, 0, stdout);
    equal(readFileSync(file, "utf8"), after);
  }), { numRuns: 150 });
});
