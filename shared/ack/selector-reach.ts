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
import type { SelectorChange } from "./selector-change.ts";
import { NEEDS } from "../core/requirements.ts";
import { ACK_NEEDS } from "./requirements.ts";

export const IRS_10: QuickCheck<SelectorChange> = {
  ...UNKNOWN_NAMESPACE,
  requires: [NEEDS.namespaces, NEEDS.complete],
  when: ({ spec }) => (spec.namespaceSelector?.names ?? NONE).length > 0,
  *find({ spec, inventory }): Iterable<Fault> {
    for (const [path, name] of unknownNamespaces(spec, inventory)) {
      yield { path, message: `namespace ${quote(name)} does not exist` };
    }
  },
};

const NONE: readonly never[] = [];

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
      if (message !== null) yield { path, message };
    }
    for (const [key, value] of spec.namespaceSelector?.labelSelector?.matchLabels ?? []) {
      const [meant] = inventory.namespaces.misspelledLabel(key, value);
      if (meant === undefined) continue;
      const message = `no namespace of the input has the label ${printable(key)}: ${quote(value)}; perhaps `
        + `${printable(meant)} was meant`;
      yield { path: [...LABELS, { key }], message, fix: "correct the label, or label the namespace" };
    }
  },
};

const LABELS = ["spec", "namespaceSelector", "labelSelector", "matchLabels"] as const;

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
  *scan({ inventory, after, operation, settings }) {
    // In mode carm, selectors have no effect. IRS-26 reports this.
    if (after === null || settings.mode !== "selectors") return [];
    // A new selector is often written before the resources, but a stored one has its resources.
    const isStored = operation === "AUDIT";
    if (!isStored && (yield* selectsNamespaces(inventory, after))) return [];
    const step = { name: after.name, before: null, after };
    if (!(yield* transitionsOfSelector(inventory, step, () => false))) return [];
    const what = isStored ? "resource" : "namespace and no existing resource";
    return [{ path: ["spec"], message: `the selector selects no existing ${what}` }];
  },
};

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
