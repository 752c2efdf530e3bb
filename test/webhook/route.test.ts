import { test } from "tap";
import { budgetMs } from "../../webhook/route.ts";

test("returns the timeout of the API server minus a margin of 100 ms", (t) => {
  t.equal(budgetMs({ timeout: "10s" }), 9_900);
  t.equal(budgetMs({ timeout: "1s" }), 900);
  t.equal(budgetMs({ timeout: "1.5s" }), 1_400);
  t.equal(budgetMs({ timeout: "2m" }), 119_900);
  t.equal(budgetMs({ timeout: "150ms" }), 50);
  t.equal(budgetMs({ timeout: "50ms" }), 0);
  t.end();
});

test("returns the default timeout of the API server if the request has no valid timeout", (t) => {
  const queries = [null, {}, { timeout: "" }, { timeout: "soon" }, { timeout: ["1s", "2s"] }, { timeout: "-1s" }];
  for (const query of queries) t.equal(budgetMs(query), 9_900);
  t.end();
});
