import { listOf } from "../formats/text.ts";
import { TRUST_CODES } from "./trust-code.ts";
import type { TrustProblem } from "./trust-problem.ts";
import type { TrustRow } from "./trust-rows.ts";

/** Returns why callers cannot assume a role. Callers with the same problem are listed together. */
export function callProblems(rows: readonly TrustRow[]): TrustProblem[] {
  const all = rows.flatMap(({ problems, caller, through }) => (
    problems.map((problem) => ({ problem, caller: through ?? caller.arn }))
  ));
  const groups = Map.groupBy(all, ({ problem: { code, message, fix } }) => JSON.stringify([code, message, fix]));
  return [...groups.values()].flatMap((group) => group.slice(0, 1).map(({ problem }) => {
    const callers = listOf([...new Set(group.map(({ caller }) => caller))]);
    const message = problem.code === TRUST_CODES.unknown
      ? `whether ${callers} can assume the role ${problem.message}`
      : `${callers} cannot assume the role: ${problem.message}`;
    return { ...problem, message };
  }));
}
