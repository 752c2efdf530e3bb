/** One number of a bench. A bench is a file of this folder that exports `run(): readonly Result[] | Promise<readonly Result[]>`. */
export interface Result {
  readonly name: string;
  readonly value: number;
  readonly unit: "us" | "ms" | "x" | "MB";
  /** The most (us, ms, MB) or the least (x) that is good enough; null where nothing is promised. */
  readonly target: number | null;
}

export function isMissed({ value, unit, target }: Result): boolean {
  if (target === null) return false;
  return unit === "x" ? value < target : value > target;
}

/** A line of the table that a person reads. */
export function formatResult(result: Result): string {
  const { name, value, unit, target } = result;
  const digits = value < 10 ? 2 : 0;
  const promise = target === null ? "" : `  (${unit === "x" ? "at least" : "at most"} ${target} ${unit}${isMissed(result) ? ": MISSED" : ""})`;
  return `${value.toFixed(digits).padStart(9)} ${unit.padEnd(2)}  ${name}${promise}`;
}
