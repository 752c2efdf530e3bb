import type { ACKResource } from "../ack-resource.ts";
import { compareText } from "../finding.ts";
import { resourceName } from "../transition.ts";
import { countOf, listOf } from "./resource-list.ts";

/** After so many resources a look may be put off: well under a millisecond's work. */
export const RESOURCES_BETWEEN_PAUSES = 100;

/** A sentence about how many resources, and then which: `the change stops 2 resources: Bucket team-a/b1 and Bucket team-a/b2`. */
export function tellOf(resources: readonly ACKResource[], sentence: (count: string) => string, ended = false): string {
  return `${sentence(amount(resources.length, "resource", ended))}: ${namesOf(resources.map(resourceName))}`;
}

/** `2 resources: Bucket team-a/b1 and Bucket team-a/b2`. */
export function namedResources(resources: readonly ACKResource[], ended = false): string {
  return tellOf(resources, (count) => count, ended);
}

/** The same of namespaces. */
export function namedNamespaces(names: readonly string[], ended = false): string {
  return `${amount(names.length, "namespace", ended)}: ${namesOf(names)}`;
}

/** `at least` so many where the look ended there. */
function amount(number: number, noun: string, ended: boolean): string {
  return `${ended ? "at least " : ""}${countOf(number, noun)}`;
}

function namesOf(names: readonly string[]): string {
  return listOf(names.toSorted(compareText));
}
