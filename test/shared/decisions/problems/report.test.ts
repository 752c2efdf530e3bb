import { test } from "tap";
import { LIMITS } from "../../../../shared/decisions/limits.ts";
import type { Problem } from "../../../../shared/decisions/problems/problem.ts";
import { ProblemCollector } from "../../../../shared/decisions/problems/report.ts";

function problem(name: string, reason = "SelectorConflict"): Problem {
  const subject = {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "team-a", name, uid: `uid-${name}`,
  };
  return { subject, reason, note: "Two selectors select it." };
}

const OVERLAP: Problem = {
  subject: { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", namespace: "", name: "gold", uid: null },
  reason: "SelectorsOverlap", note: "It overlaps.",
};

test("returns a report for each namespace, and one for cluster-scoped objects", (t) => {
  const collector = new ProblemCollector();
  for (const one of [problem("b2"), OVERLAP, problem("b1"), problem("b1", "DefaultRole")]) collector.add(one);
  const reports = collector.reports();
  t.same([...reports.keys()], ["team-a", ""]);
  t.match(reports.get("team-a"), {
    apiVersion: "openreports.io/v1alpha1", kind: "Report",
    metadata: { name: "ack-role-resolver", namespace: "team-a" }, source: "ack-role-resolver",
    summary: { pass: 0, fail: 2, warn: 1, error: 0, skip: 0 },
    results: ["DefaultRole", "SelectorConflict", "SelectorConflict"].map((policy) => ({ policy })),
  });
  t.same(reports.get("")?.["results"], [{
    policy: "SelectorsOverlap", result: "warn", message: "It overlaps.",
    resources: [{ apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", name: "gold" }],
  }]);
  t.match(reports.get(""), { kind: "ClusterReport", metadata: { name: "ack-role-resolver", namespace: undefined } });
  t.end();
});

test("returns the same report for the same problems in another order", (t) => {
  const [first, second] = [new ProblemCollector(), new ProblemCollector()];
  for (const name of ["a", "b", "c"]) first.add(problem(name));
  for (const name of ["c", "a", "b"]) second.add(problem(name));
  t.same(first.reports(), second.reports());
  t.end();
});

test("limits the results of a report, and counts all problems", (t) => {
  const collector = new ProblemCollector();
  const limit = LIMITS.reportResults.value;
  for (let i = 0; i < limit + 10; i++) collector.add(problem(`b${i}`));
  const report = collector.reports().get("team-a");
  t.match(report, { summary: { fail: limit + 10 } });
  const results = report?.["results"];
  t.equal(Array.isArray(results) ? results.length : 0, limit);
  t.end();
});
