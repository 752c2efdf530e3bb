import type { RoleTarget } from "../../../shared/core/role-target.ts";
import { array, assert, constantFrom, property, record } from "fast-check";
import { test } from "tap";
import { callerOf, identityTarget, reviewOf, selectorTarget } from "./review.ts";
import { trustStatement } from "./trust-arbitraries.ts";
import { NEAR } from "./trust-cases.ts";

const tags = [{ key: "team", value: "a" }];
const source = { roleARN: NEAR, tags, hasOtherBase: false };
const target = constantFrom<RoleTarget>(
  selectorTarget(), selectorTarget({ externalID: "x1", tags, sourceIdentity: "alice" }), identityTarget(),
  identityTarget({ durationSeconds: 7200, externalID: "x2" }), identityTarget({}, source),
);
const caller = record({
  via: constantFrom("ack", "sidecar", "capa"), credentials: constantFrom("irsa", "pod-identity", null),
  arn: constantFrom(callerOf().arn, NEAR),
}).map(callerOf);
const DENIED: ReadonlySet<string> = new Set(["TR-01", "TR-03", "TR-04", "TR-05", "TR-06"]);

test("a review reports a no exactly if trust says no, and an unknown exactly if trust says unknown", (t) => {
  const circumstances = record({
    trust: array(trustStatement, { maxLength: 3 }), callers: array(caller, { minLength: 1, maxLength: 3 }),
  });
  assert(property(circumstances, target, (input, one) => {
    const review = reviewOf(input);
    const verdicts = new Set(review.rowsOf(one).map(({ decision }) => decision.verdict));
    const problems = review.problemsOf(one);
    const isDenied = problems.some(({ code, isHarmless = false }) => DENIED.has(code) && !isHarmless);
    const isUnknown = problems.some(({ code }) => code === "TR-02");
    return isDenied === verdicts.has("no") && isUnknown === verdicts.has("unknown");
  }), { numRuns: 2000 });
  t.end();
});

test("whoever is intended is never reported, and to intend more never reports more", (t) => {
  const statements = array(trustStatement, { maxLength: 3 });
  const names = ["222222222222", "111122223333", NEAR, "pods.eks.amazonaws.com", "arn:aws:iam::222222222222:user/bob"];
  assert(property(statements, array(constantFrom(...names)), (trust, intended) => {
    const others = (more: readonly string[]): string[] => (
      reviewOf({ trust, intended: more }).problemsOf(selectorTarget())
        .flatMap(({ code, message }) => (["TR-09", "TR-10"].includes(code) ? [message] : []))
    );
    const left = others(intended);
    const isNamed = intended.some((name) => left.some((message) => message.split(/[ :]*[ ,]+/).includes(name)));
    return !isNamed && left.length <= others([]).length;
  }), { numRuns: 1000 });
  t.end();
});
