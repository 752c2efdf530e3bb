import { SELECTOR_REQUIRED_ANNOTATION } from "../../annotation-keys.ts";
import { isPinned } from "../../kubernetes/ack-resource.ts";
import { satisfies } from "../../kubernetes/label-selector.ts";
import { listOf, quote } from "../../kubernetes/text.ts";
import { conflictSentence } from "../../resolution/conflict.ts";
import type { Resolution } from "../../resolution/resolve.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { useFix, useRule } from "../use-permission.ts";
import { RESOLUTION, resolutionClause, type ResolvedResource, type ResourceChange } from "./change.ts";

const METADATA = ["metadata"] as const;
const LABELS = ["metadata", "labels"] as const;

export const ACK_03: QuickCheck<ResourceChange> = {
  id: "ACK-03",
  severity: "warn",
  waivable: true,
  reason: "Controllers do not reconcile a new resource if several selectors select the resource, "
    + "or if the CARM maps contain no role for it. No condition on the resource reports a conflict of selectors.",
  fix: "restrict or delete selectors until only one selects the resource, or change the labels of the resource",
  example: "a Bucket in a namespace that two IAMRoleSelectors name",
  requires: RESOLUTION,
  on: ["CREATE"],
  find: noRoleFaults,
};

export const ACK_04: QuickCheck<ResourceChange> = {
  id: "ACK-04",
  severity: "warn",
  waivable: true,
  reason: "Controllers do not reconcile a resource if several selectors select it or if it has no role. "
    + "For an update, the check only warns, because the update may resolve the conflict.",
  fix: "restrict or delete selectors until only one selects the resource, or change the labels of the resource",
  example: "a new label on a Bucket that makes a second IAMRoleSelector select it",
  requires: RESOLUTION,
  on: ["UPDATE"],
  find: noRoleFaults,
};

function* noRoleFaults({ resolution }: ResourceChange): Iterable<Fault> {
  const { outcome, selectors } = resolution;
  if (outcome === "conflict") {
    const sentence = conflictSentence(selectors.map(({ name }) => name));
    yield { path: METADATA, message: `${sentence}; controllers do not reconcile the resource` };
  } else if (outcome === "refused") {
    const fix = "correct the CARM map, or the account or team annotation of the namespace";
    yield { path: METADATA, message: resolutionClause(resolution), fix };
  }
}

export const ACK_05: QuickCheck<ResourceChange> = {
  id: "ACK-05",
  severity: "warn",
  waivable: false,
  reason: "If no selector selects a resource, controllers create it in their own account with their own role.",
  fix: "label the resource or its namespace so that a selector selects the resource, "
    + "unless the resource belongs in the controller's own account",
  example: "a Bucket in a namespace that no IAMRoleSelector selects",
  requires: RESOLUTION,
  *find(change): Iterable<Fault> {
    if (change.resolution.outcome !== "default" || requiresSelector(change)) return;
    yield { path: METADATA, message: resolutionClause(change.resolution) };
  },
};

export const ACK_05B: QuickCheck<ResourceChange> = {
  id: "ACK-05b",
  severity: "deny",
  waivable: false,
  reason: `The namespace annotation \`${SELECTOR_REQUIRED_ANNOTATION}: "true"\` `
    + "requires a selector for every resource. No resource of the namespace may use the controller's own account.",
  fix: "label the resource to match a selector, or create a selector that selects the resource",
  example: `metadata: {name: team-a, annotations: {${SELECTOR_REQUIRED_ANNOTATION}: "true"}} `
    + "# the Namespace of a Bucket that no IAMRoleSelector selects",
  requires: RESOLUTION,
  *find(change): Iterable<Fault> {
    if (change.resolution.outcome !== "default" || !requiresSelector(change)) return;
    const { namespace } = change.resource;
    const message = `namespace ${namespace} requires a selector, but the resource would use the controller's own role`;
    yield { path: METADATA, message };
  },
};

function requiresSelector({ inventory, resource }: ResourceChange): boolean {
  return inventory.namespaces.annotationsOf(resource.namespace).get(SELECTOR_REQUIRED_ANNOTATION) === "true";
}

export const ACK_06: QuickCheck<ResourceChange> = {
  id: "ACK-06",
  severity: "deny",
  waivable: false,
  reason: "Without this check, anyone who can label a resource could choose the role that manages the resource.",
  fix: "keep the labels that selectors match, or ask the owner of the selectors to move the resource",
  example: "a Bucket whose label changes from tier: silver to tier: gold, with an IAMRoleSelector for each label",
  requires: RESOLUTION,
  on: ["UPDATE"],
  ofChange: true,
  *find({ stored, resolution, access }): Iterable<Fault> {
    const after = roleOf(resolution);
    if (stored === null || after === null || rolesBefore(stored).every((role) => role === after)) return;
    const [selector] = resolution.selectors;
    if (selector !== undefined && access?.get(selector.name) === "allowed") return;
    const from = roleText(stored.resolution, stored.resolution.roleARN ?? "");
    const message = `the new labels move the resource from ${from} to ${roleText(resolution, after)}`;
    if (selector === undefined || access === null) yield { path: LABELS, message };
    else {
      const fix = "keep the labels that selectors match, or ask an administrator for the verb use on IAMRoleSelector "
        + selector.name;
      yield { path: LABELS, message, fix };
    }
  },
};

/**
 * Returns the ARN of the resolved role. Returns "" if the controller's own role applies and its ARN is unknown, and
 * null if no role resolves.
 */
function roleOf({ outcome, roleARN }: Resolution): string | null {
  return outcome === "selected" || outcome === "default" ? (roleARN ?? "") : null;
}

/**
 * Returns the roles that may have managed the stored resource. If several selectors select the resource and the
 * resource is pinned to an account, returns the roles of all these selectors. ACK-04 only warns about a new conflict,
 * so a user could otherwise change the role in two steps.
 */
function rolesBefore({ resource, resolution }: ResolvedResource): readonly string[] {
  const { outcome, roleARN, selectors } = resolution;
  if (outcome !== "conflict") return [roleARN ?? ""];
  return isPinned(resource) ? selectors.map((selector) => selector.roleARN) : [];
}

function roleText({ outcome, selectors }: Resolution, role: string): string {
  if (outcome === "conflict") return `a conflict between ${listOf(selectors.map(({ name }) => name))}`;
  return outcome === "default" ? "the controller's own role" : `the role ${quote(role)}`;
}

export const ACK_09: QuickCheck<ResourceChange> = {
  id: "ACK-09",
  severity: "off",
  waivable: false,
  reason: "Anyone who can write a resource can make the controller act with the role of the resource's selector. "
    + "If this check is on, a requester who creates, changes or deletes a resource needs the verb `use` on each "
    + "selector that selects the resource before or after the change. "
    + "The controllers in `--controller-service-accounts` and `--controller-users` do not need the verb.",
  fix: `create a Role in the namespace of the resource, or a ClusterRole, with the rule ${useRule("NAME")}, `
    + "and a RoleBinding in that namespace that grants it to the requester",
  example: "a Bucket created by a user without the verb use on the IAMRoleSelector that selects it",
  requires: [...RESOLUTION, "access reviews"],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find(change): Iterable<Fault> {
    const { access, resource: { namespace } } = change;
    for (const [name, verb] of usedSelectors(change)) {
      const answer = access?.get(name) ?? "unknown";
      const selector = `IAMRoleSelector ${name}, which ${verb} the resource`;
      if (answer === "denied") {
        yield { path: METADATA, message: `the requester may not use ${selector}`, fix: useFix(name, namespace) };
      }
      if (answer === "unknown") {
        const message = `the webhook could not verify that the requester may use ${selector}`;
        yield { path: METADATA, message, fix: "retry in a moment; the webhook log shows why the access review failed" };
      }
    }
  },
};

/** Returns the selectors that select the resource after or before the change, by name. */
function usedSelectors({ resolution, stored }: ResourceChange): ReadonlyMap<string, "selects" | "selected"> {
  const after = resolution.selectors.map(({ name }) => [name, "selects"] as const);
  const before = (stored?.resolution.selectors ?? []).map(({ name }) => [name, "selected"] as const);
  return new Map([...before, ...after]);
}

export const ACK_19: QuickCheck<ResourceChange> = {
  id: "ACK-19",
  severity: "warn",
  waivable: false,
  reason: "Controllers ignore resources outside the namespaces that they watch.",
  fix: "move the resource to a watched namespace, or let the controllers watch this namespace",
  example: "a Bucket in team-b, with --watch-namespace team-a",
  requires: ["--watch-namespace"],
  *find({ resource, settings }): Iterable<Fault> {
    if (settings.watchNamespaces.includes(resource.namespace)) return;
    const message = `controllers do not watch namespace ${resource.namespace}, so no controller manages the resource`;
    yield { path: ["metadata", "namespace"], message };
  },
};

export const ACK_19B: QuickCheck<ResourceChange> = {
  id: "ACK-19b",
  severity: "warn",
  waivable: false,
  reason: "Controllers ignore resources that do not have the labels that --watch-selectors requires.",
  fix: "add the labels that the controllers watch, or change --watch-selectors of the controllers",
  example: "a Bucket without the label managed, with --watch-selectors managed",
  requires: ["--watch-selectors"],
  *find({ resource, settings: { watchSelector } }): Iterable<Fault> {
    if (watchSelector === null || satisfies(resource.labels, watchSelector)) return;
    const message = "controllers do not watch resources with these labels, so no controller manages the resource";
    yield { path: LABELS, message };
  },
};
