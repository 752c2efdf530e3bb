import type { Test } from "tap";

/** Every run tries the same cases, so that a failure of CI is one anywhere; `tap --test-arg=--seed=N` tries others. */
const DEFAULT_SEED = 20_260_801;

/** How many cases from which seed, said in the test's output. */
export function parameters(t: Test, numRuns: number): { readonly seed: number; readonly numRuns: number } {
  const argument = process.argv.find((text) => text.startsWith("--seed="));
  const seed = argument === undefined ? DEFAULT_SEED : Number(argument.slice("--seed=".length));
  t.comment(`${numRuns} cases from seed ${seed} (others: tap --test-arg=--seed=N)`);
  return { seed, numRuns };
}
