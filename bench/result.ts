/** One number of a bench. A bench is a file of this folder that exports `run(): readonly Result[] | Promise<readonly Result[]>`. */
export interface Result {
  readonly name: string;
  readonly value: number;
  readonly unit: "us" | "ms" | "x" | "MB" | "/s" | "callers" | "requests";
  /** What is good enough; null where nothing is promised. */
  readonly target: number | null;
  /** Which side of the target is good, where it is not what the unit says: at least for x and /s, at most for the rest. */
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

/** A line of the table that a person reads. */
export function formatResult(result: Result): string {
  const { name, value, unit, target } = result;
  const digits = value < 10 ? 2 : 0;
  const promise = target === null ? "" : `  (${boundOf(result)} ${target} ${unit}${isMissed(result) ? ": MISSED" : ""})`;
  return `${value.toFixed(digits).padStart(9)} ${unit.padEnd(2)}  ${name}${promise}`;
}
