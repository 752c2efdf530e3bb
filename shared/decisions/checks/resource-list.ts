import type { ACKResource } from "../ack-resource.ts";
import { compareText } from "../finding.ts";
import { printable } from "../quote.ts";
import { accountOf, resourceName, type Transition } from "../transition.ts";

/** A message names no more than these; who wants them all asks `impact`. */
export const NAMED = 3;

/** What denies looks no further: nobody reads on, and more than "at least 20" would change nothing. */
export const ENOUGH = 20;

/** `1 resource`, `7 resources`, `at least 20 resources`: the last where nobody looked for more. */
export function countOf(number: number, noun: string, enough = Infinity): string {
  return number >= enough ? `at least ${enough} ${noun}s` : `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `a`, `a and b`, `a, b, c and 4 more`; of at least so many `a, b, c and others`. */
export function listOf(names: readonly string[], number = names.length, enough = Infinity): string {
  const shown = names.slice(0, NAMED);
  const more = number - shown.length;
  const rest = number >= enough ? "others" : `${more} more`;
  const parts = more > 0 ? [...shown, rest] : shown;
  return printable([parts.slice(0, -1).join(", "), ...parts.slice(-1)].filter((part) => part !== "").join(" and "));
}

/** `Bucket team-a/b1 in account 111122223333`; without the account where nobody knows it. */
export function placeOf(resource: ACKResource, account: string | null): string {
  return account === null ? resourceName(resource) : `${resourceName(resource)} in account ${account}`;
}

export interface Description {
  readonly noun: string;
  readonly what: string;
  readonly place?: (transition: Transition) => string;
  /** Default: as many as stop a denial. */
  readonly enough?: number;
}

/**
 * `2 resources WHAT: Bucket team-a/b1 in account 111122223333 and Bucket team-a/b2`, as they are before the step: by name, so that
 * the same change is told in the same words whatever order they were found in.
 */
export function describe({ found, first }: { readonly found: number; readonly first: readonly Transition[] }, { noun, what, place = placeBefore, enough = ENOUGH }: Description): string {
  return `${countOf(found, noun, enough)} ${what}: ${listOf(first.map(place).toSorted(compareText), found, enough)}`;
}

function placeBefore(transition: Transition): string {
  return placeOf(transition.resource, accountOf(transition));
}
