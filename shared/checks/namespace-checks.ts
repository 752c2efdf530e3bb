import { USE_SELECTOR_ANNOTATION } from "../contract/annotation-keys.ts";
import { CM_09_OF_NAMESPACES, NS_03, NS_03_SYNTAX, NS_05, NS_10 } from "./namespace-carm.ts";
import type { NamespaceChange } from "./namespace-change.ts";
import { NS_09, NS_12, NS_13, NS_13_OF_CLUSTERS } from "./namespace-deletion.ts";
import { NS_08, NS_08B } from "./namespace-endpoint.ts";
import { NS_01, NS_02 } from "./namespace-labels.ts";
import { NS_04, NS_17 } from "./namespace-owner.ts";
import { NS_07, NS_07B } from "./namespace-region.ts";
import { ACK_36, ignoredChoiceFaults } from "./resource-change.ts";
import { quote } from "../formats/text.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { selectsNamespace } from "../model/effective-selector.ts";
import type { Check, Fault, QuickCheck } from "./check.ts";
import { CHOICE_PATH } from "./role-cause.ts";

/** ACK-36 for the annotation of a namespace. */
const ACK_36_OF_NAMESPACES: QuickCheck<NamespaceChange> = {
  ...ACK_36,
  find: ({ state, settings }) => ignoredChoiceFaults(state, settings),
};

const NS_16: QuickCheck<NamespaceChange> = {
  id: "NS-16",
  severity: "warn",
  waivable: false,
  reason: `The annotation \`${USE_SELECTOR_ANNOTATION}\` of a namespace applies to each resource of the namespace that `
    + "does not have the annotation itself. A resource that the named selector does not select has no role.",
  fix: "name a selector that selects the resources of the namespace, or annotate single resources instead",
  example: `metadata: {name: team-a, annotations: {${USE_SELECTOR_ANNOTATION}: no-such-selector}} `
    + "# with --runtime extended",
  *find({ inventory, name, origin, settings, state }): Iterable<Fault> {
    const chosen = state.annotations.get(USE_SELECTOR_ANNOTATION);
    if (chosen === undefined || settings.runtime === "ack" || settings.mode === "carm") return;
    // If the manifests contain no selectors, the named selector may still exist in the cluster.
    const { selectors } = inventory;
    if (origin === "file" && selectors.size + selectors.malformed.size === 0) return;
    const fault = faultOf(inventory, chosen, { name, labels: state.labels });
    if (fault !== null) yield { path: CHOICE_PATH, message: `IAMRoleSelector ${quote(chosen)} ${fault}` };
  },
};

function faultOf(
  { selectors }: Inventory,
  chosen: string,
  { name, labels }: { readonly name: string; readonly labels: ReadonlyMap<string, string> },
): string | null {
  const selector = selectors.get(chosen);
  if (selector === undefined) return selectors.malformed.has(chosen) ? "is malformed" : "does not exist";
  return selectsNamespace(selector, name, labels) ? null : `selects no resource in namespace ${name}`;
}

/** The checks that run when a Namespace changes. */
export const NAMESPACE_CHECKS: readonly Check<NamespaceChange>[] = [
  NS_01, NS_02, NS_03, NS_03_SYNTAX, NS_04, NS_05, NS_07, NS_07B, NS_08, NS_08B, NS_09, NS_10, NS_12, NS_13,
  NS_13_OF_CLUSTERS, NS_16, NS_17, CM_09_OF_NAMESPACES, ACK_36_OF_NAMESPACES,
];
