import { SELECTOR_REQUIRED_ANNOTATION } from "../../annotation-keys.ts";
import { labelsSatisfy } from "../../kubernetes/label-selector.ts";
import { listOf, quote } from "../../kubernetes/text.ts";
import type { Resolution } from "../../resolution/resolve.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { RESOLUTION, type ResolvedResource, type ResourceChange } from "./change.ts";

const METADATA = ["metadata"] as const;

export const ACK_03: QuickCheck<ResourceChange> = {
  id: "ACK-03",
  severity: "warn",
  waivable: true,
  reason: "A controller stops at a new resource that has no one role: two selectors select it, or the CARM maps refuse it. After a conflict nothing on the resource says so.",
  fix: "narrow or delete all selectors but one, or change the labels of the resource",
  example: "a Bucket in a namespace that two IAMRoleSelectors name",
  requires: RESOLUTION,
  on: ["CREATE"],
  find: stopped,
};

export const ACK_04: QuickCheck<ResourceChange> = {
  id: "ACK-04",
  severity: "warn",
  waivable: true,
  reason: "A controller stops at a changed resource that has no one role. A change is let through all the same, since it may be the one that heals.",
  fix: "narrow or delete all selectors but one, or change the labels of the resource",
  example: "a new label on a Bucket, by which a second IAMRoleSelector selects it",
  requires: RESOLUTION,
  on: ["UPDATE"],
  find: stopped,
};

function* stopped({ resolution }: ResourceChange): Iterable<Fault> {
  if (resolution.outcome === "conflict") {
    const names = listOf(resolution.selectors.map(({ name }) => name));
    yield { path: METADATA, message: `${resolution.selectors.length} IAMRoleSelectors select it, and controllers stop there: ${names}` };
  } else if (resolution.outcome === "refused") {
    yield { path: METADATA, message: clause(resolution), fix: "mend the CARM map, or what the namespace names" };
  }
}

/** What was resolved, without its full stop. */
export function clause({ message }: Resolution): string {
  return message.replace(/\.$/, "");
}

export const ACK_05: QuickCheck<ResourceChange> = {
  id: "ACK-05",
  severity: "warn",
  waivable: false,
  reason: "A resource that nothing selects is made in the controller's own account, with the controller's own role.",
  fix: "label it or its namespace so that a selector selects it, unless it belongs into the controller's own account",
  example: "a Bucket in a namespace that no IAMRoleSelector selects",
  requires: RESOLUTION,
  *find(change): Iterable<Fault> {
    if (change.resolution.outcome === "default" && !requiresSelector(change)) yield { path: METADATA, message: clause(change.resolution) };
  },
};

export const ACK_05B: QuickCheck<ResourceChange> = {
  id: "ACK-05b",
  severity: "deny",
  waivable: false,
  reason: `The namespace's annotation \`${SELECTOR_REQUIRED_ANNOTATION}: "true"\` says that none of its resources is for the controller's own account.`,
  fix: "label it so that a selector selects it, or have a selector made that does",
  example: `metadata: {name: team-a, annotations: {${SELECTOR_REQUIRED_ANNOTATION}: "true"}} # the Namespace of a Bucket that no IAMRoleSelector selects`,
  requires: RESOLUTION,
  *find(change): Iterable<Fault> {
    if (change.resolution.outcome !== "default" || !requiresSelector(change)) return;
    yield { path: METADATA, message: `namespace ${change.resource.namespace} requires a selector for each of its resources, and the controller's own role would be used` };
  },
};

function requiresSelector({ inventory, resource }: ResourceChange): boolean {
  return inventory.namespaceAnnotations(resource.namespace).get(SELECTOR_REQUIRED_ANNOTATION) === "true";
}

export const ACK_06: QuickCheck<ResourceChange> = {
  id: "ACK-06",
  severity: "deny",
  waivable: false,
  reason: "Whoever may label a resource could otherwise choose the role that it is managed with.",
  fix: "keep the labels that selectors read; who looks after the selectors moves resources",
  example: "tier: gold for tier: silver on a Bucket, where an IAMRoleSelector selects each",
  requires: RESOLUTION,
  on: ["UPDATE"],
  ofChange: true,
  *find({ stored, resolution, access }): Iterable<Fault> {
    const after = roleOf(resolution);
    if (stored === null || after === null || rolesBefore(stored).every((role) => role === after)) return;
    const [selector] = resolution.selectors;
    if (selector !== undefined && access?.get(selector.name) === "allowed") return;
    const message = `these labels move it from ${described(stored.resolution, stored.resolution.roleARN ?? "")} to ${described(resolution, after)}`;
    const path = ["metadata", "labels"] as const;
    yield selector === undefined || access === null
      ? { path, message }
      : { path, message, fix: `keep the labels that selectors read, or be granted the verb use on IAMRoleSelector ${selector.name}` };
  },
};

/** "" is the controller's own where that is not known; null where there is no one role. */
function roleOf({ outcome, roleARN }: Resolution): string | null {
  return outcome === "selected" || outcome === "default" ? (roleARN ?? "") : null;
}

/**
 * The roles that a resource may have been managed with. A step into a conflict is only warned of (ACK-04), so the step out of it
 * counts for what exists in AWS; else the two together would move a resource to any role.
 */
function rolesBefore({ resource, resolution }: ResolvedResource): readonly string[] {
  if (resolution.outcome === "conflict") return resource.created ? resolution.selectors.map(({ roleARN }) => roleARN) : [];
  return [resolution.roleARN ?? ""];
}

function described({ outcome, selectors }: Resolution, role: string): string {
  if (outcome === "conflict") return `a conflict of ${listOf(selectors.map(({ name }) => name))}`;
  return outcome === "default" ? "the controller's own role" : `the role ${quote(role)}`;
}

export const ACK_09: QuickCheck<ResourceChange> = {
  id: "ACK-09",
  severity: "off",
  waivable: false,
  reason: "Whoever may write a resource may have the controller act with the role of its selector. With this check only who is granted the verb `use` on the selector may.",
  fix: "grant the requester the verb use on the selector: a ClusterRole with resources iamroleselectors, resourceNames and verbs use",
  example: "a Bucket of a user without the verb use on the IAMRoleSelector that selects it",
  requires: [...RESOLUTION, "access reviews"],
  *find({ resolution, access }): Iterable<Fault> {
    const [selector] = resolution.outcome === "selected" ? resolution.selectors : [];
    if (selector === undefined) return;
    const answer = access?.get(selector.name) ?? "unknown";
    if (answer === "denied") yield { path: METADATA, message: `the requester may not use IAMRoleSelector ${selector.name}, which selects it` };
    if (answer === "unknown") {
      const message = `whether the requester may use IAMRoleSelector ${selector.name}, which selects it, could not be found out`;
      yield { path: METADATA, message, fix: "try again in a moment; the webhook's log says why the access review failed" };
    }
  },
};

export const ACK_19: QuickCheck<ResourceChange> = {
  id: "ACK-19",
  severity: "warn",
  waivable: false,
  reason: "No controller looks at a resource outside the namespaces that they are told to watch.",
  fix: "put it into a namespace that is watched, or have this one watched too",
  example: "a Bucket in team-b, with --watch-namespace team-a",
  requires: ["--watch-namespace"],
  *find({ resource, settings }): Iterable<Fault> {
    if (settings.watchNamespaces.includes(resource.namespace)) return;
    yield { path: ["metadata", "namespace"], message: `the controllers do not watch namespace ${resource.namespace}, so nobody manages it` };
  },
};

export const ACK_19B: QuickCheck<ResourceChange> = {
  id: "ACK-19b",
  severity: "warn",
  waivable: false,
  reason: "No controller looks at a resource without the labels that they are told to watch.",
  fix: "label it so that it is watched, or have such resources watched too",
  example: "a Bucket without the label managed, with --watch-selectors managed",
  requires: ["--watch-selectors"],
  *find({ resource, settings: { watchSelector } }): Iterable<Fault> {
    if (watchSelector === null || labelsSatisfy(resource.labels, watchSelector)) return;
    yield { path: ["metadata", "labels"], message: "the controllers do not watch resources with these labels, so nobody manages it" };
  },
};
