import { compareText } from "../finding.ts";
import { printable } from "../quote.ts";

const NAMED = 5;

/** `a, b and 40 more`: the first few in order, since a message is for a person. */
export function someNames(names: Iterable<string>): string {
  const sorted = [...names].toSorted(compareText);
  const named = sorted.slice(0, NAMED).map(printable).join(", ");
  return sorted.length > NAMED ? `${named} and ${sorted.length - NAMED} more` : named;
}
