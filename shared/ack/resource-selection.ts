import { ownRolePermission, REQUIRED, requirementOf } from "../core/own-role-permission.ts";
import { isSameLabels } from "../formats/label-selector.ts";
import type { Resolution } from "../core/resolution.ts";
import { SELECTORS } from "./selectors.ts";
import {
  IGNORED_NAMESPACES, OWNER_ACCOUNT_ANNOTATION, SELECTOR_REQUIRED_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../core/annotation-keys.ts";
import {
  conflictSentence, DEFAULT_ROLE, describeRole, selectingSelectors, usedSelectors,
} from "./selection.ts";
import { type Fault, type QuickCheck } from "../core/check.ts";
import { conflictRepairs, refusedRepairs, restoredInputs, selectedRepairs } from "./role-repairs.ts";
import { refusedFix, resolutionClause, type ResolvedResource, type ResourceChange } from "./resource-change.ts";
import { choiceFor, type RoleCause, roleCause } from "./role-inputs.ts";
import { correctionOf, missRepairs, nearMisses } from "./near-misses.ts";
import { describeRepairs } from "../core/repair.ts";
import { usedSelector, useFix, useRepairs, useRule } from "../core/use-rights.ts";
import type { AccessByName } from "../core/context.ts";
import { readsResourceLabels } from "../core/effective-selector.ts";
import { isPinned } from "../core/ack-resource.ts";
import { listOf, quote } from "../formats/text.ts";
import { NEEDS } from "../core/requirements.ts";
import { RESOLUTION } from "./requirements.ts";

const METADATA = ["metadata"] as const;
const CHOOSE_ACCOUNT = `annotate the namespace with ${OWNER_ACCOUNT_ANNOTATION}`;
const RESTRICT = "restrict or delete selectors until only one selects the resource";

export const ACK_03: QuickCheck<ResourceChange> = {
  id: "ACK-03",
  severity: "warn",
  waivable: true,
  reason:
    "Controllers do not reconcile a resource that several selectors select, or for which the CARM maps have no "
    + "role. No condition on the resource reports a conflict of selectors.",
  fix: `${RESTRICT}, or change the labels of the resource`,
  example: "a Bucket in a namespace that two IAMRoleSelectors name",
  requires: RESOLUTION,
  inAudit: { severity: "deny", waivable: false },
  when: ({ resolution: { outcome } }) => outcome === "conflict" || outcome === "refused",
  find: noRoleFaults,
};

function* noRoleFaults(change: ResourceChange): Iterable<Fault> {
  const { resolution, inventory } = change;
  const { outcome, selectors } = resolution;
  if (outcome === "conflict") {
    const message = `${conflictSentence(selectors.map(({ name }) => name))}; controllers do not reconcile the resource`;
    const fix = conflictFix(resolution, inventory);
    yield { path: METADATA, message, section: "conflicts", fix, repairs: conflictRepairs(change) };
  } else if (outcome === "refused") {
    const [message, fix] = [resolutionClause(resolution), refusedFix(resolution)];
    yield { path: METADATA, message, section: "refused", fix, repairs: refusedRepairs(change) };
  }
}

/** Labels change nothing if no selector reads them. */
function conflictFix({ selectors }: Resolution, inventory: ResourceChange["inventory"]): string {
  if (inventory.runtime === "extended") return `${RESTRICT}, or name one in ${USE_SELECTOR_ANNOTATION}`;
  const reads = selectors.some(({ name }) => readsResourceLabels(inventory.of(SELECTORS).get(name)));
  return reads ? ACK_03.fix : RESTRICT;
}

/** How a resource gets another role than the controllers' own. */
const LABEL = {
  selectors: "label the resource or its namespace so that a selector matches",
  carm: `annotate the namespace with ${OWNER_ACCOUNT_ANNOTATION}`,
};

export const ACK_05: QuickCheck<ResourceChange> = {
  id: "ACK-05",
  severity: "warn",
  reason: "If no selector selects a resource, or in mode `carm` its namespace chooses no role, controllers create it "
    + "in their own account with their own role.",
  fix: "label the resource or its namespace so that a selector matches, unless the controller's account is intended",
  fixInCARM: `${CHOOSE_ACCOUNT}, unless the controller's account is intended`,
  example: "a Bucket in a namespace that no IAMRoleSelector selects",
  requires: RESOLUTION,
  section: "onDefault",
  when: (change) => usesDefaultRole(change) && !requiresSelector(change),
  *find(change): Iterable<Fault> {
    const missed = missedFault(change, resolutionClause(change.resolution));
    const fix = describeRepairs(missed.repairs ?? [], METADATA) ?? missed.fix ?? LABEL[change.settings.mode];
    const check = { id: "ACK-05", fix };
    const permission = ownRolePermission(check, change, change.resource.namespace);
    const isIgnored = change.settings.mode !== "selectors" && IGNORED_NAMESPACES.has(change.resource.namespace);
    const move = { fix: "move the resource to another namespace, unless the controller's account is intended" };
    yield { path: METADATA, ...missed, ...permission, ...(isIgnored && move) };
  },
};

export const ACK_05B: QuickCheck<ResourceChange> = {
  id: "ACK-05b",
  severity: "deny",
  reason: `The namespace annotation \`${SELECTOR_REQUIRED_ANNOTATION}: "true"\` `
    + "requires a selector, or a role of the CARM maps, for every resource. No resource of the namespace may use the "
    + "controller's own account.",
  fix: "label the resource to match a selector, or create a selector that selects the resource",
  fixInCARM: CHOOSE_ACCOUNT,
  example: `metadata: {name: team-a, annotations: {${SELECTOR_REQUIRED_ANNOTATION}: "true"}} `
    + "# the Namespace of a Bucket that no IAMRoleSelector selects",
  requires: RESOLUTION,
  section: "onDefault",
  when: (change) => usesDefaultRole(change) && requiresSelector(change),
  *find(change): Iterable<Fault> {
    const { resource: { namespace }, settings } = change;
    const required = settings.mode !== "selectors" ? "a role of the CARM maps" : "a selector";
    const message = `namespace ${namespace} requires ${required}, but the resource would use the controller's own role`;
    yield { path: METADATA, ...missedFault(change, message) };
  },
};

/** Returns the message with the selectors that probably should select the resource, and how they would. */
function missedFault(
  change: ResourceChange, message: string,
): Pick<Fault, "message" | "repairs" | "fix"> {
  const { inventory, operation, resource, settings } = change;
  const misses = settings.mode === "selectors" ? nearMisses(inventory, resource) : [];
  const [ofMisses, ofLabels] = [missRepairs(misses), selectedRepairs(change)];
  // The typo of a selector comes before a label that the resource never had.
  const repairs = operation === "CREATE" ? [...ofMisses, ...ofLabels] : [...ofLabels, ...ofMisses];
  const texts = [message, ...misses.map((miss) => miss.message)];
  if (repairs.length > 0) return { message: texts.join("; "), repairs };
  const fix = correctionOf(misses, resource);
  return { message: texts.join("; "), ...(fix !== null && { fix }) };
}

function usesDefaultRole({ resolution }: ResourceChange): boolean {
  return resolution.outcome === "default";
}

function requiresSelector({ inventory, resource }: ResourceChange): boolean {
  return requirementOf(inventory, resource.namespace) === REQUIRED;
}

export const ACK_09: QuickCheck<ResourceChange> = {
  id: "ACK-09",
  severity: "off",
  reason: "Anyone who can write a resource can make the controller act with the role of the resource's selector. "
    + "If this check is on, a requester who creates, changes or deletes a resource needs the verb `use` on each "
    + "selector that selects the resource before or after the change. If the annotation "
    + `\`${USE_SELECTOR_ANNOTATION}\` picks one of them (\`--runtime extended\`), only that selector counts. `
    + `For a resource that no selector selects, the requester needs the verb on the name \`${DEFAULT_ROLE}\`, `
    + "which stands for the controllers' own role. "
    + "The controllers in `--controller-users` do not need the verb.",
  fix: `create a Role in the namespace of the resource, or a ClusterRole, with the rule ${useRule(usedSelector(""))}, `
    + "and a RoleBinding in that namespace that grants it to the requester",
  example: "a Bucket created by a user without the verb use on the IAMRoleSelector that selects it",
  requires: [...RESOLUTION, NEEDS.accessReviews],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find(change): Iterable<Fault> {
    const { access, resource: { namespace } } = change;
    for (const [name, state] of selectorUses(change)) {
      const answer = access?.get(name) ?? "unknown";
      const selector = `${describeRole(name)}, which ${clauseOf(name, state)}`;
      if (answer === "denied") {
        const used = usedSelector(name);
        const [fix, repairs] = [useFix(used, namespace), useRepairs(used, namespace, change.requester)];
        yield { path: METADATA, message: `the requester may not use ${selector}`, fix, repairs };
      }
      if (answer === "unknown") {
        const message = `the webhook could not verify that the requester may use ${selector}`;
        yield { path: METADATA, message, fix: "retry in a moment; the webhook log shows why the access review failed" };
      }
    }
  },
};

type State = "before" | "after";

function clauseOf(name: string, state: State): string {
  if (name === DEFAULT_ROLE) return state === "after" ? "the resource uses" : "the resource used";
  return state === "after" ? "selects the resource" : "selected the resource";
}

/** Maps the name of each selector that the resource uses before or after the change to the last of these states. */
function selectorUses(change: ResourceChange): ReadonlyMap<string, State> {
  const { inventory, resource, settings, stored } = change;
  if (settings.mode !== "selectors") return new Map();
  const after = usedSelectors(inventory, resource).map((name) => [name, "after"] as const);
  const before = stored === null ? [] : usedSelectors(inventory, stored.resource);
  return new Map([...before.map((name) => [name, "before"] as const), ...after]);
}

export const ACK_06: QuickCheck<ResourceChange> = {
  id: "ACK-06",
  severity: "deny",
  reason:
    "Anyone who can label or annotate a resource could otherwise choose the role that manages it. The check also "
    + "denies an update after which no role resolves, if a second update could then move the resource to another "
    + "role.",
  fix: "keep the labels that selectors match, or ask the owner of the selectors to move the resource",
  example: "a Bucket whose label changes from tier: silver to tier: gold, with an IAMRoleSelector for each label",
  requires: RESOLUTION,
  on: ["UPDATE"],
  ofChange: true,
  find: (change) => (
    change.stored === null || change.settings.mode !== "selectors" ? [] : movedFaults(change, change.stored)
  ),
};

function* movedFaults(change: ResourceChange, stored: ResolvedResource): Iterable<Fault> {
  const { access, resolution } = change;
  const cause = causeOf(change, stored);
  const message = cause === null ? null : messageOf(change, stored, cause);
  if (cause === null || message === null || isAllowed(resolution, access)) return;
  const [selector] = resolution.selectors;
  const other = selector === undefined || access === null
    ? "ask the owner of the selectors to move the resource"
    : `ask an administrator for the verb use on IAMRoleSelector ${selector.name}`;
  const grant = selector === undefined || access === null || resolution.outcome !== "selected"
    ? []
    : useRepairs(usedSelector(selector.name), change.resource.namespace, change.requester);
  const repairs = [{ when: "to keep the role", edits: restoredInputs(change) }, ...grant];
  yield { path: cause.path, message, fix: `keep ${cause.inputs}, or ${other}`, repairs };
}

/** Whether the requester may use the selector that the resource would use. */
function isAllowed({ outcome, selectors: [selector] }: Resolution, access: AccessByName | null): boolean {
  return outcome === "selected" && selector !== undefined && access?.get(selector.name) === "allowed";
}

function causeOf(change: ResourceChange, stored: ResolvedResource): RoleCause | null {
  return roleCause(!isSameLabels(stored.resource.labels, change.resource.labels), isRechosen(change, stored));
}

/** Whether the annotation `use-selector` names another selector after the change than before the change. */
function isRechosen(change: ResourceChange, stored: ResolvedResource): boolean {
  return choiceFor(change, stored.resource)?.name !== choiceFor(change, change.resource)?.name;
}

/** Returns a message if the change moves the resource to another role, or could be the first step of such a move. */
function messageOf(change: ResourceChange, stored: ResolvedResource, { subject }: RoleCause): string | null {
  const { resolution } = change;
  const before = rolesOf(change, stored);
  const after = roleOf(resolution);
  if (after === null) return isPinned(stored.resource) ? lossOf(change, stored, before, subject) : null;
  if (before.every((role) => role === after)) return null;
  const from = roleText(stored.resolution, stored.resolution.roleARN ?? "");
  return `${subject} move the resource from ${from} to ${roleText(resolution, after)}`;
}

/**
 * Returns a message if no role resolves after the change, so that a later change could move the resource to another
 * role. This is possible if no remaining selector has the previous role, or if the changed annotation `use-selector`
 * names a selector that may select the resource later.
 */
function lossOf(
  change: ResourceChange, stored: ResolvedResource, before: readonly string[], subject: string,
): string | null {
  const { resolution } = change;
  if (resolution.outcome === "refused" && isRechosen(change, stored)) {
    return `${subject} leave the resource without a role: ${resolutionClause(resolution)}`;
  }
  const remaining = new Set(rolesOf(change, change));
  const lost = before.find((role) => !remaining.has(role));
  if (lost === undefined) return null;
  const role = lost === "" ? "the controller's own role" : `the role ${quote(lost)}`;
  return `${subject} leave the resource without a role and without a selector for ${role}, which may manage the `
    + "resource";
}

/**
 * Returns the ARN of the resolved role. Returns "" if the controller's own role applies and its ARN is unknown, and
 * null if no role resolves.
 */
function roleOf({ outcome, roleARN }: Resolution): string | null {
  return outcome === "selected" || outcome === "default" ? (roleARN ?? "") : null;
}

/**
 * Returns the roles that may manage the resource. If no role resolves for a pinned resource, returns the roles of all
 * selectors that select the resource or, if no selector selects it, the controller's own role. ACK-03 only warns about
 * a new conflict, so ACK-06 uses these roles to prevent a change of the role in two steps.
 */
function rolesOf(
  { inventory, settings, stored }: ResourceChange, { resource, resolution }: ResolvedResource,
): readonly string[] {
  const role = roleOf(resolution);
  if (role !== null) return [role];
  if (stored === null || !isPinned(stored.resource)) return [];
  const selecting = selectingSelectors(inventory, resource);
  return selecting.length === 0 ? [settings.controllerRole ?? ""] : selecting.map(({ roleARN }) => roleARN);
}

function roleText({ outcome, selectors }: Resolution, role: string): string {
  if (outcome === "conflict") return `a conflict between ${listOf(selectors.map(({ name }) => name))}`;
  if (outcome === "refused") return "no role";
  return outcome === "default" ? "the controller's own role" : `the role ${quote(role)}`;
}
