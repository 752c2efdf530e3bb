import { USE_SELECTOR_ANNOTATION } from "../../annotation-keys.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { quote } from "../../kubernetes/text.ts";
import { selectsNamespace } from "../../selectors/effective.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { ACK_36, ignoredChoiceFaults } from "../resources/choice.ts";
import { CHOICE_PATH } from "../role-cause.ts";
import type { NamespaceChange } from "./change.ts";

/** ACK-36 for the annotation of a namespace. */
export const ACK_36_OF_NAMESPACES: QuickCheck<NamespaceChange> = {
  ...ACK_36,
  find: ({ state, settings }) => ignoredChoiceFaults(state, settings),
};

export const NS_16: QuickCheck<NamespaceChange> = {
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
