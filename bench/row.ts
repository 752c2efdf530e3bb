import type { Figure } from "./figure.ts";
import type { ProfileLine } from "./profile.ts";
import type { Stage } from "./stage.ts";

/** One subject of the benchmark. */
export interface Row {
  /** The argument of `npm run bench` that selects the row. */
  readonly name: string;
  readonly title: string;
  /** Measures the figures, the most important one first. */
  readonly measure: (stage: Stage) => Promise<readonly Figure[]> | readonly Figure[];
  /** Profiles what `measure` measures, in a process of its own, because profiling costs time. */
  readonly profile?: (stage: Stage) => Promise<readonly ProfileLine[]>;
}

/**
 * Calls the functions one after another, several times, so that all of them share what else happens on the machine.
 * The first round is not counted: code is compiled, and caches are filled. Returns a list for each function.
 */
export async function inRounds<Sample>(
  rounds: number, sides: readonly (() => Promise<Sample>)[],
): Promise<readonly (readonly Sample[])[]> {
  const samples = sides.map((): Sample[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [i, side] of sides.entries()) {
      // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent measurements affect each other
      const sample = await side();
      if (round >= 0) samples[i]?.push(sample);
    }
  }
  return samples;
}

/** Measures our side and the floor in pairs. Returns the figure of one number. */
export async function inPairs(
  rounds: number, figure: Omit<Figure, "ours" | "floor">, ours: () => Promise<number>, floor: () => Promise<number>,
): Promise<Figure> {
  const [own = [], bare = []] = await inRounds(rounds, [ours, floor]);
  return { ...figure, ours: own, floor: bare };
}
