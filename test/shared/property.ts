import type { Test } from "tap";

/** With the default seed, every run uses the same cases. `tap --test-arg=--seed=N` sets another seed. */
const DEFAULT_SEED = 20_260_801;

/** Returns the number of cases and the seed, and prints them as a comment. */
export function parameters(t: Test, numRuns: number): { readonly seed: number; readonly numRuns: number } {
  const argument = process.argv.find((text) => text.startsWith("--seed="));
  const seed = argument === undefined ? DEFAULT_SEED : Number(argument.slice("--seed=".length));
  t.comment(`${numRuns} cases from seed ${seed} (others: tap --test-arg=--seed=N)`);
  return { seed, numRuns };
}
