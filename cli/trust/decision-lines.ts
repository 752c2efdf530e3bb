import type { DecisionJSON } from "../../shared/trust/verdict-text.ts";

/** Returns what decides each action, the reason and the missing input, in indented lines. */
export function decisionLines({ actions, missing }: DecisionJSON): string[] {
  const lines = actions.flatMap(({ action, verdict, statements, reason }) => [
    `  ${action}: ${verdict}: ${reason}`,
    ...statements.map(({ side, policy, statement, effect }) => (
      `    ${effect} in ${side} ${policy}, statement ${statement}`
    )),
  ]);
  return [...lines, ...missing.map((one) => `  missing: ${one}`)];
}
