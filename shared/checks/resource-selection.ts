import { SELECTOR_REQUIRED_ANNOTATION, USE_SELECTOR_ANNOTATION } from "../contract/annotation-keys.ts";
import { conflictSentence, DEFAULT_ROLE, describeRole, usedSelectors } from "../resolution/selection.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { isSelectorRequired } from "./namespace-owner.ts";
import { selectorUseRule, useFix } from "./use-permission.ts";
import { refusedFix, RESOLUTION, resolutionClause, type ResourceChange } from "./resource-change.ts";

const METADATA = ["metadata"] as const;

export const ACK_03: QuickCheck<ResourceChange> = {
  id: "ACK-03",
  severity: "warn",
  waivable: true,
  reason: "Controllers do not reconcile a resource if several selectors select it, or if the CARM maps contain no role "
    + "for it. No condition on the resource reports a conflict of selectors.",
  fix: "restrict or delete selectors until only one selects the resource, or change the labels of the resource",
  example: "a Bucket in a namespace that two IAMRoleSelectors name",
  requires: RESOLUTION,
  inAudit: { severity: "deny", waivable: false },
  find: noRoleFaults,
};

function* noRoleFaults({ resolution, inventory }: ResourceChange): Iterable<Fault> {
  const { outcome, selectors } = resolution;
  if (outcome === "conflict") {
    const message = `${conflictSentence(selectors.map(({ name }) => name))}; controllers do not reconcile the resource`;
    const fix = inventory.runtime === "extended" ? { fix: CONFLICT_FIX } : {};
    yield { path: METADATA, message, section: "conflicts", ...fix };
  } else if (outcome === "refused") {
    yield { path: METADATA, message: resolutionClause(resolution), section: "refused", fix: refusedFix(resolution) };
  }
}

const CONFLICT_FIX = `restrict or delete selectors until one selects it, or name one in ${USE_SELECTOR_ANNOTATION}`;

export const ACK_05: QuickCheck<ResourceChange> = {
  id: "ACK-05",
  severity: "warn",
  waivable: false,
  reason: "If no selector selects a resource, controllers create it in their own account with their own role.",
  fix: "label the resource or its namespace so that a selector matches, unless the controller's account is intended",
  example: "a Bucket in a namespace that no IAMRoleSelector selects",
  requires: RESOLUTION,
  section: "onDefault",
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
  section: "onDefault",
  *find(change): Iterable<Fault> {
    if (change.resolution.outcome !== "default" || !requiresSelector(change)) return;
    const { namespace } = change.resource;
    const message = `namespace ${namespace} requires a selector, but the resource would use the controller's own role`;
    yield { path: METADATA, message };
  },
};

function requiresSelector({ inventory, resource }: ResourceChange): boolean {
  return isSelectorRequired(inventory.namespaces.annotationsOf(resource.namespace));
}

export const ACK_09: QuickCheck<ResourceChange> = {
  id: "ACK-09",
  severity: "off",
  waivable: false,
  reason: "Anyone who can write a resource can make the controller act with the role of the resource's selector. "
    + "If this check is on, a requester who creates, changes or deletes a resource needs the verb `use` on each "
    + "selector that selects the resource before or after the change. If the annotation "
    + `\`${USE_SELECTOR_ANNOTATION}\` picks one of them (\`--runtime extended\`), only that selector counts. `
    + `For a resource that no selector selects, the requester needs the verb on the name \`${DEFAULT_ROLE}\`, `
    + "which stands for the controllers' own role. "
    + "The controllers in `--controller-users` do not need the verb.",
  fix: `create a Role in the namespace of the resource, or a ClusterRole, with the rule ${selectorUseRule("NAME")}, `
    + "and a RoleBinding in that namespace that grants it to the requester",
  example: "a Bucket created by a user without the verb use on the IAMRoleSelector that selects it",
  requires: [...RESOLUTION, "access reviews"],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find(change): Iterable<Fault> {
    const { access, resource: { namespace } } = change;
    for (const [name, state] of selectorUses(change)) {
      const answer = access?.get(name) ?? "unknown";
      const selector = `${describeRole(name)}, which ${clauseOf(name, state)}`;
      if (answer === "denied") {
        const fix = useFix(selectorUseRule(name), namespace);
        yield { path: METADATA, message: `the requester may not use ${selector}`, fix };
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
  if (settings.mode === "carm") return new Map();
  const after = usedSelectors(inventory, resource).map((name) => [name, "after"] as const);
  const before = stored === null ? [] : usedSelectors(inventory, stored.resource);
  return new Map([...before.map((name) => [name, "before"] as const), ...after]);
}
