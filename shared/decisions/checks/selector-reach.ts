import { namespaceNameFaults } from "../kubernetes-names.ts";
import { quote } from "../quote.ts";
import { type RoleSelector, selectsNamespace } from "../role-selector.ts";
import { namespacesOf, transitionsOfSelector } from "../transition.ts";
import type { Inventory } from "../inventory.ts";
import type { Check, Fault, Found, SelectorChange } from "./check.ts";

export const IRS_10: Check<SelectorChange> = {
  id: "IRS-10",
  severity: "warn",
  waivable: false,
  reason: "A misspelt namespace selects nothing, and resources of the one that was meant fall to the controllers' own account.",
  fix: "correct the name, or create the namespace",
  example: "spec: {namespaceSelector: {names: [team-that-is-not-there]}}",
  needs: ["namespaces"],
  *find({ written, inventory }): Iterable<Fault> {
    for (const [i, name] of (written.namespaceSelector?.names ?? []).entries()) {
      if (inventory.hasNamespace(name) || namespaceNameFaults(name).length > 0) continue;
      yield { path: ["spec", "namespaceSelector", "names", i], message: `there is no namespace ${quote(name)}` };
    }
  },
};

export const IRS_22: Check<SelectorChange> = {
  id: "IRS-22",
  severity: "warn",
  waivable: false,
  reason: "A selector that selects nothing is often misspelt, and what it was meant for falls to the controllers' own account.",
  fix: "compare its names and labels with kubectl get namespaces --show-labels; nothing is wrong if they come later",
  example: "spec: {namespaceSelector: {labelSelector: {matchLabels: {team: nobody}}}}",
  needs: ["namespaces"],
  *find({ inventory, after }): Found {
    if (after === null) return;
    for (const selected of reach(inventory, after)) {
      if (selected) return;
      yield null;
    }
    yield { path: ["spec"], message: "the selector selects no namespace and no resource that there is" };
  },
};

/** After so many namespaces a scan may be put off: about a millisecond's work. */
const NAMESPACES_BETWEEN_PAUSES = 1000;

/** True once a namespace or a resource is selected; false where the search may be put off. */
function* reach(inventory: Inventory, selector: RoleSelector): Iterable<boolean> {
  let looked = 0;
  for (const name of namespacesOf(inventory, selector) ?? inventory.namespaceNames) {
    if (++looked % NAMESPACES_BETWEEN_PAUSES === 0) yield false;
    if (inventory.hasNamespace(name) && selectsNamespace(selector, name, inventory.namespaceLabels(name))) yield true;
  }
  for (const transition of transitionsOfSelector(inventory, { name: selector.name, before: null, after: selector })) yield transition !== null;
}
