import { REPLACES_ANNOTATION } from "../../annotation-keys.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { accountOfARN } from "../../kubernetes/arn.ts";
import { compareText, listOf } from "../../kubernetes/text.ts";
import { type Paced, paced } from "../../paced.ts";
import { accountOf, type Transition } from "../../resolution/change-set.ts";
import { type EffectiveSelector, selectsNamespace } from "../../selectors/effective.ts";
import { canOverlap } from "../../selectors/overlap.ts";
import type { Fault, ScanningCheck } from "../check.ts";
import { describe, ENOUGH, placeOf } from "../message-lists.ts";
import type { SelectorChange } from "./change.ts";
import { type Hits, isReplacing } from "./effects.ts";

export const IRS_17: ScanningCheck<SelectorChange> = {
  id: "IRS-17",
  severity: "deny",
  waivable: true,
  reason: "Controllers stop at a resource that two selectors select, even for one role, with an error in their log and no condition on the resource.",
  fix: "restrict one of the selectors so that each resource is selected by one alone. To rename a selector or to rotate its role, "
    + `create the new one with the annotation ${REPLACES_ANNOTATION}: OLD-NAME, which makes this overlap a warning, then delete the old one`,
  example: "metadata: {name: another}\nspec: {arn: 'arn:aws:iam::111122223333:role/b', namespaceSelector: {names: [team-a]}} # as team-a, and team-a/b1 is there",
  requires: ["resources"],
  ofChange: true,
  *scan({ after, effects }) {
    if (after === null) return [];
    const faults: Fault[] = [];
    const joins = yield* effects.of("joins conflict");
    if (joins.found > 0) faults.push(conflict(joins, after));
    const replaced = yield* effects.of("joins replaced");
    if (replaced.found > 0) faults.push(replacement(replaced, after));
    const stays = yield* effects.of("stays in conflict");
    if (stays.found > 0) faults.push({ path: ["spec"], message: tell(stays, "would stay in conflict", after), severity: "warn" });
    return faults;
  },
};

function conflict(hits: Hits, selector: EffectiveSelector): Fault {
  const names = othersOf(hits, selector).map(({ name }) => name);
  const list = names.join(",");
  return {
    path: ["spec"],
    message: tell(hits, "would be selected by another IAMRoleSelector too, and controllers stop at such a conflict without a condition", selector),
    fix: `restrict ${selector.name} or ${listOf(names)} so that each resource is selected by one alone. To replace ${listOf(names)} (a new name, another role), `
      + `put the annotation ${REPLACES_ANNOTATION}: ${list} on ${selector.name}, apply it, then delete ${listOf(names)}`,
  };
}

/** The overlap is meant: it stops the resources for as long as it lasts, and nothing goes wrong in AWS meanwhile. */
function replacement(hits: Hits, selector: EffectiveSelector): Fault {
  const others = othersOf(hits, selector);
  const account = String(accountOfARN(selector.roleARN));
  const elsewhere = others.filter(({ roleARN }) => accountOfARN(roleARN) !== account).map(({ name }) => name);
  const named = others.map(({ name }) => name).filter((name) => selector.replaces.has(name));
  const replaced = named.length === 0 ? selector.name : listOf(named);
  return {
    path: ["metadata", "annotations", { key: REPLACES_ANNOTATION }],
    message: tell(hits, `would be in conflict, and wait, until ${replaced} is deleted`, selector),
    fix: elsewhere.length === 0
      ? `delete ${replaced} then: it is let go once all that it selects resolves to the other in the same account`
      : `give ${selector.name} a role of the same account as ${listOf(elsewhere)}: what exists cannot follow into account ${account}`,
    severity: "warn",
  };
}

function othersOf({ first }: Hits, { name }: EffectiveSelector): EffectiveSelector[] {
  const others = new Map(first.flatMap(({ after }) => after).filter((one) => one.name !== name).map((one) => [one.name, one]));
  return [...others.values()].toSorted((a, b) => compareText(a.name, b.name));
}

/** `2 resources WHAT: Bucket team-a/b1 in account 111122223333 (also by gold), ...`. */
function tell({ found, first }: Hits, what: string, { name }: EffectiveSelector): string {
  const place = (transition: Transition): string => {
    const others = transition.after.map((one) => one.name).filter((one) => one !== name).toSorted();
    return `${placeOf(transition.resource, accountOf(transition))} (also by ${listOf(others)})`;
  };
  return describe({ found, first }, { noun: "resource", what, place });
}

/** A pair is told in well under 10 us where their entries are few. */
const PAIRS_BETWEEN_PAUSES = 50;

export const IRS_18: ScanningCheck<SelectorChange> = {
  id: "IRS-18",
  severity: "warn",
  waivable: false,
  reason: "Selectors that can overlap bring the first resource that both select into a conflict, and its author knows of neither.",
  fix: "keep them apart by namespace, type or label",
  example: "spec: {arn: 'arn:aws:iam::111122223333:role/b', resourceLabelSelector: {matchLabels: {tier: gold}}} # and another selector takes every bucket",
  ofChange: true,
  *scan({ after, effects, inventory }) {
    if (after === null) return [];
    // What overlaps today is told by IRS-17, of which every resource is to be known here.
    for (const effect of ["joins conflict", "joins replaced", "stays in conflict"] as const) yield* effects.of(effect, Infinity);
    const names = yield* overlapping(inventory, after, effects.partners);
    if (names.length === 0) return [];
    const which = names.length >= ENOUGH ? `at least ${ENOUGH} other selectors, among them ${listOf(names.slice(0, 3))}` : listOf(names, names.length);
    return [{ path: ["spec"], message: `it could select the same resource as ${which}, though none is there today` }];
  },
};

function* overlapping(
  inventory: Inventory, selector: EffectiveSelector, known: ReadonlySet<string>,
): Paced<string[]> {
  const names: string[] = [];
  yield* paced(Array.from(inventory.selectors.values()), PAIRS_BETWEEN_PAUSES, (other) => {
    if (other.name === selector.name || known.has(other.name) || isReplacing(selector, other)) return true;
    // The namespaces tell most pairs apart at a tenth of the cost.
    if (meetInNamed(inventory, selector, other) && canOverlap(selector, other)) names.push(other.name);
    return names.length < ENOUGH;
  });
  return names.toSorted();
}

/**
 * Where one of the two names its namespaces those alone count, with the labels that they carry now: whoever relabels one is told
 * then what becomes of it (NS-01). One that is not there yet may come with any labels.
 */
function meetInNamed(inventory: Inventory, a: EffectiveSelector, b: EffectiveSelector): boolean {
  const named = a.namespaces ?? b.namespaces;
  if (named === null) return true;
  for (const name of named) {
    if (!inventory.hasNamespace(name) && b.namespaces?.has(name) !== false) return true;
    const labels = inventory.namespaceLabels(name);
    if (selectsNamespace(a, name, labels) && selectsNamespace(b, name, labels)) return true;
  }
  return false;
}
