import type { AnnotatedObject } from "../core/annotated-objects.ts";
import type { Finding } from "../core/check.ts";
import { resourceSubject } from "../core/event-subjects.ts";
import type { Problem, ProblemScope, ResolvedObject } from "../core/problem.ts";
import type { Paced } from "../formats/paced.ts";
import { JUDGES, judgeOfRoleObject } from "../judges.ts";

/** Yields the problems of a stored object that its controller does not report. */
export function objectProblems(object: ResolvedObject, scope: ProblemScope): Iterable<Problem> {
  return judgeOfRoleObject(object.resource)?.problems?.(object, scope) ?? [];
}

/** Returns the findings of `audit` in an object of which only the fields of the inventory are known. */
export function objectFindings(object: ResolvedObject, scope: ProblemScope): readonly Finding[] {
  return judgeOfRoleObject(object.resource)?.findings?.(object, scope) ?? [];
}

/** Returns the problem of an object whose annotations cannot be updated because of `fault`. */
export function staleProblem(object: AnnotatedObject, fault: string): Problem {
  const note = "The annotations are stale: they do not match the role that resolves for the object, and could not be "
    + `updated: ${fault}`;
  return { subject: resourceSubject(object), reason: "StaleAnnotations", note };
}

/** Returns a number that changes with the objects whose problems are urgent. */
export function problemsRevision({ inventory }: Pick<ProblemScope, "inventory">): number {
  return JUDGES.reduce((sum, judge) => sum + (judge.storeProblems?.revision?.(inventory) ?? 0), 0);
}

/** Reports the problems of stored objects that choose roles, such as selectors. Pauses regularly. */
export function* storeProblems(scope: ProblemScope, report: (problem: Problem) => void): Paced<void> {
  for (const judge of JUDGES) {
    if (judge.storeProblems !== undefined) yield* judge.storeProblems.scan(scope, report);
  }
}
