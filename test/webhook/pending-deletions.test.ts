import { test } from "tap";
import { LeavingSelectors } from "../../webhook/pending-deletions.ts";

test("a selector leaves for five seconds at most, unless it stays", (t) => {
  let nowMs = 0;
  const leaving = new LeavingSelectors(() => nowMs);
  leaving.add("a");
  leaving.add("b");
  t.same(["a", "b", "c"].map((name) => leaving.has(name)), [true, true, false]);
  leaving.delete("b");
  t.equal(leaving.has("b"), false);
  nowMs = 4_999;
  t.equal(leaving.has("a"), true);
  nowMs = 5_000;
  t.equal(leaving.has("a"), false);
  leaving.add("c");
  t.same(["a", "c"].map((name) => leaving.has(name)), [false, true]);
  t.end();
});
