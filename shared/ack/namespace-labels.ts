import { isSameLabels } from "../formats/label-selector.ts";
import { controllerAccountOf } from "../core/resolution.ts";
import { SELECTORS } from "./selectors.ts";
import { USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { Inventory } from "../core/inventory.ts";
import type { FieldPath } from "../formats/json.ts";
import { compareText } from "../formats/text.ts";
import {
  accountMoveOf, accountOfResource, recreationHint, type Transition, transitionsOfNamespace,
} from "./change-set.ts";
import { DEFAULT_ROLE, describeRole, isSelectorName, type Selection } from "./selection.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../core/check.ts";
import { AffectedResources, type Effect } from "../core/fault-texts.ts";
import type { NamespaceChange, NamespaceState } from "../core/namespace-change.ts";
import { by, type Repair } from "../core/repair.ts";
import { CHOICE_PATH, restoredRoleInputs, type RoleCause, roleCause } from "./role-inputs.ts";
import {
  type UsedObject, usedSelector, useEverywhereFix, useFix, useRepairs, useRule,
} from "../core/use-rights.ts";
import { NEEDS } from "../core/requirements.ts";
import { ACK_NEEDS } from "./requirements.ts";

const LABELS = ["metadata", "labels"] as const;

export const NS_01: ScanningCheck<NamespaceChange> = {
  id: "NS-01",
  severity: "deny",
  waivable: true,
  reason: "The labels of a namespace determine which IAMRoleSelectors select its resources, "
    + `and its annotation \`${USE_SELECTOR_ANNOTATION}\` picks one of them (\`--runtime extended\`). `
    + "If a change of the labels or of the annotation gives a resource a role in another account, controllers stop "
    + "reconciling the resource at the next resync. If no selector selects the resource, controllers use their own "
    + "role.",
  fix: "keep the labels that the selectors of these resources match, "
    + "or first change the selectors so that each resource stays in its account",
  example: "metadata: {labels: {env: dev}} # was prod, which an IAMRoleSelector for another account matches",
  requires: [ACK_NEEDS.resources],
  on: ["UPDATE"],
  ofChange: true,
  *scan({ inventory, name, settings, stored, state }) {
    if (settings.mode !== "selectors" || stored === null) return [];
    const cause = causeOf(inventory, stored, state);
    if (cause === null) return [];
    const controllerAccount = controllerAccountOf(settings);
    const affected = new AffectedResources();
    yield* transitionsOfNamespace(inventory, name, state, (transition) => {
      const effect = effectOf(transition, { ...cause, controllerAccount });
      if (effect !== null) affected.add(transition.resource, { fixFor: () => fixFor(cause), ...effect });
      return !affected.isFull;
    });
    const repairs = by(...restoredRoleInputs(stored, state));
    return affected.faults(cause.path).map((fault) => ({ ...fault, repairs }));
  },
};

interface Circumstances extends RoleCause {
  readonly controllerAccount: string | null;
}

/**
 * Returns the changed fields that can change roles (the labels, the annotation `use-selector` or both), or null if
 * neither changes.
 */
function causeOf(inventory: Inventory, stored: NamespaceState, state: NamespaceState): RoleCause | null {
  return roleCause(!isSameLabels(stored.labels, state.labels), changesChoice(inventory, stored, state));
}

function fixFor({ inputs, isRechosen }: RoleCause): string {
  if (!isRechosen) return NS_01.fix;
  return `keep ${inputs}, or first change the selectors so that each resource stays in its account`;
}

/** Whether the annotation `use-selector` of the namespace changes, and the runtime supports this annotation. */
function changesChoice({ runtime }: Inventory, stored: NamespaceState | null, state: NamespaceState): boolean {
  const key = USE_SELECTOR_ANNOTATION;
  return runtime === "extended" && stored?.annotations.get(key) !== state.annotations.get(key);
}

/**
 * Returns the effect of the change on a resource. Returns null if the role stays the same, or if a resource without a
 * role gets a role and does not move.
 */
function effectOf(transition: Transition, circumstances: Circumstances): Effect | null {
  const { after, before } = transition;
  if (isSame(before, after)) return null;
  if (after.outcome === "default") return unselectedEffect(transition, circumstances);
  if (after.outcome === "selected") return selectedEffect(transition, circumstances);
  if (hasNoRole(before)) return null;
  const { subject } = circumstances;
  if (after.outcome === "conflict") return conflictEffect(after.selectors.map(({ name }) => name), subject);
  const reason = `because ${USE_SELECTOR_ANNOTATION} names a selector that does not select`;
  return { messageFor: (count) => `${subject} leave ${count} without a role, ${reason}` };
}

function isSame(a: Selection, b: Selection): boolean {
  return a.outcome === b.outcome && a.selectors.length === b.selectors.length
    && a.selectors.every((selector) => b.selectors.includes(selector));
}

function hasNoRole({ outcome }: Selection): boolean {
  return outcome === "conflict" || outcome === "refused";
}

function conflictEffect(names: readonly string[], subject: string): Effect {
  const list = names.toSorted(compareText).join(", ");
  return { messageFor: (count) => `${subject} cause a conflict between IAMRoleSelectors (${list}) for ${count}` };
}

function unselectedEffect(transition: Transition, { controllerAccount, subject }: Circumstances): Effect {
  const account = accountOfResource(transition, controllerAccount);
  if (account !== null && account === controllerAccount) return roleChange(subject);
  const source = account === null ? "" : ` of account ${account}`;
  return { messageFor: (count) => `${subject} leave ${count}${source} with the controllers' own role` };
}

function selectedEffect(transition: Transition, cause: Circumstances): Effect | null {
  const { after, before } = transition;
  const { controllerAccount, subject } = cause;
  const move = accountMoveOf(transition, controllerAccount);
  if (move !== null) {
    return {
      messageFor: (count) => `${subject} move ${count} from account ${move.from} to account ${move.to}`,
      fixFor: (resources) => fixFor(cause) + recreationHint(resources),
    };
  }
  // A resource without a role gets a role and does not move: it is not pinned to an account, or the role is in its
  // account.
  if (hasNoRole(before)) return null;
  return before.selectors[0]?.roleARN === after.selectors[0]?.roleARN ? null : roleChange(subject);
}

function roleChange(subject: string): Effect {
  return { messageFor: (count) => `${subject} change the role of ${count}`, isHarmless: true };
}

export const NS_02: QuickCheck<NamespaceChange> = {
  id: "NS-02",
  severity: "off",
  reason: "Anyone who can label a namespace controls which roles its resources use. "
    + "If this check is on, the requester needs the verb `use` on each selector that newly selects the namespace, "
    + `and on the selector that a new annotation \`${USE_SELECTOR_ANNOTATION}\` names. If a selector no longer selects `
    + "an existing namespace, so that its resources may use the controllers' own role, the requester needs the verb on "
    + `the name \`${DEFAULT_ROLE}\`.`,
  fix: `create a Role in the namespace, or a ClusterRole, with the rule ${useRule(usedSelector(""))}, `
    + "and a RoleBinding in the namespace that grants it to the requester. For a new namespace, create a ClusterRole "
    + "and a ClusterRoleBinding",
  example: "kubectl label namespace sandbox env=prod "
    + "# by a user without the verb use on the IAMRoleSelector that matches env: prod",
  requires: [NEEDS.accessReviews],
  ofChange: true,
  *find(change): Iterable<Fault> {
    for (const [selector, { how, path }] of change.settings.mode !== "selectors" ? [] : gainedSelectors(change)) {
      const answer = change.access?.get(selector) ?? "unknown";
      if (answer === "denied") {
        // A new namespace contains no Role yet, so only a ClusterRole can permit the request.
        const used = usedSelector(selector);
        const fix = change.stored === null ? useEverywhereFix(used) : useFix(used, change.name);
        const message = `the requester may not use ${describeRole(selector)}, ${how}`;
        yield { path, message, fix, repairs: rightRepairs(change, used) };
      }
      if (answer === "unknown") {
        const message = `the webhook could not verify that the requester may use ${describeRole(selector)}, ${how}`;
        yield { path, message, fix: "retry in a moment; the webhook log shows why the access review failed" };
      }
    }
  },
};

function rightRepairs({ name, requester, state, stored }: NamespaceChange, used: UsedObject): readonly Repair[] {
  if (stored === null) return useRepairs(used, null, requester);
  const kept = { when: "to keep the roles", edits: restoredRoleInputs(stored, state) };
  return [kept, ...useRepairs(used, name, requester)];
}

/** Describes how a namespace gains a selector. `how` is a clause for messages. */
interface Gain {
  readonly path: FieldPath;
  readonly how: string;
}

/**
 * Returns, by selector name, the IAMRoleSelectors that select the namespace only after the change, and the selector
 * that a new annotation `use-selector` names. The named selector may not exist yet. Also returns the default role, if
 * resources of an existing namespace can use it only because of the change.
 */
export function gainedSelectors(change: StateChange): ReadonlyMap<string, Gain> {
  const { inventory, name, stored, state } = change;
  const before = new Set(stored === null ? [] : inventory.of(SELECTORS).inNamespace(name, stored.labels));
  const after = inventory.of(SELECTORS).inNamespace(name, state.labels);
  const added = after.filter((selector) => !before.has(selector));
  const selecting = added.map((selector) => selector.name).toSorted(compareText);
  const gains = new Map<string, Gain>(
    selecting.map((selector) => [selector, { path: LABELS, how: "which newly selects the namespace" }]),
  );
  const chosen = state.annotations.get(USE_SELECTOR_ANNOTATION);
  if (chosen !== undefined && changesChoice(inventory, stored, state) && isSelectorName({ name: chosen })) {
    gains.set(chosen, { path: CHOICE_PATH, how: `which the annotation ${USE_SELECTOR_ANNOTATION} names` });
  }
  const path = pathToDefault(change, before, after);
  if (path !== null) gains.set(DEFAULT_ROLE, { path, how: "which its resources may use after the change" });
  return gains;
}

type StateChange = Pick<NamespaceChange, "inventory" | "name" | "stored" | "state">;

/**
 * Returns the path of the change with which resources of the namespace can begin to use the default role: a selector no
 * longer selects the namespace, or no choice refuses a role anymore. Returns null if the change has no such effect.
 */
function pathToDefault(
  { inventory, stored, state }: StateChange,
  before: ReadonlySet<EffectiveSelector>, after: readonly EffectiveSelector[],
): FieldPath | null {
  if (stored === null || after.some(selectsEveryResource)) return null;
  const kept = new Set(after);
  if ([...before].some((selector) => !kept.has(selector))) return LABELS;
  const isChosen = state.annotations.has(USE_SELECTOR_ANNOTATION);
  return !isChosen && changesChoice(inventory, stored, state) ? CHOICE_PATH : null;
}

/** Whether the selector selects each resource in each namespace that it selects. */
function selectsEveryResource({ types, resourceLabels }: EffectiveSelector): boolean {
  return types === null && resourceLabels === null;
}
