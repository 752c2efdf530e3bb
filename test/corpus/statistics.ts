import { CATALOGUE } from "../../shared/judges.ts";
import type { Case } from "./case.ts";

/** Returns lines that state the number of cases, the mix of outcomes, and the codes of checks that never appear. */
export function statistics(cases: readonly Case[]): string[] {
  const reviews = cases.filter(({ id }) => /^review \d/.test(id));
  const outcomes = (chosen: readonly Case[]): string => {
    const counts = Object.entries(Object.groupBy(chosen, ({ outcome }) => outcome.replace(/ ERR_.*|: .*/, "")));
    const sorted = counts.map(
      ([outcome, list = []]) => ({ outcome, count: list.length })
    ).toSorted((a, b) => b.count - a.count);
    return sorted.map(({ outcome, count }) => `${outcome} ${count}`).join(", ");
  };
  const programs = Object.entries(Object.groupBy(cases, ({ id }) => id.split(" ", 1)[0] ?? ""));
  const seen = new Set(cases.flatMap(({ findings = [] }) => findings.map((one) => one.split(" ", 1)[0])));
  const never = CATALOGUE.map(({ id }) => id).filter((id) => !seen.has(id));
  return [
    `${cases.length} cases`,
    ...programs.map(([program, list = []]) => `${program} ${list.length}: ${outcomes(list)}`),
    `${reviews.length} random reviews: ${outcomes(reviews)}`,
    `codes that never appear: ${never.length === 0 ? "none" : never.join(" ")}`,
  ];
}
