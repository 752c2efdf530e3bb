import type { JsonObject } from "../formats/json.ts";
import { NO_CHANGES, type PendingChanges } from "../resolution/change-set.ts";
import type { DecodedSelector } from "../model/selector.ts";
import type { EffectiveSelector } from "../model/effective-selector.ts";
import type { SelectorSpec } from "../model/iamroleselector.ts";
import type { CheckContext, CheckInput } from "./change.ts";
import { SelectorEffects } from "./selector-effects.ts";

/** A change of an IAMRoleSelector, which the selector change checks examine. */
export interface SelectorChange extends CheckContext {
  /** The selector after the change; at DELETE the deleted selector. */
  readonly object: JsonObject;
  readonly spec: SelectorSpec;
  /** The spec of the stored selector; null at CREATE. */
  readonly old: SelectorSpec | null;
  /** The effective selector before the change; null if the selector did not exist or was malformed. */
  readonly before: EffectiveSelector | null;
  /** The effective selector after the change; null at DELETE or if the selector is malformed. */
  readonly after: EffectiveSelector | null;
  /** The effects of the change on the resources in the inventory. */
  readonly effects: SelectorEffects;
  /** Admitted changes of other selectors. The checks treat these changes as applied. */
  readonly pending: PendingChanges;
}

interface DecodedChange {
  readonly decoded: DecodedSelector;
  /** The stored selector; null at CREATE and DELETE. */
  readonly stored: DecodedSelector | null;
}

/** Returns the change that the selector change checks examine. */
export function selectorChange(
  context: CheckContext, { pending = NO_CHANGES }: CheckInput, { decoded, stored }: DecodedChange,
): SelectorChange {
  const isDeleted = context.operation === "DELETE";
  const old = isDeleted ? decoded : stored;
  const [before, after] = [old?.effective ?? null, isDeleted ? null : decoded.effective];
  const step = { name: decoded.name, before, after, pending };
  return {
    ...context,
    object: decoded.object,
    spec: decoded.spec, old: old?.spec ?? null, before, after, pending,
    effects: new SelectorEffects({ inventory: context.inventory, settings: context.settings, step }),
  };
}
