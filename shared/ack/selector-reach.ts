import { UNKNOWN_NAMESPACE } from "../core/unknown-namespace.ts";
import type { Inventory } from "../core/inventory.ts";
import type { FieldPath } from "../formats/json.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import { printable, quote } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { candidateNamespaces, transitionsOfSelector } from "./change-set.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import { type EffectiveSelector, selectsNamespace } from "../core/effective-selector.ts";
import { type Fault, isComplete, type QuickCheck, type ScanningCheck } from "../core/check.ts";
import { misspelledNamespace } from "../core/fault-texts.ts";
import { meant, rename, type Repair, safely } from "../core/repair.ts";
import type { SelectorChange } from "./selector-change.ts";
import { NEEDS } from "../core/requirements.ts";
import { ACK_NEEDS } from "./requirements.ts";

export const IRS_10: QuickCheck<SelectorChange> = {
  ...UNKNOWN_NAMESPACE,
  requires: [NEEDS.namespaces, NEEDS.complete],
  when: ({ spec }) => (spec.namespaceSelector?.names ?? NONE).length > 0,
  *find({ spec, inventory }): Iterable<Fault> {
    for (const [path, name] of unknownNamespaces(spec, inventory)) {
      yield { path, message: `namespace ${quote(name)} does not exist`, repairs: nameRepairs(path, name, inventory) };
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
    for (const [path, name] of unknownNamespaces(spec, inventory)) {
      const message = misspelledNamespace(inventory, name);
      if (message !== null) yield { path, message, repairs: unsure(nameRepairs(path, name, inventory)) };
    }
    for (const [key, value] of spec.namespaceSelector?.labelSelector?.matchLabels ?? []) {
      const [first] = inventory.namespaces.misspelledLabel(key, value).nearest;
      if (first === undefined) continue;
      const message = `no namespace of the input has the label ${printable(key)}: ${quote(value)}; perhaps `
        + `${printable(first)} was meant`;
      const repairs = unsure(labelRepairs(key, value, inventory));
      yield { path: [...LABELS, { key }], message, repairs };
    }
  },
};

/** Returns the repairs, none of which is safe: the cluster can have namespaces that the input lacks. */
function unsure(repairs: readonly Repair[]): readonly Repair[] {
  return repairs.map(({ when, edits }) => ({ ...(when !== undefined && { when }), edits }));
}

const LABELS = ["spec", "namespaceSelector", "labelSelector", "matchLabels"] as const;

/** Returns the repairs that write a label of a namespace that the label misspells. */
function labelRepairs(key: string, value: string, { namespaces }: Inventory): readonly Repair[] {
  const { part, nearest } = namespaces.misspelledLabel(key, value);
  const path = [...LABELS, { key }];
  if (part === "value") return meant(path, nearest);
  const having = nearest.filter((name) => namespaces.countWithLabel(name, value) > 0);
  const [name, ...others] = having;
  return name === undefined || others.length > 0 ? NONE : safely(...rename(path, { key: name }, value));
}

function* unknownNamespaces(spec: SelectorSpec, { namespaces }: Inventory): Iterable<readonly [FieldPath, string]> {
  for (const [i, name] of (spec.namespaceSelector?.names ?? []).entries()) {
    const isKnown = namespaces.has(name) || namespaceNameFaults(name).length > 0;
    if (!isKnown) yield [["spec", "namespaceSelector", "names", i], name];
  }
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
  *scan({ inventory, after, operation, settings, spec }) {
    // In mode carm, selectors have no effect. IRS-26 reports this.
    if (after === null || settings.mode !== "selectors") return [];
    // A new selector is often written before the resources, but a stored one has its resources.
    const isStored = operation === "AUDIT";
    if (!isStored && (yield* selectsNamespaces(inventory, after))) return [];
    const step = { name: after.name, before: null, after };
    if (!(yield* transitionsOfSelector(inventory, step, () => false))) return [];
    const what = isStored ? "resource" : "namespace and no existing resource";
    const repairs = isStored ? NONE : reachingRepairs(inventory, spec);
    return [{ path: ["spec"], message: `the selector selects no existing ${what}`, repairs, fix: IRS_22.fix }];
  },
};

/** Returns the repairs of the only condition on namespaces, after which the selector selects one that exists. */
function reachingRepairs(inventory: Inventory, { namespaceSelector }: SelectorSpec): readonly Repair[] {
  const { names, labelSelector } = namespaceSelector ?? { names: NONE, labelSelector: null };
  const [[label, ...labels], [name, ...others]] = [[...labelSelector?.matchLabels ?? NONE], names];
  if (label !== undefined && labels.length === 0 && names.length === 0) return labelRepairs(...label, inventory);
  if (name === undefined || others.length > 0 || label !== undefined) return NONE;
  return nameRepairs(["spec", "namespaceSelector", "names", 0], name, inventory);
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
