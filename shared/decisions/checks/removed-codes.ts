/** A check that was removed. For one release, `--check` and waivers still accept its code, with a warning. */
export interface RemovedCode {
  readonly code: string;
  /** The check that reports the faults now; null if no check does. */
  readonly successor: string | null;
  /** Why the check was removed: a clause without a full stop. */
  readonly reason: string;
  /** Whether the successor denies. A severity of the removed check then never weakens the successor. */
  readonly denies?: true;
  /** Whether the removed check could be waived. Its waivers then apply to the successor. */
  readonly waivable?: true;
}

/** Every removed check. CHANGELOG.md and docs/checks.md list the same codes. */
export const REMOVED_CODES: readonly RemovedCode[] = [
  { code: "IRS-14", successor: null, reason: "a type entry that a broader entry covers changes no role" },
  { code: "ACK-04", successor: "ACK-03", waivable: true, reason: "both report a resource without a role" },
  { code: "ACK-19", successor: null, reason: "a controller visibly does nothing where it does not watch" },
  { code: "ACK-19b", successor: null, reason: "a controller visibly does nothing where it does not watch" },
];

const BY_CODE: ReadonlyMap<string, RemovedCode> = new Map(REMOVED_CODES.map((row) => [row.code, row]));

export function removedCode(code: string): RemovedCode | null {
  return BY_CODE.get(code) ?? null;
}

/** Returns the check to which `--check CODE=SEVERITY` applies now; null if the check was not removed, or has none. */
export function successorAt(code: string, severity: string): string | null {
  const removed = removedCode(code);
  return removed === null ? null : successorOf(removed, severity);
}

/** Returns the check to which this severity of the removed check applies now; null if there is none. */
export function successorOf({ denies, successor }: RemovedCode, severity: string): string | null {
  return denies === true && severity !== "deny" ? null : successor;
}

/** Returns the code of the check that a waiver of `code` waives now. */
export function currentWaiver(code: string): string {
  const removed = removedCode(code);
  return removed?.waivable === true && removed.successor !== null ? removed.successor : code;
}

/** Returns a warning for each value of `--check` that sets the severity of a removed check. */
export function removedCheckNotices(check: readonly string[]): string[] {
  return check.flatMap((value) => {
    const [id = "", severity = ""] = value.split("=", 2);
    const removed = removedCode(id);
    return removed === null ? [] : [`--check ${value} ${removedCheckNotice(removed, severity)}`];
  });
}

/** Returns what a severity of the removed check does now, as the rest of a sentence. */
export function removedCheckNotice(removed: RemovedCode, severity: string): string {
  const { code, reason, successor } = removed;
  if (successor === null) return `has no effect: ${code} was removed, because ${reason}`;
  const merge = `${code} is part of ${successor}`;
  if (successorOf(removed, severity) !== null) return `is now ${successor}=${severity}: ${merge}`;
  return `has no effect: ${merge}, which denies. Set ${successor}=${severity} if you mean that`;
}
