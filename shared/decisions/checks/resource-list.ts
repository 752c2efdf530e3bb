import type { ACKResource } from "../ack-resource.ts";
import { compareText } from "../finding.ts";
import { printable } from "../quote.ts";
import { resourceName, type Transition } from "../transition.ts";

/** A message names no more than these; who wants them all asks `impact`. */
const NAMED = 3;

/** What denies looks no further: nobody reads on, and more than "at least 20" would change nothing. */
export const ENOUGH = 20;

/** `1 resource`, `7 resources`, `at least 20 resources`: the last where nobody looked for more. */
export function countOf(number: number, noun: string, enough = Infinity): string {
  return number >= enough ? `at least ${enough} ${noun}s` : `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `a`, `a and b`, `a, b, c and 4 more`; `number` is how many there are in all. */
export function listOf(names: readonly string[], number = names.length): string {
  const shown = names.slice(0, NAMED);
  const more = number - shown.length;
  const parts = more > 0 ? [...shown, `${more} more`] : shown;
  const last = parts.length > 1 ? ` and ${parts.at(-1) ?? ""}` : "";
  return printable(`${parts.slice(0, last === "" ? 1 : -1).join(", ")}${last}`);
}

/** `Bucket team-a/b1 in account 111122223333`; without the account where nobody knows it. */
export function placeOf(resource: ACKResource, account: string | null): string {
  return account === null ? resourceName(resource) : `${resourceName(resource)} in account ${account}`;
}

/** The resources by name, so that the same change is told in the same words whatever order they were found in. */
export function describe(transitions: readonly Transition[], number: number, tell: (transition: Transition) => string): string {
  return listOf(transitions.map(tell).toSorted(compareText), number);
}
