import { SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { SELECTOR_ANNOTATIONS } from "../core/annotation-keys.ts";
import type { CheckInput } from "../core/check.ts";
import type { Runtime } from "../core/context.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Inventory } from "../core/inventory.ts";
import type { NamedChange } from "../core/pending-changes.ts";
import type { PendingKind } from "../core/review-needs.ts";
import { differingExtras } from "../core/session-annotations.ts";
import { field } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { judgeSelector } from "./judge-selector.ts";
import { kindsAtRisk, type ReviewedSelector } from "./kinds-at-risk.ts";
import { canOverlap } from "./selector-overlap.ts";
import { SELECTORS } from "./selectors.ts";

/** How admitted changes of IAMRoleSelectors are compared. A malformed selector has no effect. */
export function pendingSelectors(runtime: Runtime): PendingKind<EffectiveSelector> {
  return {
    kind: SELECTOR_KIND,
    path: `/apis/${SELECTOR_GROUP}/v1alpha1/iamroleselectors`,
    stateIn(inventory, name) {
      const selectors = inventory.of(SELECTORS);
      return selectors.get(name) ?? selectors.malformed.get(name)?.spec;
    },
    read: (object) => judgeSelector(object, { origin: "cluster", runtime }).effective,
    reduce(object) {
      const { apiVersion, kind, metadata, spec } = object;
      const annotations: Record<string, string> = {};
      for (const key of SELECTOR_ANNOTATIONS) {
        const value = annotationAt(object, key);
        if (value !== null) annotations[key] = value;
      }
      return { apiVersion, kind, metadata: { name: field(metadata, "name"), annotations }, spec };
    },
    // Such a selector selects every resource.
    widen: ({ spec, ...object }) => ({ ...object, spec: { arn: field(spec, "arn") } }),
    compare(input, inventory) {
      const reviewed = reviewedSelector(input, runtime);
      return {
        related: (writes) => writes.filter((write) => concernsSelector(reviewed, write, inventory)),
        atRisk: (related) => kindsAtRisk(reviewed, related.flatMap(({ value }) => value ?? []), inventory),
        inputWith: (pending) => ({ pending }),
      };
    },
  };
}

/** Judges the selector in a review, before and after the reviewed change. */
export function reviewedSelector({ object, old, operation }: CheckInput, runtime: Runtime): ReviewedSelector {
  const context = { origin: "cluster", runtime } as const;
  const { effective, name } = judgeSelector(object, context);
  if (operation === "DELETE") return { name, before: effective, after: null };
  return { name, before: old === null ? null : judgeSelector(old, context).effective, after: effective };
}

/** Whether a pending change of another selector can affect the checks of the selector. */
export function concernsSelector(
  { name, before, after }: ReviewedSelector, write: NamedChange<EffectiveSelector>, inventory: Inventory,
): boolean {
  if (write.name === name) return false;
  const stored = inventory.of(SELECTORS).get(write.name) ?? null;
  return isRelated(before, write.value) || isRelated(before, stored)
    || isRelated(after, write.value) || isRelated(after, stored);
}

function isRelated(one: EffectiveSelector | null, other: EffectiveSelector | null): boolean {
  return one !== null && other !== null && (differInSession(one, other) || canOverlap(one, other));
}

/** Whether the selectors have the same role, but different session settings (IRS-40). */
function differInSession(one: EffectiveSelector, other: EffectiveSelector): boolean {
  return one.roleARN === other.roleARN && differingExtras(one.extras, other.extras).length > 0;
}
