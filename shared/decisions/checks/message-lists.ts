import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { compareText, countOf, listOf, sortedListOf } from "../kubernetes/text.ts";
import { accountOfResource, resourceName, type Transition } from "../resolution/change-set.ts";

/** A check that denies stops its scan after this many resources. Its message then says "at least 20". */
export const SCAN_LIMIT = 20;

/** The resources that a change affects in one way. */
export interface Hits {
  /** How many the scan has found. */
  readonly found: number;
  /** The first of them, at most `SCAN_LIMIT`. */
  readonly first: readonly Transition[];
}

interface HitsText {
  readonly noun: string;
  /** What happens to the resources, as the verb phrase after the count. */
  readonly effect: string;
  /** Default: the resource and its account before the change. */
  readonly itemOf?: (transition: Transition) => string;
  /** The count at which the scan stopped. Default: `SCAN_LIMIT`. */
  readonly limit?: number;
}

/** Returns `2 resources EFFECT: Bucket team-a/b1 in account 111122223333 and Bucket team-a/b2`, sorted. */
export function listHits(
  { found, first }: Hits, { noun, effect, itemOf = itemBefore, limit = SCAN_LIMIT }: HitsText,
): string {
  return `${countOf(found, noun, limit)} ${effect}: ${listOf(first.map(itemOf).toSorted(compareText), found, limit)}`;
}

function itemBefore(transition: Transition): string {
  return resourceInAccount(transition.resource, accountOfResource(transition));
}

/** Returns `Bucket team-a/b1 in account 111122223333`, or `Bucket team-a/b1` if the account is unknown. */
export function resourceInAccount(resource: ACKResource, account: string | null): string {
  return account === null ? resourceName(resource) : `${resourceName(resource)} in account ${account}`;
}

/**
 * Returns the sentence for the count, then the resources: `the change stops 2 resources: Bucket team-a/b1 and ...`.
 * With `isPartial`, because a scan stopped early, the count is "at least 2 resources".
 */
export function listResources(
  resources: readonly ACKResource[], sentenceFor: (count: string) => string, isPartial = false,
): string {
  const sentence = sentenceFor(countText(resources.length, "resource", isPartial));
  return `${sentence}: ${sortedListOf(resources.map(resourceName))}`;
}

/** Returns `2 namespaces: team-a and team-b`. `isPartial` as above. */
export function listNamespaces(names: readonly string[], isPartial: boolean): string {
  return `${countText(names.length, "namespace", isPartial)}: ${sortedListOf(names)}`;
}

function countText(number: number, noun: string, isPartial: boolean): string {
  return isPartial ? `at least ${countOf(number, noun)}` : countOf(number, noun);
}
