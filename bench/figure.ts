/** One quantity of a row, measured in several rounds. */
export interface Figure {
  readonly name: string;
  readonly unit: "us" | "ms" | "s" | "x" | "MB" | "/s" | "/h" | "requests" | "cores";
  /** The values of this project, one for each round. */
  readonly ours: readonly number[];
  /** The values of the floor in the same rounds. Default: the figure has no floor. */
  readonly floor?: readonly number[];
  readonly goal?: Goal;
}

/** A bound of our median, or of the median of the ratios or differences to the floor in the same round. */
export interface Goal {
  readonly of: "value" | "ratio" | "difference";
  readonly bound: "at least" | "at most";
  readonly value: number;
}

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface Summary {
  readonly name: string;
  readonly unit: Figure["unit"];
  readonly rounds: number;
  readonly ours: Spread;
  readonly floor: Spread | null;
  /** Ours divided by the floor, compared in each round. */
  readonly ratio: Spread | null;
  readonly goal: Goal | null;
  /** What the goal bounds; null without a goal. */
  readonly actual: number | null;
  readonly isMissed: boolean;
}

export function atLeast(value: number, of: Goal["of"]): Goal {
  return { of, bound: "at least", value };
}

export function atMost(value: number, of: Goal["of"]): Goal {
  return { of, bound: "at most", value };
}

/** Returns the figure of a single value without a floor. */
export function single(name: string, value: number, unit: Figure["unit"], goal?: Goal): Figure {
  return { name, unit, ours: [value], ...(goal !== undefined && { goal }) };
}

export function summarize({ name, unit, ours, floor, goal }: Figure): Summary {
  const compare = (by: (own: number, bare: number) => number): Spread | null =>
    floor === undefined ? null : spreadOf(ours.map((own, round) => by(own, floor[round] ?? Number.NaN)));
  const own = spreadOf(ours);
  const ratio = compare((a, b) => a / b);
  const compared = { value: own, ratio, difference: compare((a, b) => a - b) };
  const actual = goal === undefined ? null : (compared[goal.of]?.median ?? null);
  return {
    name, unit, rounds: ours.length, ours: own, floor: floor === undefined ? null : spreadOf(floor), ratio,
    goal: goal ?? null, actual, isMissed: goal !== undefined && !isReached(goal, actual),
  };
}

/** A value that could not be measured reaches no goal. */
function isReached({ bound, value }: Goal, actual: number | null): boolean {
  if (actual === null || Number.isNaN(actual)) return false;
  return bound === "at least" ? actual >= value : actual <= value;
}

function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** Returns the smallest of the ascending values that the share of all values does not exceed. */
export function quantile(sorted: Float64Array | readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Formats a summary as one line of the printed table. */
export function formatSummary({ name, unit, ours, floor, ratio, goal, actual, isMissed }: Summary): string {
  const value = `${formatNumber(ours.median)} ${unit}`.padStart(16);
  const bare = floor === null ? "" : `floor ${formatNumber(floor.median)} ${unit}`;
  const range = ratio === null ? ours : ratio;
  const spread = `${formatNumber(range.min)} to ${formatNumber(range.max)}`;
  const times = ratio === null ? `(${spread})` : `${formatNumber(ratio.median)} x (${spread})`;
  const line = `${value}  ${bare.padEnd(20)} ${times.padEnd(26)} ${name}`;
  if (goal === null) return line;
  return `${line}: ${formatGoal(goal, unit)}${isMissed ? `, MISSED with ${formatNumber(actual ?? Number.NaN)}` : ""}`;
}

export function formatGoal({ of, bound, value }: Goal, unit: Figure["unit"]): string {
  const amount = `${value} ${unit}`;
  const limit = { value: amount, ratio: `${value} x the floor`, difference: `floor + ${amount}` }[of];
  return `goal ${bound} ${limit}`;
}

/** Returns the number with three significant digits. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return "none";
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}
