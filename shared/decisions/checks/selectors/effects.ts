import type { DecisionSettings } from "../../context.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import type { Paced } from "../../paced.ts";
import {
  accountBy, accountOf, type SelectorStep, type Transition, transitionsOfSelector,
} from "../../resolution/change-set.ts";
import { DELETION_POLICY_DELETE, deletionPolicyOf } from "../../resolution/deletion-policy.ts";
import { controllerAccountOf } from "../../resolution/resolve.ts";
import type { EffectiveSelector } from "../../selectors/effective.ts";
import { ENOUGH } from "../message-lists.ts";

/** What a step of a selector does to one resource. */
export type Effect =
  /** Another selector selects it too, and this one did not before. */
  | "joins conflict"
  /** The same, where one of the two says that it replaces the other. */
  | "joins replaced"
  /** Another selector selects it too, as before. */
  | "stays in conflict"
  /** No selector selects it any more. */
  | "loses selector"
  /** The same, and the controller's own credentials would be used to delete what another account holds. */
  | "loses account"
  /** It exists in one account and would be managed in another. */
  | "changes account"
  /** It exists, and another role of the same account manages it. */
  | "changes role"
  /** It was in a conflict with this selector, and another is left alone with it. */
  | "leaves conflict";

/** The resources with one effect. */
export interface Hits {
  /** How many, of those that were looked at. */
  readonly found: number;
  /** The first of them, at most `ENOUGH`. */
  readonly first: readonly Transition[];
}

interface MutableHits extends Hits {
  found: number;
  readonly first: Transition[];
}

export interface EffectsInput {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly step: SelectorStep;
}

/**
 * What a step of a selector does to the resources there are. Every check of the step asks this one, so that the resources are
 * looked at once, and no further than the checks want to know.
 */
export class SelectorEffects {
  /** The controllers' own account, or null when not said. */
  readonly controllerAccount: string | null;
  /** How many resources go on with each selector alone that were in conflict before. */
  readonly survivors = new Map<EffectiveSelector, number>();
  /** The other selectors of the conflicts that the selector is in, by name. */
  readonly partners = new Set<string>();
  readonly #input: EffectsInput;
  readonly #hits = new Map<Effect, MutableHits>();
  readonly #scan: Paced<boolean>;

  constructor(input: EffectsInput) {
    this.#input = input;
    this.controllerAccount = controllerAccountOf(input.settings);
    // In mode carm no selector selects anything.
    const step = input.settings.mode === "carm" ? { ...input.step, before: null, after: null } : input.step;
    this.#scan = transitionsOfSelector(input.inventory, step, (transition) => {
      this.#add(transition);
      return true;
    });
  }

  /** The resources with the effect; once `limit` of them are found it looks no further. */
  *of(effect: Effect, limit = ENOUGH): Paced<Hits> {
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
    for (const effect of this.#effectsOf(transition)) {
      const hits = this.#hitsOf(effect);
      if (++hits.found <= ENOUGH) hits.first.push(transition);
    }
  }

  *#effectsOf(transition: Transition): Iterable<Effect> {
    const { name } = this.#input.step;
    const { before, after } = transition;
    const [was, is] = [selectorIn(before, name), selectorIn(after, name)];
    if (is !== null && after.length > 1) yield this.#conflict(after, is, was);
    if (after.length === 0) yield* this.#losses(transition);
    const [only, another] = after;
    if (only === undefined || another !== undefined) return;
    // What was never made in AWS is nowhere yet, and goes where it is put.
    if (transition.resource.created) yield* this.#moves(transition, only);
    if (was !== null && is === null) yield this.#survives(only);
  }

  #conflict(selecting: readonly EffectiveSelector[], selector: EffectiveSelector, was: EffectiveSelector | null): Effect {
    const others = selecting.filter((one) => one !== selector);
    for (const other of others) this.partners.add(other.name);
    if (was !== null) return "stays in conflict";
    return others.every((other) => isReplacing(selector, other)) ? "joins replaced" : "joins conflict";
  }

  *#losses(transition: Transition): Iterable<Effect> {
    yield "loses selector";
    const { resource } = transition;
    const account = accountOf(transition);
    const isThere = resource.created || resource.status.ownerAccountID !== null;
    const isAtRisk = resource.deleting || (isThere && deletionPolicyOf(this.#input.inventory, resource) === DELETION_POLICY_DELETE);
    if (isAtRisk && account !== this.controllerAccount) yield "loses account";
  }

  /** What happens to a resource that exists, now that `only` is left to select it. */
  *#moves(transition: Transition, only: EffectiveSelector): Iterable<Effect> {
    const { before } = transition;
    const [now, then] = [accountOf(transition, this.controllerAccount), accountBy([only])];
    if (now === then) {
      if (before.length < 2 && this.#roleBy(before) !== only.roleARN) yield "changes role";
    } else if (now !== null && then !== accountBy(before, this.controllerAccount)) yield "changes account";
  }

  #survives(selector: EffectiveSelector): Effect {
    this.survivors.set(selector, (this.survivors.get(selector) ?? 0) + 1);
    return "leaves conflict";
  }

  #roleBy([first]: readonly EffectiveSelector[]): string | null {
    return first === undefined ? this.#input.settings.controllerRole : first.roleARN;
  }
}

function selectorIn(selecting: readonly EffectiveSelector[], name: string): EffectiveSelector | null {
  return selecting.find((selector) => selector.name === name) ?? null;
}

/** Whether one of the two says that it replaces the other. */
export function isReplacing(a: EffectiveSelector, b: EffectiveSelector): boolean {
  return a.replaces.has(b.name) || b.replaces.has(a.name);
}
