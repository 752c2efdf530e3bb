import { isSameLabels } from "../shared/formats/label-selector.ts";
import { SELECTORS } from "../shared/ack/selectors.ts";
import { annotationOf, stateOf } from "../shared/core/namespace-change.ts";
import { USE_SELECTOR_ANNOTATION } from "../shared/core/annotation-keys.ts";
import type { KindName } from "../shared/core/capa-kinds.ts";
import type { Runtime } from "../shared/core/context.ts";
import { kindOf } from "../shared/kinds.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { type Paced, paced } from "../shared/formats/paced.ts";
import { choosingAnnotations } from "../shared/carm/carm-maps.ts";
import type { EffectiveSelector } from "../shared/core/effective-selector.ts";
import { canOverlap } from "../shared/ack/selector-overlap.ts";
import { concernsSelector, type ReviewedSelector } from "./pending/pending-kinds.ts";
import { inSlices, type ReviewContext } from "./review.ts";

/** Whether a review reads objects of the kind. */
export type KindFilter = (kind: KindName) => boolean;

/** The kinds on which every decision about a role depends. An unknown definition hides all objects of its kind. */
const BASIC: ReadonlySet<string> = new Set(["selector", "namespace", "other-definition"]);
const RESOURCES: ReadonlySet<string> = new Set(["resource"]);
const OF_CAPA: ReadonlySet<string> = new Set([...BASIC, "identity", "cluster"]);

export const basicKinds: KindFilter = (kind) => isOf(BASIC, kind);
export const identityKinds: KindFilter = (kind) => isOf(OF_CAPA, kind);

function isOf(ids: ReadonlySet<string>, kind: KindName): boolean {
  const row = kindOf({ ...kind, name: "" });
  return row !== null && ids.has(row.id);
}

/**
 * Returns the kinds of which an unknown object could change the verdict on a selector. A new selector can only be in
 * conflict on what another one selects too. So most new selectors, which overlap with none, need only the basic kinds.
 */
export async function kindsAtRisk(selector: ReviewedSelector, context: ReviewContext): Promise<KindFilter> {
  const { before, after } = selector;
  const ofBoth = kindsSelectedBy([before, after].filter((one) => one !== null));
  if (before !== null || after === null) return ofBoth;
  const { pendingSelectors, source: { inventory } } = context;
  const pending = pendingSelectors.all().filter((write) => concernsSelector(selector, write, inventory));
  const others = [...pending.flatMap(({ value }) => value ?? []), ...await overlapping(after, context)];
  if (others.length > MAX_OVERLAPPING) return ofBoth;
  const ofOthers = kindsSelectedBy(others);
  return (kind) => ofBoth(kind) && ofOthers(kind);
}

/** The number of overlapping selectors whose kinds are compared. */
const MAX_OVERLAPPING = 100;
/** The number of selectors that are compared between two pauses. */
const BETWEEN_PAUSES = 50;

/** Returns stored selectors that can select the same resource, whether or not such a resource exists. */
async function overlapping(
  selector: EffectiveSelector, context: ReviewContext,
): Promise<readonly EffectiveSelector[]> {
  function* compare(): Paced<EffectiveSelector[]> {
    const found: EffectiveSelector[] = [];
    yield* paced(yield* context.source.inventory.of(SELECTORS).overlapCandidates(selector), BETWEEN_PAUSES, (other) => {
      if (other.name !== selector.name && canOverlap(selector, other)) found.push(other);
      return found.length <= MAX_OVERLAPPING;
    });
    return found;
  }
  return await inSlices(compare(), context);
}

/** Returns the basic kinds, and the kinds of resources that one of the selectors can select. */
function kindsSelectedBy(selectors: readonly EffectiveSelector[]): KindFilter {
  return (kind) => basicKinds(kind) || (isOf(RESOURCES, kind) && selectors.some((one) => canSelect(one, kind)));
}

/**
 * Returns the kinds of which an unknown object could change the verdict on a change of a Namespace; null if the change
 * cannot give a resource another role. A selector that is not known may match the new labels, so that the basic kinds
 * are always among them.
 */
export function kindsOfRelabeled(
  old: JsonObject, object: JsonObject, { settings, source: { inventory } }: ReviewContext,
): KindFilter | null {
  const { name } = objectReference(object);
  const [before, after] = [stateOf(old), stateOf(object)];
  const choices = settings.mode === "carm" ? choosingAnnotations(settings) : CHOICES[settings.runtime];
  if (choices.some((key) => annotationOf(before, key) !== annotationOf(after, key))) return everyResource;
  if (settings.mode === "carm" || isSameLabels(before.labels, after.labels)) return null;
  const selecting = ({ labels }: typeof before): Set<EffectiveSelector> => (
    new Set(inventory.of(SELECTORS).inNamespace(name, labels))
  );
  const [lost, gained] = [selecting(before), selecting(after)];
  const changed = [...lost, ...gained].filter((one) => lost.has(one) !== gained.has(one));
  return kindsSelectedBy(changed);
}

/** The annotations of a Namespace that choose among selectors. */
const CHOICES: Readonly<Record<Runtime, readonly string[]>> = { ack: [], extended: [USE_SELECTOR_ANNOTATION] };

const everyResource: KindFilter = (kind) => basicKinds(kind) || isOf(RESOURCES, kind);

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
