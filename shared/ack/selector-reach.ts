import { UNKNOWN_NAMESPACE } from "../core/unknown-namespace.ts";
import type { Inventory } from "../core/inventory.ts";
import type { LabelNames } from "../core/label-index.ts";
import type { FieldPath } from "../formats/json.ts";
import type { LabelSelectorSpec } from "../formats/label-selector.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { candidateNamespaces, transitionsOfSelector } from "./change-set.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import { type EffectiveSelector, selectsNamespace } from "../core/effective-selector.ts";
import { type Fault, isComplete, type QuickCheck, type ScanningCheck } from "../core/check.ts";
import { misspelledNamespace } from "../core/fault-texts.ts";
import { applyEdits, meant, type Repair, unsafe } from "../core/repair.ts";
import { judgeSelector } from "./judge-selector.ts";
import { guessRepairs, guessText, type LabelGuess, labelGuesses, MAX_SEARCHED } from "./label-guesses.ts";
import { RESOURCES } from "./resources.ts";
import type { SelectorChange } from "./selector-change.ts";
import { NEEDS } from "../core/requirements.ts";
import { ACK_NEEDS } from "./requirements.ts";

export const IRS_10: QuickCheck<SelectorChange> = {
  ...UNKNOWN_NAMESPACE,
  requires: [NEEDS.namespaces, NEEDS.complete],
  when: ({ spec }) => (spec.namespaceSelector?.names ?? NONE).length > 0,
  *find({ spec, inventory }): Iterable<Fault> {
    for (const [i, [path, name]] of unknownNamespaces(spec, inventory).entries()) {
      const repairs = i < MAX_SEARCHED ? nameRepairs(path, name, inventory) : NONE;
      yield { path, message: `namespace ${quote(name)} does not exist`, repairs };
    }
  },
};

const NONE: readonly never[] = [];

/** Returns the repairs that write a namespace of the input that the name misspells. */
function nameRepairs(path: FieldPath, name: string, { namespaces }: Inventory): readonly Repair[] {
  return meant(path, namespaces.misspelledBy(name));
}

/**
 * IRS-10 for manifests that may lack namespaces: reports only names and labels that are similar to those of a namespace
 * of the input.
 */
export const IRS_10_OF_SOME: QuickCheck<SelectorChange> = {
  ...IRS_10,
  requires: [],
  when: (context) => !isComplete(context),
  *find({ spec, inventory }): Iterable<Fault> {
    for (const [path, name] of unknownNamespaces(spec, inventory).slice(0, MAX_SEARCHED)) {
      const message = misspelledNamespace(inventory, name);
      if (message !== null) yield { path, message, repairs: unsafe(nameRepairs(path, name, inventory)) };
    }
    for (const guess of namespaceGuesses(spec, inventory)) {
      const message = guessText("no namespace of the input has", guess);
      yield { path: guess.path, message, repairs: unsafe(guessRepairs(guess)) };
    }
  },
};

/** IRS-10 for the labels of resources. Reports only those that are similar to a label of a known resource. */
export const IRS_10_OF_RESOURCES: QuickCheck<SelectorChange> = {
  ...IRS_10,
  requires: [],
  // A resource that is not listed yet may have the label.
  when: ({ inventory }) => inventory.includes(RESOURCES) && inventory.unlisted(RESOURCES).size === 0,
  *find(context): Iterable<Fault> {
    const { spec: { resourceLabelSelector }, inventory } = context;
    const isSure = isComplete(context);
    const { labels } = inventory.of(RESOURCES);
    for (const guess of guessesIn(RESOURCE_LABELS, resourceLabelSelector, labels)) {
      const repairs = isSure ? guessRepairs(guess) : unsafe(guessRepairs(guess));
      const message = guessText(isSure ? "no resource has" : "no resource of the input has", guess);
      yield { path: guess.path, message, repairs, ...(repairs.length === 0 && { fix: "correct the label" }) };
    }
  },
};

const NAMESPACE_LABELS = ["spec", "namespaceSelector", "labelSelector"] as const;
const RESOURCE_LABELS = ["spec", "resourceLabelSelector"] as const;

/** Returns the labels in the selector that no namespace has, but a similar one. */
function namespaceGuesses({ namespaceSelector }: SelectorSpec, { namespaces }: Inventory): Iterable<LabelGuess> {
  return guessesIn(NAMESPACE_LABELS, namespaceSelector?.labelSelector ?? null, namespaces.labels);
}

function guessesIn(path: FieldPath, selector: LabelSelectorSpec | null, labels: LabelNames): Iterable<LabelGuess> {
  return selector === null ? NONE : labelGuesses([path, selector], labels);
}

function unknownNamespaces(
  spec: SelectorSpec, { namespaces }: Inventory,
): readonly (readonly [path: FieldPath, name: string])[] {
  return (spec.namespaceSelector?.names ?? NONE)
    .map((name, i) => [["spec", "namespaceSelector", "names", i], name] as const)
    .filter(([, name]) => !namespaces.has(name) && namespaceNameFaults(name).length === 0);
}

export const IRS_22: ScanningCheck<SelectorChange> = {
  id: "IRS-22",
  severity: "warn",
  reason: "A selector that selects nothing often contains a typo. "
    + "The intended resources fall back to the controller's own account.",
  fix: "compare it with kubectl get namespaces --show-labels; ignore the warning if a namespace is created later",
  example: "spec: {namespaceSelector: {labelSelector: {matchLabels: {team: no-such-team}}}}",
  requires: [NEEDS.namespaces, NEEDS.complete],
  section: "selectingNothing",
  inAudit: { requires: [ACK_NEEDS.resources] },
  *scan(change) {
    const { inventory, after, operation, settings, spec } = change;
    // In mode carm, selectors have no effect. IRS-26 reports this.
    if (after === null || settings.mode !== "selectors") return [];
    // A new selector is often written before the resources, but a stored one has its resources.
    const isStored = operation === "AUDIT";
    if (yield* selectsAny(after, change)) return [];
    const what = isStored ? "resource" : "namespace and no existing resource";
    const [guess] = namespaceGuesses(spec, inventory);
    const cause = guess === undefined ? "" : `: ${guessText("no namespace has", guess)}`;
    const repairs = isStored ? NONE : yield* reachingRepairs(change);
    return [{ path: ["spec"], message: `the selector selects no existing ${what}${cause}`, repairs, fix: IRS_22.fix }];
  },
};

/** Whether the selector selects a resource or, unless it is stored, a namespace. */
function* selectsAny(
  after: EffectiveSelector, { inventory, operation }: Pick<SelectorChange, "inventory" | "operation">,
): Paced<boolean> {
  if (operation !== "AUDIT" && (yield* selectsNamespaces(inventory, after))) return true;
  return !(yield* transitionsOfSelector(inventory, { name: after.name, before: null, after }, () => false));
}

/** The number of repairs that are tried, because each one can scan the namespaces. */
const MAX_TRIED = 3;

/** Returns the repairs of one name or label after which the selector selects a namespace or a resource. */
function* reachingRepairs(change: SelectorChange): Paced<readonly Repair[]> {
  const { inventory, spec } = change;
  const named = unknownNamespaces(spec, inventory).slice(0, MAX_SEARCHED)
    .map(([path, name]) => nameRepairs(path, name, inventory));
  const labelled = [...namespaceGuesses(spec, inventory)].map(guessRepairs);
  const tried = [...named, ...labelled].filter((repairs) => repairs.length > 0);
  for (const repairs of tried.slice(0, MAX_TRIED)) {
    const reaching: Repair[] = [];
    for (const repair of repairs) if (yield* reaches(repair, change)) reaching.push(repair);
    if (reaching.length > 0) return reaching;
  }
  return NONE;
}

/** Whether the repaired selector selects something. */
function* reaches({ edits }: Repair, change: SelectorChange): Paced<boolean> {
  const { object, origin, settings: { runtime } } = change;
  const repaired = [applyEdits(object, edits)].filter((one) => one !== null);
  const selectors = repaired.map((one) => judgeSelector(one, { origin, runtime }).effective);
  for (const after of selectors.filter((one) => one !== null)) if (yield* selectsAny(after, change)) return true;
  return false;
}

/**
 * The number of namespaces that a scan visits between two pauses. Visiting this number of namespaces takes about 1 ms.
 */
const NAMESPACES_BETWEEN_PAUSES = 1000;

/** Whether the selector selects any existing namespace. */
function* selectsNamespaces(inventory: Inventory, selector: EffectiveSelector): Paced<boolean> {
  const names = candidateNamespaces(inventory, selector) ?? inventory.namespaces.names;
  return !(yield* paced(names, NAMESPACES_BETWEEN_PAUSES, (name) => (
    !inventory.namespaces.has(name) || !selectsNamespace(selector, name, inventory.namespaces.labelsOf(name))
  )));
}
