import { test } from "tap";
import { lackInput, notApplied, skippedLines } from "../../../cli/output/skipped-checks.ts";
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

test("no check is listed as skipped that reports a finding about another object", (t) => {
  const [a, b] = [{ code: "A-01", needs: "kinds" }, { code: "B-01", needs: "kinds" }];
  t.same(notApplied([b, a, b], []), [a, b]);
  t.same(notApplied([b, a], [{ code: "A-01" }]), [b]);
  t.end();
});

test("tells the checks that more input would run from those that the command cannot run", (t) => {
  const never = { code: "A-01", needs: "the requester" };
  t.equal(lackInput([never, { code: "B-01", needs: "kinds, the requester" }]), false);
  t.equal(lackInput([never, { code: "B-01", needs: "kinds" }]), true);
  t.equal(lackInput([]), false);
  t.end();
});
