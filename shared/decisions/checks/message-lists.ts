import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { compareText, countOf, listOf } from "../kubernetes/text.ts";
import { accountOf, resourceName, type Transition } from "../resolution/change-set.ts";

/** What denies looks no further: nobody reads on, and more than "at least 20" would change nothing. */
export const ENOUGH = 20;

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
