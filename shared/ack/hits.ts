import { resourceInAccount, SCAN_LIMIT } from "../core/fault-texts.ts";
import { compareText, countOf, listOf } from "../formats/text.ts";
import { accountOfResource, type Transition } from "./change-set.ts";

/** The resources on which a change has the same effect. */
export interface Hits {
  /** The number of resources that the scan has found. */
  readonly found: number;
  /** The first resources that the scan found, at most `SCAN_LIMIT`. */
  readonly first: readonly Transition[];
}

/**
 * Returns `2 resources EFFECT: Bucket team-a/b1 in account 111122223333 and Bucket team-a/b2`, sorted. `itemOf` returns
 * the text of one resource. Default: the resource and its account before the change.
 */
export function listHits({ found, first }: Hits, effect: string, itemOf = itemBefore): string {
  const items = listOf(first.map(itemOf).toSorted(compareText), found, SCAN_LIMIT);
  return `${countOf(found, "resource", SCAN_LIMIT)} ${effect}: ${items}`;
}

function itemBefore(transition: Transition): string {
  return resourceInAccount(transition.resource, accountOfResource(transition));
}
