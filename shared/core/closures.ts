import { field, stringMap } from "../formats/json.ts";
import { PROFILE_NAMES, PROFILES } from "./profiles.ts";

/**
 * Which ways to the controllers' own role a sidecar closes: with `base`, clients get no credentials of its own, and
 * with `unmatched`, none for a resource that no selector selects. No other setting of a sidecar depends on the profile.
 */
export interface Closures {
  readonly base: boolean;
  readonly unmatched: boolean;
}

/** The value that leaves each way open, and the flag that closes it. */
const WAYS = {
  base: { open: "vend", flag: "--base=identity-only" }, unmatched: { open: "base", flag: "--unmatched=deny" },
} as const;

/** The values of --profile, --base and --unmatched; undefined if a value is not set. */
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
  return { base: isClosed("base"), unmatched: isClosed("unmatched") };
}

/** Returns what the ConfigMap of a profile closes. */
export function closuresIn(configMap: unknown): Closures {
  const data = stringMap(field(configMap, "data"));
  return closuresOf({ profile: data.get("profile"), base: data.get("base"), unmatched: data.get("unmatched") });
}

/** Returns what at least one of the two closes. */
export function tightest(one: Closures, other: Closures): Closures {
  return { base: one.base || other.base, unmatched: one.unmatched || other.unmatched };
}

/** Returns the flags that would close what is required and open. */
export function missingFlags(required: Closures, closed: Closures): readonly string[] {
  return (["base", "unmatched"] as const).filter((way) => required[way] && !closed[way]).map((way) => WAYS[way].flag);
}
