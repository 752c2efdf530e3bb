import type { Inventory } from "../inventory/inventory.ts";
import { type Labels, type LabelSelector, satisfies } from "../kubernetes/label-selector.ts";
import { compareText, quote } from "../kubernetes/text.ts";
import { LIMITS } from "../limits.ts";
import { type Choice, choiceOf, refusalMessage, selectionOf } from "../resolution/selection.ts";
import { type EffectiveSelector, selectsNamespace } from "../selectors/effective.ts";
import { differingExtras, fillInGroups, tagsTooLong } from "../selectors/session-annotations.ts";
import type { TypeEntry } from "../selectors/type-entry.ts";
import {
  type Candidate, commonGrant, deny, describeKinds, type Grant, type GrantScope, listed, type NamespaceQuery,
  type RoleQuery, scopeSuffix, unknownNamespace,
} from "./grant.ts";
import { conflict, labelsRequired, malformed, namesOf, sessionsDiffer } from "./selector-denials.ts";
import { NamespaceSelectors } from "./namespace-selectors.ts";
import type { Steps } from "./steps.ts";
import { candidateTypes, describeType, selectedTypes } from "./types.ts";

/**
 * Grants the role of a namespace. If the request omits the kind or version, every kind and version must resolve to the
 * same role, even those that no selector names. If the request omits the labels, the role must not depend on labels.
 */
export function selectorGrantInNamespace(inventory: Inventory, query: NamespaceQuery, steps: Steps): Grant {
  const decision = new Decision(inventory, query, steps);
  const types: TypeEntry[] = [];
  for (const type of candidateTypes(inventory, query, (group) => decision.selectors.ofGroup(group).all)) {
    types.push(type);
    if (types.length > LIMITS.grantedTypes.value) return tooManyTypes(query);
  }
  return commonGrant(query.namespace, candidatesOf(types, decision));
}

function* candidatesOf(types: readonly TypeEntry[], decision: Decision): Iterable<Candidate> {
  const versioned = new Set(types.flatMap(({ group, kind, version }) => (version === "" ? [] : [`${kind}.${group}`])));
  for (const type of types) yield { name: describeType(type, versioned), grant: grantForType(type, decision) };
}

function tooManyTypes({ namespace }: NamespaceQuery): Grant {
  return deny(
    "ERR_SELECTOR_AMBIGUOUS",
    `The IAMRoleSelectors of namespace ${namespace} name more than ${LIMITS.grantedTypes.value} kinds and versions. `
      + `Request one kind with kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/${namespace}, `
      + "or set --kind of the sidecar.",
  );
}

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();

/** The state of one decision on the role of a namespace. */
class Decision {
  readonly query: NamespaceQuery;
  readonly steps: Steps;
  readonly selectors: NamespaceSelectors;
  readonly inventory: Inventory;
  /**
   * The selector that the annotation `use-selector` of the namespace names; null if the annotation is missing or has no
   * effect.
   */
  readonly choice: Choice | null;
  readonly #grants = new Map<EffectiveSelector, Grant>();

  constructor(inventory: Inventory, query: NamespaceQuery, steps: Steps) {
    this.inventory = inventory;
    this.query = query;
    this.choice = choiceOf(inventory, { namespace: query.namespace, annotations: NO_ANNOTATIONS });
    this.steps = steps;
    this.selectors = new NamespaceSelectors(inventory, query.namespace, steps);
  }

  /** Grants the role of a selector. Caches the grant, which is the same for each type that the selector selects. */
  grantOf(selector: EffectiveSelector): Grant {
    const faulty = this.inventory.selectors.faulty.get(selector.name);
    const grant = this.#grants.get(selector)
      ?? (faulty === undefined ? role(this.inventory, selector, this.query, this.steps) : malformed(faulty));
    this.#grants.set(selector, grant);
    return grant;
  }
}

/**
 * Grants the role of a selector. If the query has a scope, denies the role unless a resource in the namespace of the
 * scope can resolve to the selector.
 */
export function selectorGrantByName(inventory: Inventory, name: string, query: RoleQuery, steps: Steps): Grant {
  const faulty = inventory.selectors.faulty.get(name) ?? inventory.selectors.malformed.get(name);
  if (faulty !== undefined) return malformed(faulty);
  const selector = inventory.selectors.get(name);
  if (selector === undefined) {
    return deny(
      "ERR_SELECTOR_UNKNOWN",
      `IAMRoleSelector ${quote(name)} does not exist. Correct the name, or create the selector.`,
    );
  }
  if (!selectsAnyType(inventory, selector, query, steps)) {
    const message = `This sidecar serves ${describeKinds(query)}, `
      + `but IAMRoleSelector ${name} selects none of these kinds.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message, [name]);
  }
  const { scope } = query;
  if (scope === null) return role(inventory, selector, query, steps);
  const unknown = unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  const search = { inventory, query, steps, selectors: new NamespaceSelectors(inventory, scope, steps) };
  if (resolvesInScope(selector, search, scope)) return role(inventory, selector, query, steps);
  const message = `No resource in namespace ${scope}, the scope of this sidecar, resolves to IAMRoleSelector ${name}.`;
  return deny("ERR_SELECTOR_NOT_GRANTED", message, [name]);
}

/**
 * Grants a role by its ARN. If several selectors grant the role, the grant names the selector whose name sorts first,
 * so that the result is deterministic.
 */
export function selectorGrantOfRole(inventory: Inventory, roleARN: string, query: RoleQuery, steps: Steps): Grant {
  const { scope } = query;
  const unknown = scope === null ? null : unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  const withRole = inventory.selectors.ofRole(roleARN);
  const search = { inventory, query, steps, selectors: new NamespaceSelectors(inventory, scope ?? "", steps) };
  const granting = firstByName(withRole, (selector) => grants(selector, search));
  if (granting !== null) return role(inventory, granting, query, steps);
  const faulty = firstByName(inventory.selectors.faultyOfRole(roleARN), () => true);
  return faulty === null ? notGranted(roleARN, withRole, query) : malformed(faulty);
}

/** Returns the matching item whose name sorts first. */
function firstByName<Named extends { readonly name: string }>(
  items: Iterable<Named>, matches: (item: Named) => boolean,
): Named | null {
  let first: Named | null = null;
  for (const item of items) {
    const isBefore = first === null || compareText(item.name, first.name) < 0;
    if (isBefore && matches(item)) first = item;
  }
  return first;
}

/** A search for a selector that grants a role. */
interface Search {
  readonly inventory: Inventory;
  readonly query: RoleQuery;
  readonly steps: Steps;
  /** The selectors that can select resources in the namespace of the scope. */
  readonly selectors: NamespaceSelectors;
}

function grants(selector: EffectiveSelector, search: Search): boolean {
  const { inventory, query, steps } = search;
  steps.take();
  if (!selector.grantable) return false;
  if (query.scope !== null) return resolvesInScope(selector, search, query.scope);
  return selectsAnyType(inventory, selector, query, steps);
}

function selectsAnyType(
  inventory: Inventory, selector: EffectiveSelector, scope: GrantScope, steps: Steps,
): boolean {
  for (const _ of selectedTypes(inventory, selector, scope, steps)) return true;
  return false;
}

function notGranted(roleARN: string, withRole: ReadonlySet<EffectiveSelector>, query: RoleQuery): Grant {
  const { first, text } = listed(namesOf(withRole));
  const others = first.length === 0 ? "No selector has this role" : `Selectors with this role: ${text}`;
  return deny(
    "ERR_SELECTOR_NOT_GRANTED",
    `No IAMRoleSelector grants ${quote(roleARN)} to ${describeKinds(query)}${scopeSuffix(query)}. ${others}. `
      + "Create or change a selector with this spec.arn so that it selects the resources, or request another role.",
    first,
  );
}

function grantForType(type: TypeEntry, decision: Decision): Grant {
  const { query } = decision;
  const ofGroup = decision.selectors.ofGroup(type.group);
  const selecting = [...ofGroup.selecting(type, query.labels)];
  if (decision.choice !== null) return grantOfChoice(decision.choice, { type, selecting }, decision);
  // If two selectors match regardless of labels, they conflict. Further selectors do not change this result.
  const [undecided] = query.labels === null && selecting.length < 2 ? ofGroup.readingLabels(type) : [];
  if (undecided !== undefined) return labelsRequired(query.namespace, ofGroup.readingLabels(type));
  if (selecting.length > 1) return conflict(selecting);
  const [only] = selecting;
  return only === undefined ? unmatched(query) : decision.grantOf(only);
}

/**
 * Grants the role of the selector that the annotation `use-selector` of the namespace names. A resource can have the
 * annotation itself, but a request does not contain the annotations of a resource.
 */
function grantOfChoice(
  choice: Choice,
  { type, selecting }: { readonly type: TypeEntry; readonly selecting: readonly EffectiveSelector[] },
  decision: Decision,
): Grant {
  const { query, inventory, selectors } = decision;
  const { outcome, selectors: [chosen] } = selectionOf(selecting, choice);
  if (outcome === "selected" && chosen !== undefined) return decision.grantOf(chosen);
  for (const selector of query.labels === null ? selectors.ofGroup(type.group).readingLabels(type) : []) {
    if (selector.name === choice.name) return labelsRequired(query.namespace, [selector]);
  }
  return deny("ERR_SELECTOR_CHOICE", refusalMessage(inventory, choice, selecting), listed(namesOf(selecting)).first);
}

function unmatched(query: NamespaceQuery): Grant {
  if (query.unmatched === "base") return { verdict: "base" };
  return deny(
    "ERR_SELECTOR_UNMATCHED",
    `No IAMRoleSelector selects ${describeKinds(query)} in namespace ${query.namespace}, and the sidecar runs with `
      + "--unmatched deny.",
  );
}

/**
 * Whether a resource in the namespace can resolve to the selector. The resource has a requested type, and only the
 * labels that the selector requires. No other selector may select this resource, except with `--runtime extended`: the
 * annotation `use-selector` of the resource can then name the selector.
 */
function resolvesInScope(
  selector: EffectiveSelector, { inventory, query, steps, selectors }: Search, namespace: string,
): boolean {
  const labels = selector.resourceLabels === null ? NO_LABELS : minimalLabels(selector.resourceLabels);
  const canSelect = selectsNamespace(selector, namespace, inventory.namespaces.labelsOf(namespace))
    && (selector.resourceLabels === null || satisfies(labels, selector.resourceLabels));
  if (!canSelect) return false;
  for (const type of selectedTypes(inventory, selector, query, steps)) {
    const [, other] = selectors.ofGroup(type.group).selecting(type, labels);
    if (other === undefined || inventory.runtime === "extended") return true;
  }
  return false;
}

const NO_LABELS: Labels = new Map();

/**
 * Returns the labels that the label selector requires. For an expression with the operator In, uses the first value.
 * The labels may violate another requirement of the label selector, such as NotIn.
 */
function minimalLabels({ matchLabels, matchExpressions }: LabelSelector): Labels {
  const labels = new Map(matchLabels);
  for (const { key, operator, values } of matchExpressions) {
    if ((operator === "In" || operator === "Exists") && !labels.has(key)) labels.set(key, values[0] ?? "");
  }
  return labels;
}

/**
 * Grants the role of a selector. Denies the role if its selectors have different session settings, because an
 * AssumeRole request names no selector.
 */
function role(inventory: Inventory, selector: EffectiveSelector, { groups }: GrantScope, steps: Steps): Grant {
  const { name, roleARN } = selector;
  const differing = new Set<string>();
  // All selectors in one set have equal session settings.
  for (const [other = selector] of inventory.selectors.sessionsOfRole(roleARN)) {
    steps.take();
    for (const annotation of differingExtras(selector.extras, other.extras)) differing.add(annotation);
  }
  if (differing.size > 0) return sessionsDiffer(roleARN, inventory.selectors.ofRole(roleARN), differing);
  const extras = fillInGroups(selector.extras, groups.filter((group) => coversGroup(selector, group)));
  const [tooLong] = tagsTooLong(extras);
  if (tooLong === undefined) return { verdict: "role", roleARN, selectors: [name], extras, grantedBy: selector };
  const message = `IAMRoleSelector ${name} sets the session tag ${quote(tooLong)}, `
    + "which is too long for STS if {group} is replaced by the groups of this sidecar. Remove {group} from the tag.";
  return deny("ERR_SELECTOR_EXTRAS", message, [name]);
}

function coversGroup({ types }: EffectiveSelector, group: string): boolean {
  return types === null || types.coversGroup(group);
}
