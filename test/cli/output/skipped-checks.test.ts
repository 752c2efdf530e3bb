import { test } from "tap";
import { skippedLines } from "../../../cli/output/skipped-checks.ts";
import { CATALOGUE } from "../../../shared/judges.ts";

test("says for each requirement of a check how to have it judged", (t) => {
  const required = CATALOGUE.flatMap(({ requires = [], inAudit }) => [...requires, ...inAudit?.requires ?? []]);
  for (const { name } of new Set(required)) {
    const [line = ""] = skippedLines([{ code: "X-01", needs: name }], (_, text) => text);
    t.match(line, /^not judged: .+ \(X-01\); \S/, name);
    t.notMatch(line, /a part that needs/, name);
  }
  t.end();
});
