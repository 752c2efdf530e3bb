import { compareText } from "../finding.ts";
import { listOf } from "./resource-list.ts";

/** As many as are told; the rest are counted, without sorting what may be all namespaces of a cluster. */
const KEPT = 3;

/** `a, b, c and 40 more`, the first in order. */
export function someNames(names: Iterable<string>): string {
  let first: string[] = [];
  let number = 0;
  for (const name of names) {
    number++;
    const last = first[KEPT - 1];
    if (last === undefined || compareText(name, last) < 0) first = [...first, name].toSorted(compareText).slice(0, KEPT);
  }
  return listOf(first, number);
}
