import type { Json } from "./generate/json.ts";

/** What a program answered in one case: one line of a record. Absent fields are empty. */
export interface Case {
  /** The first word is the program or the command. */
  readonly id: string;
  /** A hash of what the program received. If it differs, the corpus has changed, and answers cannot be compared. */
  readonly input: string;
  /** `admitted`, `denied`, `skipped: REASON`, `error CODE`, `granted`, `exit 1`... */
  readonly outcome: string;
  /** The HTTP status, or that in the Status of a denial. */
  readonly status?: number;
  /** `CODE SEVERITY PATH`, sorted. The path is `?` if the answer does not show it. */
  readonly findings?: readonly string[];
  /** The number of warnings in the response. */
  readonly warnings?: number;
  readonly patch?: readonly Json[];
  /** The role, account, region and selectors of an object. */
  readonly resolution?: Json;
  /** The request to STS for which the sidecar returned credentials. */
  readonly grant?: Json;
  /** Other output that must not change, such as a CEL expression, or its hash. */
  readonly output?: unknown;
  /** Texts for people. Comparisons ignore them by default. */
  readonly messages?: readonly string[];
}

/** Returns the line of a case, without its empty fields, so that a record stays small. */
export function lineOf(one: Case): string {
  const entries = Object.entries(one).filter(([, value]) => (
    value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
  ));
  return JSON.stringify(Object.fromEntries(entries));
}

export function casesOf(text: string): Case[] {
  return text.split("\n").filter((line) => line !== "").map((line): Case => JSON.parse(line));
}
