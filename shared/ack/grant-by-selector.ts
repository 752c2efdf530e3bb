import { SELECTORS } from "./selectors.ts";
import type { Granter, Inventory } from "../core/inventory.ts";
import { compareText, quote } from "../formats/text.ts";
import { LIMITS } from "../core/limits.ts";
import { type Choice, choiceOf, refusalMessage, selectionOf } from "./selection.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { differingExtras } from "../core/session-annotations.ts";
import type { TypeEntry } from "../core/resource-types.ts";
import {
  type Candidate, commonGrant, deny, describeKinds, type Grant, type GrantScope, listed, type NamespaceQuery,
  type RoleQuery, unknownNamespace,
} from "../core/grant.ts";
import {
  conflict, labelsRequired, malformed, missingKinds, namesDiffer, namesOf, roleNotGranted, sessionsDiffer, unresolvable,
} from "./selector-denials.ts";
import { grantWithSession, isNamedByDefault, onlyNamespace } from "../core/grant-session.ts";
import { NamespaceSelectors } from "./namespace-selectors.ts";
import { ObstacleSearch } from "./grant-obstacles.ts";
import { candidateTypes, describeType, lacksRequestedKinds, type Steps, withinSteps } from "./grant-types.ts";

/**
 * Grants the role of a namespace. If the request omits the kind or version, every kind and version must resolve to the
 * same role, even those that no selector names. If the request omits the labels, the role must not depend on labels.
 */
function selectorGrantInNamespace(inventory: Inventory, query: NamespaceQuery, steps: Steps): Grant {
  if (lacksRequestedKinds(inventory, query)) return missingKinds(query);
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
    const faulty = this.inventory.of(SELECTORS).faulty.get(selector.name);
    const grant = this.#grants.get(selector)
      ?? (faulty === undefined ? this.#role(selector) : malformed(faulty));
    this.#grants.set(selector, grant);
    return grant;
  }

  #role(selector: EffectiveSelector): Grant {
    return role(this.inventory, selector, { scope: this.query, namespace: this.query.namespace }, this.steps);
  }
}

/**
 * Grants the role of a selector if a resource in an existing namespace can resolve to the selector. If the query has a
 * scope, the resource must be in the namespace of the scope.
 */
function selectorGrantByName(inventory: Inventory, name: string, query: RoleQuery, steps: Steps): Grant {
  const faulty = inventory.of(SELECTORS).faulty.get(name);
  if (faulty !== undefined) return malformed(faulty);
  const selector = inventory.of(SELECTORS).get(name);
  if (selector === undefined) {
    return deny(
      "ERR_SELECTOR_UNKNOWN",
      `IAMRoleSelector ${quote(name)} does not exist. Correct the name, or create the selector.`,
    );
  }
  const unknown = query.scope === null ? null : unknownNamespace(inventory, query.scope);
  if (unknown !== null) return unknown;
  const obstacle = new ObstacleSearch(inventory, query, steps).obstacleOf(selector);
  if (obstacle !== null) return unresolvable(selector, obstacle, query);
  return role(inventory, selector, { scope: query, namespace: query.scope ?? onlyNamespace(selector) }, steps);
}

/**
 * Grants a role by its ARN. If several selectors grant the role, the grant names the selector whose name sorts first,
 * so that the result is deterministic.
 */
export function selectorGrantOfRole(inventory: Inventory, roleARN: string, query: RoleQuery, steps: Steps): Grant {
  const { scope } = query;
  const unknown = scope === null ? null : unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  const withRole = inventory.of(SELECTORS).ofRole(roleARN);
  const search = new ObstacleSearch(inventory, query, steps);
  const granting = firstByName(withRole, (selector) => selector.grantable && search.obstacleOf(selector) === null);
  if (granting !== null) {
    const only = withRole.size === 1 ? onlyNamespace(granting) : null;
    return role(inventory, granting, { scope: query, namespace: scope ?? only }, steps);
  }
  const faulty = firstByName(inventory.of(SELECTORS).faultyOfRole(roleARN), () => true);
  if (faulty !== null) return malformed(faulty);
  const ofKinds = firstByName(withRole, (selector) => search.obstacleOf(selector)?.reason !== "kinds");
  const obstacle = ofKinds === null ? null : search.obstacleOf(ofKinds);
  return roleNotGranted(roleARN, { withRole, first: obstacle && ofKinds && { name: ofKinds.name, obstacle } }, query);
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

interface Requested {
  readonly scope: GrantScope;
  /** The namespace of the resource; null if the request does not determine it. */
  readonly namespace: string | null;
}

/**
 * Grants the role of a selector. Denies the role if its selectors have different session settings, because an
 * AssumeRole request names no selector.
 */
function role(inventory: Inventory, selector: EffectiveSelector, requested: Requested, steps: Steps): Grant {
  const { roleARN } = selector;
  const { scope, namespace } = requested;
  const withRole = inventory.of(SELECTORS).ofRole(roleARN);
  const differing = new Set<string>();
  // All selectors in one set have equal session settings.
  for (const [other = selector] of inventory.of(SELECTORS).sessionsOfRole(roleARN)) {
    steps.take();
    for (const annotation of differingExtras(selector.extras, other.extras)) differing.add(annotation);
  }
  if (differing.size > 0) return sessionsDiffer(roleARN, withRole, differing);
  if (withRole.size > 1 && isNamedByDefault(selector, scope)) return namesDiffer(roleARN, withRole);
  return grantWithSession(selector, scope, namespace);
}

/** Grants the roles of IAMRoleSelectors. */
export const SELECTOR_GRANTS: Granter = {
  mode: "selectors",
  inNamespace: (inventory, query) => withinSteps((steps) => selectorGrantInNamespace(inventory, query, steps)),
  ofSelector: (inventory, name, query) => withinSteps((steps) => selectorGrantByName(inventory, name, query, steps)),
  ofRole: (inventory, roleARN, query) => withinSteps((steps) => selectorGrantOfRole(inventory, roleARN, query, steps)),
};
