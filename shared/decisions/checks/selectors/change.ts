import type { DecisionSettings } from "../../context.ts";
import { Inventory } from "../../inventory/inventory.ts";
import type { JsonObject } from "../../kubernetes/json.ts";
import type { Names } from "../../resolution/change-set.ts";
import { decodeSelector } from "../../selectors/decode.ts";
import type { EffectiveSelector } from "../../selectors/effective.ts";
import { readSelectorSpec, type SelectorSpec } from "../../selectors/iamroleselector.ts";
import { type CheckContext, type CheckInput, operationOf } from "../change.ts";
import { SelectorEffects } from "./effects.ts";

/** A step of an IAMRoleSelector, from the stored one to the new one. */
export interface SelectorChange extends CheckContext {
  /** The selector as it is to be; at DELETE as it was. */
  readonly object: JsonObject;
  readonly spec: SelectorSpec;
  /** What was stored before, null at CREATE. */
  readonly old: SelectorSpec | null;
  /** The same two as they take part, null where there is none or it takes no part. */
  readonly before: EffectiveSelector | null;
  readonly after: EffectiveSelector | null;
  /** What the step does to the resources there are. */
  readonly effects: SelectorEffects;
  /** Selectors that are on their way out, which count as gone already. */
  readonly pendingDeletions: Names;
}

const NOBODY: Names = new Set();

export function selectorChange(input: CheckInput, settings: DecisionSettings, inventory: Inventory): SelectorChange {
  const { object, old, origin, requester, pendingDeletions = NOBODY } = input;
  const operation = operationOf(input);
  const context = { origin, runtime: settings.runtime };
  const decoded = decodeSelector(object, context).effective;
  const deleting = operation === "DELETE";
  const stored = deleting ? object : old;
  const before = stored === null ? null : deleting ? decoded : decodeSelector(stored, context).effective;
  const after = deleting ? null : decoded;
  const spec = readSelectorSpec(object);
  return {
    operation, settings, inventory, origin, requester, object,
    spec, before, after,
    old: stored === null ? null : readSelectorSpec(stored),
    pendingDeletions,
    effects: new SelectorEffects({ inventory, settings, step: { name: spec.name, before, after, pendingDeletions } }),
  };
}
