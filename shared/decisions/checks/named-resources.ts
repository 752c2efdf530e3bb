import type { ACKResource } from "../ack-resource.ts";
import { compareText } from "../finding.ts";
import { resourceName } from "../transition.ts";
import { countOf, listOf } from "./resource-list.ts";

/** After so many resources a look may be put off: well under a millisecond's work. */
export const RESOURCES_BETWEEN_PAUSES = 100;

/** `2 resources: Bucket team-a/b1 and Bucket team-a/b2`; `at least` so many where the look ended there. */
export function namedResources(resources: readonly ACKResource[], ended = false): string {
  return countAndNames(resources.map(resourceName), "resource", ended);
}

/** The same of anything that has a name. */
export function countAndNames(names: readonly string[], noun: string, ended = false): string {
  return `${ended ? "at least " : ""}${countOf(names.length, noun)}: ${listOf(names.toSorted(compareText))}`;
}
