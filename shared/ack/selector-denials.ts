import { countOf, quote, sortedListOf } from "../formats/text.ts";
import { LIMITS } from "../core/limits.ts";
import { conflictSentence } from "./selection.ts";
import { decisiveFaults, type JudgedSelector } from "./selector.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { shortName } from "../core/session-annotations.ts";
import {
  deny, describeKinds, type Grant, type GrantScope, listed, type RoleQuery, scopeSuffix,
} from "../core/grant.ts";
import type { Obstacle } from "./grant-obstacles.ts";

/** Returns the names of the selectors. */
export function namesOf(selectors: Iterable<EffectiveSelector>): string[] {
  return Array.from(selectors, ({ name }) => name);
}

/** Denies a role whose selectors have different session settings. */
export function sessionsDiffer(
  roleARN: string, withRole: ReadonlySet<EffectiveSelector>, differing: ReadonlySet<string>,
): Grant {
  const names = namesOf(withRole);
  const settings = [...differing].map(shortName).join(", ");
  return deny(
    "ERR_SELECTOR_EXTRAS",
    `IAMRoleSelectors ${sortedListOf(names)} set different session settings for ${roleARN} (${settings}). `
      + "Set the same annotation values on these selectors.",
    listed(names).first,
  );
}

/** Denies a role of several selectors if a default tag contains the name of the selector. */
export function namesDiffer(roleARN: string, withRole: ReadonlySet<EffectiveSelector>): Grant {
  const names = namesOf(withRole);
  return deny(
    "ERR_SELECTOR_EXTRAS",
    `IAMRoleSelectors ${sortedListOf(names)} have the role ${roleARN}, so a tag with {selector} of `
      + "--default-session-tags has no single value. Set this tag to the same value in the annotation session-tags of "
      + "these selectors, or use a role for each.",
    listed(names).first,
  );
}

/** Denies a request for resources that several selectors select. */
export function conflict(selecting: readonly EffectiveSelector[]): Grant {
  const names = namesOf(selecting);
  return deny("ERR_SELECTOR_CONFLICT", conflictSentence(names), listed(names).first);
}

/** Denies the role of a faulty selector. */
export function malformed(selector: JudgedSelector): Grant {
  const { name } = selector;
  const found = decisiveFaults(selector);
  const more = found.splice(LIMITS.faultsPerCheck.value).length;
  if (more > 0) found.push(`and ${countOf(more, "more fault")}`);
  const message = `IAMRoleSelector ${name} grants no role until its faults are corrected: ${found.join("; ")}.`;
  return deny("ERR_SELECTOR_MALFORMED", message, [name]);
}

/** Denies a request without labels, because the selectors in `undecided` depend on labels. */
export function labelsRequired(namespace: string, undecided: Iterable<EffectiveSelector>): Grant {
  const { first, text } = listed(namesOf(undecided));
  return deny(
    "ERR_SELECTOR_AMBIGUOUS",
    `In namespace ${namespace} the role depends on the labels of the resource, but the request has no labels. `
      + `IAMRoleSelectors that read labels: [${text}]. `
      + `Request /v1/credentials/namespaces/${namespace} with label=KEY=VALUE for each label of the resource.`,
    first,
  );
}

/** Denies the role of a selector to which no resource can resolve. */
export function unresolvable({ name }: EffectiveSelector, obstacle: Obstacle, query: RoleQuery): Grant {
  const rivals = obstacle.reason === "conflict" ? namesOf(obstacle.rivals) : [];
  return deny("ERR_SELECTOR_NOT_GRANTED", obstacleText(name, obstacle, query), [name, ...rivals]);
}

/** Returns sentences that state why no resource resolves to the selector, and the fix. */
function obstacleText(name: string, obstacle: Obstacle, query: RoleQuery): string {
  const selector = `IAMRoleSelector ${name}`;
  if (obstacle.reason === "kinds") {
    return `This sidecar serves ${describeKinds(query)}, but ${selector} selects none of these kinds.`;
  }
  if (obstacle.reason === "missing kind") {
    const { group, kind } = obstacle.kind;
    return `${selector} selects ${quote(`${kind}.${group}`)}, but the cluster has no CustomResourceDefinition of this `
      + "kind. Correct spec.resourceTypeSelector, or install the definition.";
  }
  if (query.scope !== null) {
    return `No resource in namespace ${query.scope}, the scope of this sidecar, resolves to ${selector}.`;
  }
  if (obstacle.reason === "conflict") {
    const rivals = namesOf(obstacle.rivals).join(", ");
    return `${selector} conflicts with others on each resource that it selects, for example with ${rivals} in `
      + `namespace ${obstacle.namespace}. Change them so that only one selects the resource.`;
  }
  return obstacle.reason === "labels"
    ? `${selector} selects no resource, because no labels satisfy spec.resourceLabelSelector. Correct this field.`
    : `${selector} selects no existing namespace. If the namespace is new, retry in a moment; otherwise, create it or `
      + "correct spec.namespaceSelector.";
}

/** Denies a request for kinds of which no object can exist. */
export function missingKinds(query: GrantScope): Grant {
  return deny(
    "ERR_SELECTOR_NOT_GRANTED",
    `The cluster has no CustomResourceDefinition of ${describeKinds(query)}. Request a kind that it has, or install `
      + "the definition.",
  );
}

/** The selectors that have a role, and why no resource resolves to the first one that selects a requested kind. */
interface WithRole {
  readonly withRole: ReadonlySet<EffectiveSelector>;
  readonly first: { readonly name: string; readonly obstacle: Obstacle } | null;
}

/** Denies a role that no selector grants. */
export function roleNotGranted(roleARN: string, { withRole, first }: WithRole, query: RoleQuery): Grant {
  const names = listed(namesOf(withRole));
  const others = withRole.size === 0 ? "No selector has this role" : `Selectors with this role: ${names.text}`;
  const fix = first === null || query.scope !== null
    ? "Create or change a selector with this spec.arn so that it selects the resources, or request another role."
    : obstacleText(first.name, first.obstacle, query);
  const message = `No IAMRoleSelector grants ${quote(roleARN)} to ${describeKinds(query)}${scopeSuffix(query)}. `
    + `${others}. ${fix}`;
  return deny("ERR_SELECTOR_NOT_GRANTED", message, names.first);
}
