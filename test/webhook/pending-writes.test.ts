import { test } from "tap";
import { PendingDeletions } from "../../webhook/pending-writes.ts";

test("removes a pending deletion after 5 s, or when remove() is called", (t) => {
  let nowMs = 0;
  const pendingDeletions = new PendingDeletions(() => nowMs);
  pendingDeletions.add("a");
  pendingDeletions.add("b");
  t.same(["a", "b", "c"].map((name) => pendingDeletions.has(name)), [true, true, false]);
  pendingDeletions.delete("b");
  t.equal(pendingDeletions.has("b"), false);
  nowMs = 4_999;
  t.equal(pendingDeletions.has("a"), true);
  nowMs = 5_000;
  t.equal(pendingDeletions.has("a"), false);
  pendingDeletions.add("c");
  t.same(["a", "c"].map((name) => pendingDeletions.has(name)), [false, true]);
  t.end();
});
