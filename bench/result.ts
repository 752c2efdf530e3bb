/**
 * One measured value of a benchmark. A benchmark is a file in this folder that exports `run(): readonly Result[] |
 * Promise<readonly Result[]>`.
 */
export interface Result {
  readonly name: string;
  readonly value: number;
  readonly unit: "us" | "ms" | "x" | "MB" | "/s" | "/h" | "requests";
  /** The target of the value; null if no target exists. */
  readonly target: number | null;
  /**
   * Whether the target is a minimum or a maximum. Default: "at least" for the units x and /s, "at most" for other
   * units.
   */
  readonly bound?: Bound;
}

type Bound = "at least" | "at most";

export function isMissed(result: Result): boolean {
  const { value, target } = result;
  if (target === null) return false;
  return boundOf(result) === "at least" ? value < target : value > target;
}

function boundOf({ unit, bound }: Result): Bound {
  return bound ?? (unit === "x" || unit === "/s" ? "at least" : "at most");
}

/** Formats the result as one line of the printed table. */
export function formatResult(result: Result): string {
  const { name, value, unit, target } = result;
  const digits = value < 10 ? 2 : 0;
  const verdict = isMissed(result) ? ": MISSED" : "";
  const note = target === null ? "" : `  (target: ${boundOf(result)} ${target} ${unit}${verdict})`;
  return `${value.toFixed(digits).padStart(9)} ${unit.padEnd(2)}  ${name}${note}`;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
