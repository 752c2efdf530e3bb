import type { DecisionSettings } from "../../context.ts";
import { Inventory } from "../../inventory/inventory.ts";
import type { JsonObject } from "../../kubernetes/json.ts";
import type { Names } from "../../resolution/change-set.ts";
import { decodeSelector } from "../../selectors/decode.ts";
import type { RoleSelector } from "../../selectors/effective.ts";
import { readSelector, type WrittenSelector } from "../../selectors/iamroleselector.ts";
import { type CheckContext, type JudgeInput, operationOf } from "../change.ts";
import { SelectorEffects } from "./effects.ts";

/** A step of an IAMRoleSelector, from the stored one to the new one. */
export interface SelectorChange extends CheckContext {
  /** The selector as it is to be; at DELETE as it was. */
  readonly object: JsonObject;
  readonly written: WrittenSelector;
  /** What was stored before, null at CREATE. */
  readonly old: WrittenSelector | null;
  /** The same two as they take part, null where there is none or it takes no part. */
  readonly before: RoleSelector | null;
  readonly after: RoleSelector | null;
  /** What the step does to the resources there are. */
  readonly effects: SelectorEffects;
  /** Selectors that are on their way out, which count as gone already. */
  readonly leaving: Names;
}

const NOBODY: Names = new Set();

export function selectorChange(input: JudgeInput, settings: DecisionSettings, inventory: Inventory): SelectorChange {
  const { object, old, origin, requester, leaving = NOBODY } = input;
  const operation = operationOf(input);
  const context = { origin, runtime: settings.runtime };
  const decoded = decodeSelector(object, context).selector;
  const deleting = operation === "DELETE";
  const stored = deleting ? object : old;
  const before = stored === null ? null : deleting ? decoded : decodeSelector(stored, context).selector;
  const after = deleting ? null : decoded;
  const written = readSelector(object);
  return {
    operation, settings, inventory, origin, requester, object,
    written, before, after,
    old: stored === null ? null : readSelector(stored),
    leaving,
    effects: new SelectorEffects({ inventory, settings, step: { name: written.name, before, after, leaving } }),
  };
}
