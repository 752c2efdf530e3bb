import { stateOf } from "../shared/checks/namespace-change.ts";
import type { KindName } from "../shared/contract/capa-kinds.ts";
import { type KindID, kindOf } from "../shared/contract/kinds.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { type Paced, paced } from "../shared/formats/paced.ts";
import type { Inventory } from "../shared/inventory/inventory.ts";
import type { EffectiveSelector } from "../shared/model/effective-selector.ts";
import { canOverlap } from "../shared/model/selector-overlap.ts";
import { concernsSelector, type ReviewedSelector } from "./pending/pending-kinds.ts";
import { inSlices, type ReviewContext } from "./review.ts";

/** Whether a review reads objects of the kind. */
export type KindFilter = (kind: KindName) => boolean;

/** The kinds on which every decision about a role depends. An unknown definition hides all objects of its kind. */
const BASIC: ReadonlySet<KindID> = new Set(["selector", "namespace", "other-definition"]);
const RESOURCES: ReadonlySet<KindID> = new Set(["resource"]);
const OF_CAPA: ReadonlySet<KindID> = new Set([...BASIC, "identity", "cluster"]);

export const basicKinds: KindFilter = (kind) => isOf(BASIC, kind);
export const identityKinds: KindFilter = (kind) => isOf(OF_CAPA, kind);

function isOf(ids: ReadonlySet<KindID>, kind: KindName): boolean {
  const row = kindOf({ ...kind, name: "" });
  return row !== null && ids.has(row.id);
}

/**
 * Returns the kinds of which an unknown object could change the verdict on a selector: those of the resources that it
 * selects, if it can share a resource with another selector, or takes effect on resources already. Otherwise only the
 * basic kinds, so that most new selectors cost no more.
 */
export async function kindsAtRisk(selector: ReviewedSelector, context: ReviewContext): Promise<KindFilter> {
  const { name, before, after } = selector;
  const { pendingSelectors, source: { inventory } } = context;
  if (before === null) {
    const pending = pendingSelectors.all().some((write) => concernsSelector(selector, write, inventory));
    if (after === null || !(pending || await canShare(name, after, context))) return basicKinds;
  }
  return kindsSelectedBy([before, after].filter((one) => one !== null));
}

/** Returns the kinds of resources for which a change of a Namespace adds or removes a selector; null if none does. */
export function kindsOfRelabeled(old: JsonObject, object: JsonObject, { selectors }: Inventory): KindFilter | null {
  const { name } = objectReference(object);
  const selecting = (one: JsonObject): Set<EffectiveSelector> => (
    new Set(selectors.inNamespace(name, stateOf(one).labels))
  );
  const [before, after] = [selecting(old), selecting(object)];
  const changed = [...[...before].filter((one) => !after.has(one)), ...[...after].filter((one) => !before.has(one))];
  return changed.length === 0 ? null : kindsSelectedBy(changed);
}

function kindsSelectedBy(selectors: readonly EffectiveSelector[]): KindFilter {
  return (kind) => basicKinds(kind) || (isOf(RESOURCES, kind) && selectors.some((one) => canSelect(one, kind)));
}

/** The number of selectors that are compared between two pauses. */
const BETWEEN_PAUSES = 50;

/** Whether another stored selector can select the same resource, whether or not such a resource exists. */
async function canShare(
  name: string, selector: EffectiveSelector, { source: { inventory: { selectors } }, ...context }: ReviewContext,
): Promise<boolean> {
  function* compare(): Paced<boolean> {
    const candidates = yield* selectors.overlapCandidates(selector);
    return !(yield* paced(candidates, BETWEEN_PAUSES, (other) => other.name === name || !canOverlap(selector, other)));
  }
  return await inSlices(compare(), context);
}

/** Ignores the version, because the API server serves an object in each version of its kind. */
function canSelect({ types }: EffectiveSelector, { group, kind }: KindName): boolean {
  if (types === null) return true;
  const kinds = types.kindsOf(group);
  return kinds.has("") || kinds.has(kind);
}


/**
 * Throws ERR_INVENTORY_STALE unless the inventory contains every change of the kinds up to 5 s ago. Returns whether the
 * API server was asked, so that what the review has read before may be outdated.
 */
export async function requireCurrent(isNeeded: KindFilter, { source, remainingMs }: ReviewContext): Promise<boolean> {
  const { fault, hasAsked } = await source.prove(isNeeded, remainingMs());
  if (fault === null) return hasAsked;
  throw new ResolverError(
    "ERR_INVENTORY_STALE",
    `This replica may not know the latest changes of the cluster: ${fault}. Retry in a moment.`,
  );
}
