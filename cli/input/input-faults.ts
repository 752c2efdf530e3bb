import { formatInputFault, type InputFault } from "../../shared/files/manifest-reader.ts";
import { countOf } from "../../shared/formats/text.ts";
import { type IO, isVerbose, type LogSettings, writeLines } from "../io.ts";

/**
 * Reports the faults and returns whether any exist. If any exist, the caller must not print roles, because roles that
 * are resolved from incomplete input could be wrong.
 */
export function isUnreadable(faults: readonly InputFault[], settings: LogSettings, io: IO): boolean {
  reportFaults(faults, settings, io);
  return faults.length > 0;
}

/** Writes the faults to stderr: with `--verbose` all of them. */
export function reportFaults(faults: readonly InputFault[], settings: LogSettings, io: IO): void {
  writeLines(io.stderr, faultLines(faults, isVerbose(settings)));
}

/** The number of faults that are listed, whatever they are about. */
const MAX_LISTED = 10;
/** The number of faults of each kind that are listed if there are more. */
const MAX_OF_KIND = 3;

/**
 * Returns each fault as `FILE:LINE: MESSAGE`. If there are many, and not all of them are asked for, returns the first
 * ones of each kind, and how many others there are.
 */
export function faultLines(faults: readonly InputFault[], isComplete: boolean, prefix = ""): string[] {
  const lineOf = (fault: InputFault): string => `${prefix}${formatInputFault(fault)}`;
  if (isComplete || faults.length <= MAX_LISTED) return faults.map(lineOf);
  const byKind = Map.groupBy(faults, ({ kind, message }) => kind ?? message);
  return [...byKind.values()].flatMap((own) => {
    const [listed, others] = [own.slice(0, MAX_OF_KIND), own.slice(MAX_OF_KIND)];
    return [...listed.map(lineOf), ...(others.length === 0 ? [] : [`${prefix}${othersText(others)}`])];
  });
}

/** Returns what the kinds of faults are called. */
const NAMES = { duplicate: "duplicate", syntax: "syntax error", value: "invalid value" } as const;

function othersText(others: readonly InputFault[]): string {
  const kind = others[0]?.kind;
  const number = countOf(others.length, `more ${kind === undefined ? "such error" : NAMES[kind]}`);
  const files = countOf(new Set(others.map(({ file }) => file)).size, "file");
  return `and ${number} in ${files} (-v lists all)`;
}
