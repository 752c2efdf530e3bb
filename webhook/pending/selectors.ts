import { SELECTOR_ANNOTATIONS } from "../../shared/decisions/annotation-keys.ts";
import type { CheckInput } from "../../shared/decisions/checks/change.ts";
import type { Runtime } from "../../shared/decisions/context.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import { field } from "../../shared/decisions/kubernetes/json.ts";
import { SELECTOR_KIND } from "../../shared/decisions/kubernetes/kinds.ts";
import { annotationAt } from "../../shared/decisions/kubernetes/object-meta.ts";
import { decodeSelector } from "../../shared/decisions/selectors/decode.ts";
import type { EffectiveSelector } from "../../shared/decisions/selectors/effective.ts";
import { canOverlap } from "../../shared/decisions/selectors/overlap.ts";
import { differingExtras } from "../../shared/decisions/selectors/session-annotations.ts";
import type { PendingKind } from "./write.ts";
import type { PendingWrite } from "./writes.ts";

/** Returns the functions for pending writes of IAMRoleSelectors. A malformed selector has no effect. */
export function selectorWrites(runtime: Runtime): PendingKind<EffectiveSelector> {
  return {
    kind: SELECTOR_KIND,
    stateIn: ({ selectors }, name) => selectors.get(name) ?? selectors.malformed.get(name)?.spec,
    read: (object) => decodeSelector(object, { origin: "cluster", runtime }).effective,
    reduce: (object) => {
      const { apiVersion, kind, metadata, spec } = object;
      const entries = Array.from(SELECTOR_ANNOTATIONS, (key) => [key, annotationAt(object, key)] as const);
      const annotations = Object.fromEntries(entries.filter(([, value]) => value !== null));
      return { apiVersion, kind, metadata: { name: field(metadata, "name"), annotations }, spec };
    },
    // Such a selector selects every resource.
    widen: ({ spec, ...object }) => ({ ...object, spec: { arn: field(spec, "arn") } }),
  };
}

/**
 * The selector in a review, before and after the reviewed change. A state is null if the selector does not exist or is
 * malformed.
 */
export interface ReviewedSelector {
  readonly name: string;
  readonly before: EffectiveSelector | null;
  readonly after: EffectiveSelector | null;
}

/** Decodes the selector in a review, before and after the reviewed change. */
export function reviewedSelector({ object, old, operation }: CheckInput, runtime: Runtime): ReviewedSelector {
  const context = { origin: "cluster", runtime } as const;
  const { effective, name } = decodeSelector(object, context);
  if (operation === "DELETE") return { name, before: effective, after: null };
  return { name, before: old === null ? null : decodeSelector(old, context).effective, after: effective };
}

/** Whether a pending write of another selector can affect the checks of the selector. */
export function concernsSelector(
  { name, before, after }: ReviewedSelector, write: PendingWrite<EffectiveSelector>, { selectors }: Inventory,
): boolean {
  if (write.name === name) return false;
  const versions = [before, after].filter((version) => version !== null);
  const others = [write.value, selectors.get(write.name)].filter((other) => other !== null && other !== undefined);
  return others.some((other) => versions.some((one) => differInSession(one, other) || canOverlap(one, other)));
}

/** Whether the selectors have the same role, but different session settings (IRS-40). */
function differInSession(one: EffectiveSelector, other: EffectiveSelector): boolean {
  return one.roleARN === other.roleARN && differingExtras(one.extras, other.extras).length > 0;
}
