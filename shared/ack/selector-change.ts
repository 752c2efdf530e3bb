import type { Hits } from "./hits.ts";
import { NO_CHANGES, type PendingChanges } from "../core/pending-changes.ts";
import { controllerAccountOf } from "../core/resolution.ts";
import type { JsonObject } from "../formats/json.ts";
import {
  accountMoveOf, accountOfResource, type SelectorTransition, type Transition, transitionsOfSelector,
} from "./change-set.ts";
import type { JudgedSelector } from "./selector.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import type { CheckContext, CheckInput } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { isPinned } from "../core/ack-resource.ts";
import type { Paced } from "../formats/paced.ts";
import { type Selection, selectionOf } from "./selection.ts";
import { SCAN_LIMIT } from "../core/fault-texts.ts";
import { deletionPolicyOf } from "./resource-drift.ts";
import { DELETION_POLICY_DELETE } from "../core/value-types.ts";

/** A change of an IAMRoleSelector, which the selector change checks examine. */
export interface SelectorChange extends CheckContext {
  /** The selector after the change; at DELETE the deleted selector. */
  readonly object: JsonObject;
  /** The stored selector; null at CREATE and DELETE. */
  readonly storedObject: JsonObject | null;
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
  readonly decoded: JudgedSelector;
  /** The stored selector; null at CREATE and DELETE. */
  readonly stored: JudgedSelector | null;
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
    object: decoded.object, storedObject: stored?.object ?? null,
    spec: decoded.spec, old: old?.spec ?? null, before, after, pending,
    effects: new SelectorEffects({ inventory: context.inventory, settings: context.settings, step }),
  };
}

/** An effect of a selector change on one resource. */
type Effect =
  /** The selector did not select the resource before, and now selects it together with another selector. */
  | "joins conflict"
  /** Like `joins conflict`, but the annotation `replaces` announces the overlap with each other selector. */
  | "joins replaced"
  /** The selector and another selector select the resource, as before. */
  | "stays in conflict"
  /** No selector selects the resource after the change. */
  | "loses selector"
  /**
   * The annotation `use-selector` names this selector, which no longer selects the resource. The resource then has no
   * role.
   */
  | "loses choice"
  /**
   * Like `loses selector`, but the controller could delete or orphan the AWS resource, because the controller's own
   * account is different.
   */
  | "loses account"
  /**
   * The resource is pinned to an account, but the change gives it a role in another account. With the annotation
   * `replaces`, the resource may get this role only after the replaced selectors are deleted.
   */
  | "changes account";

interface MutableHits extends Hits {
  found: number;
  readonly first: Transition[];
}

interface EffectsInput {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly step: SelectorTransition;
}

/**
 * The effects of a change of a selector on the resources in the inventory. All checks of the change share one scan,
 * which stops when the checks have enough results.
 */
export class SelectorEffects {
  /** The controller's own account; null if the settings do not name this account. */
  readonly controllerAccount: string | null;
  /**
   * The names of the selectors that conflict with the changed selector. Covers only the resources that have been
   * scanned so far.
   */
  readonly conflictingSelectors = new Set<string>();
  readonly #input: EffectsInput;
  readonly #hits = new Map<Effect, MutableHits>();
  readonly #scan: Paced<boolean>;

  constructor(input: EffectsInput) {
    this.#input = input;
    this.controllerAccount = controllerAccountOf(input.settings);
    // In mode carm, selectors have no effect.
    const step = input.settings.mode !== "selectors" ? { ...input.step, before: null, after: null } : input.step;
    this.#scan = transitionsOfSelector(input.inventory, step, (transition) => {
      this.#add(transition);
      return true;
    });
  }

  /**
   * Returns the resources on which the change has the effect. Stops the scan once it has found `limit` such resources.
   */
  *of(effect: Effect, limit = SCAN_LIMIT): Paced<Hits> {
    const hits = this.#hitsOf(effect);
    while (hits.found < limit) {
      const step = this.#scan.next();
      if (step.done === true) break;
      yield step.value;
    }
    return hits;
  }

  #hitsOf(effect: Effect): MutableHits {
    const hits = this.#hits.get(effect) ?? { found: 0, first: [] };
    this.#hits.set(effect, hits);
    return hits;
  }

  #add(transition: Transition): void {
    for (const effect of this.#effectsOf(transition)) this.#count(effect, transition);
  }

  #count(effect: Effect, transition: Transition): void {
    const hits = this.#hitsOf(effect);
    if (++hits.found <= SCAN_LIMIT) hits.first.push(transition);
  }

  *#effectsOf(transition: Transition): Iterable<Effect> {
    const { name } = this.#input.step;
    const { before, after } = transition;
    const [was, is] = [selectorIn(before, name), selectorIn(after, name)];
    if (after.outcome === "conflict" && is !== null) yield this.#conflict(transition, is, was);
    if (after.outcome === "default") yield* this.#losses(transition);
    if (after.outcome === "refused" && before.outcome === "selected") yield "loses choice";
    if (after.outcome === "selected" && accountMoveOf(transition, this.controllerAccount) !== null) {
      yield "changes account";
    }
  }

  #conflict(transition: Transition, selector: EffectiveSelector, was: EffectiveSelector | null): Effect {
    const others = transition.after.selectors.filter((one) => one !== selector);
    for (const other of others) this.conflictingSelectors.add(other.name);
    if (was !== null) return "stays in conflict";
    if (!others.every((other) => isReplacing(selector, other))) return "joins conflict";
    // Treats the change and the later deletion of the replaced selectors as one move.
    const after = selectionOf(remainingAfterReplacement(selector, others), null);
    const replacement = { ...transition, after };
    if (accountMoveOf(replacement, this.controllerAccount) !== null) this.#count("changes account", replacement);
    return "joins replaced";
  }

  *#losses(transition: Transition): Iterable<Effect> {
    yield "loses selector";
    const { resource } = transition;
    if (accountOfResource(transition) === this.controllerAccount) return;
    const isDeletable = isPinned(resource)
      && deletionPolicyOf(this.#input.inventory, resource) === DELETION_POLICY_DELETE;
    if (resource.deleting || isDeletable) yield "loses account";
  }

}

/** Returns the selectors that remain when every replaced selector is deleted. */
function remainingAfterReplacement(
  selector: EffectiveSelector, others: readonly EffectiveSelector[],
): readonly EffectiveSelector[] {
  const remaining = others.filter(({ name }) => !selector.replaces.has(name));
  return others.some(({ replaces }) => replaces.has(selector.name)) ? remaining : [...remaining, selector];
}

function selectorIn({ selectors }: Selection, name: string): EffectiveSelector | null {
  return selectors.find((selector) => selector.name === name) ?? null;
}

/** Whether one of the selectors names the other in its annotation `replaces`. */
export function isReplacing(a: EffectiveSelector, b: EffectiveSelector): boolean {
  return a.replaces.has(b.name) || b.replaces.has(a.name);
}
