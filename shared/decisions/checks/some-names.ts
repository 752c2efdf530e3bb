import { compareText } from "../finding.ts";
import { listOf } from "./resource-list.ts";

/** `a, b, c and 40 more`, in order. */
export function someNames(names: Iterable<string>): string {
  return listOf([...names].toSorted(compareText));
}
