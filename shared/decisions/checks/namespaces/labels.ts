import { compareText } from "../../kubernetes/text.ts";
import {
  accountMoveOf, accountOfResource, recreationHint, type Transition, transitionsOfNamespace,
} from "../../resolution/change-set.ts";
import { controllerAccountOf } from "../../resolution/resolve.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../check.ts";
import { AffectedResources, type Effect } from "../message-lists.ts";
import { useEverywhereFix, useFix, useRule } from "../use-permission.ts";
import type { NamespaceChange } from "./change.ts";

const LABELS = ["metadata", "labels"] as const;

export const NS_01: ScanningCheck<NamespaceChange> = {
  id: "NS-01",
  severity: "deny",
  waivable: true,
  reason: "The labels of a namespace determine which IAMRoleSelectors select its resources. "
    + "After a label change, controllers stop reconciling a resource at the next resync if its new role is in "
    + "another account. If no selector selects the resource, controllers use their own role.",
  fix: "keep the labels that the selectors of these resources match, "
    + "or first change the selectors so that each resource stays in its account",
  example: "metadata: {labels: {env: dev}} # was prod, which an IAMRoleSelector for another account matches",
  requires: ["resources"],
  on: ["UPDATE"],
  ofChange: true,
  *scan({ inventory, name, settings, stored, state }) {
    if (settings.mode === "carm" || stored === null || sameLabels(stored.labels, state.labels)) return [];
    const controllerAccount = controllerAccountOf(settings);
    const affected = new AffectedResources();
    yield* transitionsOfNamespace(inventory, name, state.labels, (transition) => {
      const effect = effectOf(transition, controllerAccount);
      if (effect !== null) affected.add(transition.resource, effect);
      return !affected.isFull;
    });
    return affected.faults(LABELS);
  },
};

function sameLabels(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/**
 * Returns the effect of the new labels on a resource. Returns null if the role stays the same, or if a conflict ends
 * safely.
 */
function effectOf(transition: Transition, controllerAccount: string | null): Effect | null {
  const { after, before } = transition;
  if (before.length === after.length && before.every((selector) => after.includes(selector))) return null;
  if (after.length > 1) return before.length > 1 ? null : conflictEffect(after.map(({ name }) => name));
  return (after.length === 0 ? unselectedEffect : selectedEffect)(transition, controllerAccount);
}

function conflictEffect(names: readonly string[]): Effect {
  const list = names.toSorted(compareText).join(", ");
  return { messageFor: (count) => `the new labels cause a conflict between IAMRoleSelectors (${list}) for ${count}` };
}

function unselectedEffect(transition: Transition, controllerAccount: string | null): Effect {
  const account = accountOfResource(transition, controllerAccount);
  if (account !== null && account === controllerAccount) return ROLE_CHANGE;
  const source = account === null ? "" : ` of account ${account}`;
  return { messageFor: (count) => `the new labels leave ${count}${source} with the controllers' own role` };
}

function selectedEffect(transition: Transition, controllerAccount: string | null): Effect | null {
  const { after, before } = transition;
  const move = accountMoveOf(transition, controllerAccount);
  if (move !== null) {
    return {
      messageFor: (count) => `the new labels move ${count} from account ${move.from} to account ${move.to}`,
      fixFor: (resources) => NS_01.fix + recreationHint(resources),
    };
  }
  // The conflict ends safely: the resource is not pinned, or is already in the account of the remaining selector.
  if (before.length > 1) return null;
  return before[0]?.roleARN === after[0]?.roleARN ? null : ROLE_CHANGE;
}

const ROLE_CHANGE: Effect = { messageFor: (count) => `the new labels change the role of ${count}`, isHarmless: true };

export const NS_02: QuickCheck<NamespaceChange> = {
  id: "NS-02",
  severity: "off",
  waivable: false,
  reason: "Anyone who can label a namespace controls which roles its resources use. "
    + "If this check is on, the requester needs the verb `use` on each selector that newly selects the namespace.",
  fix: `create a Role in the namespace, or a ClusterRole, with the rule ${useRule("NAME")}, `
    + "and a RoleBinding in the namespace that grants it to the requester. For a new namespace, create a ClusterRole "
    + "and a ClusterRoleBinding",
  example: "kubectl label namespace sandbox env=prod "
    + "# by a user without the verb use on the IAMRoleSelector that matches env: prod",
  requires: ["access reviews"],
  ofChange: true,
  *find(change): Iterable<Fault> {
    for (const selector of change.settings.mode === "carm" ? [] : newSelectors(change)) {
      const answer = change.access?.get(selector) ?? "unknown";
      if (answer === "denied") {
        const message = `the requester may not use IAMRoleSelector ${selector}, which newly selects the namespace`;
        // A new namespace contains no Role.
        const fix = change.stored === null ? useEverywhereFix(selector) : useFix(selector, change.name);
        yield { path: LABELS, message, fix };
      }
      if (answer === "unknown") {
        const selecting = `IAMRoleSelector ${selector}, which newly selects the namespace`;
        const message = `the webhook could not verify that the requester may use ${selecting}`;
        yield { path: LABELS, message, fix: "retry in a moment; the webhook log shows why the access review failed" };
      }
    }
  },
};

/** Returns the names of the IAMRoleSelectors that select the namespace only after the change, sorted. */
export function newSelectors(
  { inventory, name, stored, state }: Pick<NamespaceChange, "inventory" | "name" | "stored" | "state">,
): readonly string[] {
  const before = new Set(stored === null ? [] : inventory.selectors.inNamespace(name, stored.labels));
  const added = inventory.selectors.inNamespace(name, state.labels).filter((selector) => !before.has(selector));
  return added.map((selector) => selector.name).toSorted(compareText);
}
