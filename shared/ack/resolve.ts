import { isResource, type ResourceQuery } from "../core/ack-resource.ts";
import { USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Inventory, RoleSource } from "../core/inventory.ts";
import { byDefault, type Region, type Resolution } from "../core/resolution.ts";
import { resolveResource } from "../core/resolve.ts";
import { accountOfARN } from "../formats/arn.ts";
import { compareText } from "../formats/text.ts";
import { SELECTOR_GRANTS } from "./grant-by-selector.ts";
import { kindsOfRelabeled } from "./kinds-at-risk.ts";
import { selectorTargets } from "./role-targets.ts";
import {
  type Choice, choiceOf, conflictSentence, refusalMessage, selectingSelectors, selectionOf,
} from "./selection.ts";
import { SELECTORS } from "./selectors.ts";

/** The IAMRoleSelectors, which give ACK resources their roles. */
export const SELECTOR_ROLES: RoleSource<ResourceQuery> = {
  serves: (object, { mode }) => mode === "selectors" && isResource(object),
  resolve: (inventory, query, settings) => resolveResource(inventory, query, settings, (region) => (
    resolveBySelectors(inventory, query, settings, region)
  )),
  knownIn: (inventory) => {
    const { size, malformed, readsNamespaceLabels } = inventory.of(SELECTORS);
    return { hasRoles: size + malformed.size > 0, readsNamespace: readsNamespaceLabels };
  },
  targets: selectorTargets,
  movedBy: kindsOfRelabeled,
  sessionOf({ selectors: [only] }, inventory) {
    const selector = only === undefined ? undefined : inventory.of(SELECTORS).get(only.name);
    return selector === undefined ? null : { settings: selector.extras, defaultName: "default name" };
  },
  granter: SELECTOR_GRANTS,
};

/**
 * Resolves the role by IAMRoleSelectors. Several selectors that select the resource conflict, even if their roles are
 * equal, unless the annotation `use-selector` picks one of them. If no selector selects the resource, the controller
 * uses its own role.
 */
function resolveBySelectors(
  inventory: Inventory, query: ResourceQuery, settings: DecisionSettings, region: Region | null,
): Resolution {
  const selecting = selectingSelectors(inventory, query);
  const choice = choiceOf(inventory, query);
  const { outcome, selectors } = selectionOf(selecting, choice);
  const [only] = selectors;
  if (choice !== null && outcome === "refused") return refused(refusalMessage(inventory, choice, selecting), region);
  if (only === undefined) {
    const message = "No IAMRoleSelector selects the resource, so the controller's own role is used.";
    return byDefault(settings, region, message);
  }
  if (outcome === "conflict") return conflict(selectors, region);
  return selected(only, region, choice === null || selecting.length === 1 ? "" : `, and ${choiceClause(choice)}`);
}

function selected(selector: EffectiveSelector, region: Region | null, choice: string): Resolution {
  const { name, resourceVersion, roleARN } = selector;
  return {
    outcome: "selected",
    via: "selector",
    selectors: [{ name, resourceVersion, roleARN }],
    roleARN,
    accountID: accountOfARN(roleARN),
    region,
    code: null,
    message: `IAMRoleSelector ${name} selects the resource${choice}.`,
  };
}

/** Returns `the annotation ack-role-resolver.io/use-selector of the namespace names it`. */
function choiceClause({ from }: Choice): string {
  return `the annotation ${USE_SELECTOR_ANNOTATION} of the ${from} names it`;
}

/** Returns the resolution of a resource whose annotation names a selector that does not select the resource. */
function refused(message: string, region: Region | null): Resolution {
  return {
    outcome: "refused",
    via: "selector",
    selectors: [],
    roleARN: null,
    accountID: null,
    region,
    code: "ERR_SELECTOR_CHOICE",
    message,
  };
}

function conflict(selecting: readonly EffectiveSelector[], region: Region | null): Resolution {
  const selectors = selecting.map(({ name, resourceVersion, roleARN }) => ({ name, resourceVersion, roleARN }));
  selectors.sort((a, b) => compareText(a.name, b.name));
  return {
    outcome: "conflict",
    via: null,
    selectors,
    roleARN: null,
    accountID: null,
    region,
    code: "ERR_SELECTOR_CONFLICT",
    message: conflictSentence(selectors.map(({ name }) => name)),
  };
}
