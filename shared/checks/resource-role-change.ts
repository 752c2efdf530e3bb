import type { AccessByName } from "../contract/context.ts";
import { isPinned } from "../contract/ack-resource.ts";
import { listOf, quote } from "../formats/text.ts";
import type { Resolution } from "../resolution/resolve.ts";
import { selectingSelectors } from "../resolution/selection.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { isSameLabels, type RoleCause, roleCause } from "./role-cause.ts";
import {
  choiceFor, RESOLUTION, resolutionClause, type ResolvedResource, type ResourceChange,
} from "./resource-change.ts";

export const ACK_06: QuickCheck<ResourceChange> = {
  id: "ACK-06",
  severity: "deny",
  waivable: false,
  reason: "Without this check, anyone who can label or annotate a resource could choose the role that manages the "
    + "resource. The check also denies an update after which no role resolves, if a second update could then move the "
    + "resource to another role.",
  fix: "keep the labels that selectors match, or ask the owner of the selectors to move the resource",
  example: "a Bucket whose label changes from tier: silver to tier: gold, with an IAMRoleSelector for each label",
  requires: RESOLUTION,
  on: ["UPDATE"],
  ofChange: true,
  *find(change): Iterable<Fault> {
    const { stored, settings, access } = change;
    if (stored === null || settings.mode === "carm") return;
    const cause = causeOf(change, stored);
    const message = cause === null ? null : messageOf(change, stored, cause);
    if (cause === null || message === null || isAllowed(change.resolution, access)) return;
    const [selector] = change.resolution.selectors;
    const other = selector === undefined || access === null
      ? "ask the owner of the selectors to move the resource"
      : `ask an administrator for the verb use on IAMRoleSelector ${selector.name}`;
    yield { path: cause.path, message, fix: `keep ${cause.inputs}, or ${other}` };
  },
};

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
