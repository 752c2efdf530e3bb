import { field, stringMap } from "../formats/json.ts";
import type { ScopeName } from "./session.ts";
import { PROFILE_NAMES, PROFILES } from "./profiles.ts";

/**
 * What a sidecar closes: with `base`, clients get no credentials of its own role, with `unmatched`, none for a resource
 * that no selector selects, and with `sessionScope`, no session that can do more than its controller needs, unless the
 * selector says so. No other setting of a sidecar depends on the profile.
 */
export interface Closures {
  readonly base: boolean;
  readonly unmatched: boolean;
  readonly sessionScope: boolean;
}

export const NOTHING_CLOSED: Closures = { base: false, unmatched: false, sessionScope: false };
export const ALL_CLOSED: Closures = { base: true, unmatched: true, sessionScope: true };

/** Returns the scope of the sessions of selectors without the annotation session-scope. */
export function defaultScope({ sessionScope }: Closures): ScopeName {
  return sessionScope ? "service" : "none";
}

/** The value that leaves each way open, and the flag that closes it. */
const WAYS = {
  base: { open: "vend", flag: "--base=identity-only" }, unmatched: { open: "base", flag: "--unmatched=deny" },
  sessionScope: { open: "none", flag: "--session-scope=service" },
} as const;
const NAMES = ["base", "unmatched", "sessionScope"] as const;

/** The values of --profile and of the flags that close; undefined if a value is not set. */
type ProfileTexts = Readonly<Record<"profile" | keyof Closures, string | undefined>>;

/**
 * Returns what the settings close. What is not understood closes too: a profile that this version does not know, and
 * every value but the one that leaves a way open.
 */
export function closuresOf({ profile: text, ...own }: ProfileTexts): Closures {
  const profile = PROFILE_NAMES.find((one) => one === text) ?? "strict";
  const isClosed = (way: keyof Closures): boolean => (
    own[way] === undefined ? PROFILES[way][profile] !== null : own[way] !== WAYS[way].open
  );
  return closures(isClosed);
}

/** Returns what the ConfigMap of a profile closes. */
export function closuresIn(configMap: unknown): Closures {
  const data = stringMap(field(configMap, "data"));
  return closuresOf({
    profile: data.get("profile"), base: data.get("base"), unmatched: data.get("unmatched"),
    sessionScope: data.get("session-scope"),
  });
}

/** Returns what at least one of the two closes. */
export function tightest(one: Closures, other: Closures): Closures {
  return closures((name) => one[name] || other[name]);
}

/** Returns the flags that would close what is required and open. */
export function missingFlags(required: Closures, closed: Closures): readonly string[] {
  return NAMES.filter((way) => required[way] && !closed[way]).map((way) => WAYS[way].flag);
}

export function closesAny(closed: Closures): boolean {
  return NAMES.some((name) => closed[name]);
}

function closures(isClosed: (name: keyof Closures) => boolean): Closures {
  return { base: isClosed("base"), unmatched: isClosed("unmatched"), sessionScope: isClosed("sessionScope") };
}
