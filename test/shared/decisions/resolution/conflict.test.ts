import { test } from "tap";
import { conflictSentence } from "../../../../shared/resolution/selection.ts";

test("names at most 20 conflicting selectors, sorted by name", (t) => {
  const sentence = "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors:";
  t.equal(conflictSentence(["b", "a"]), `${sentence} [a, b]`);
  const names = Array.from({ length: 25 }, (_, i) => `s${String(i).padStart(2, "0")}`);
  t.equal(conflictSentence(names), `${sentence} [${names.slice(0, 20).join(", ")} and 5 more]`);
  t.end();
});
