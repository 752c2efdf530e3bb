import type { Inventory } from "../inventory/inventory.ts";
import { formatFieldPath } from "../kubernetes/field-path.ts";
import { type Labels, type LabelSelector, satisfies } from "../kubernetes/label-selector.ts";
import { compareText, countOf, listOf, quote } from "../kubernetes/text.ts";
import { LIMITS } from "../limits.ts";
import type { DecodedSelector } from "../selectors/decode.ts";
import { type EffectiveSelector, selectsNamespace } from "../selectors/effective.ts";
import { differingExtras, fillInGroups, shortName, tagsTooLong } from "../selectors/session-annotations.ts";
import type { TypeEntry } from "../selectors/type-entry.ts";
import {
  type Candidate, commonGrant, deny, describeKinds, type Grant, type GrantScope, type NamespaceQuery, type RoleQuery,
  scopeSuffix, unknownNamespace,
} from "./grant.ts";
import { candidateTypes, describeType, selectedTypes, SelectorsByKind } from "./types.ts";

/**
 * Grants the role of a namespace. If the request omits the kind or version, every kind and version must resolve to the
 * same role, even those that no selector names. If the request omits the labels, the role must not depend on labels.
 */
export function selectorGrantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  const selectors = new NamespaceSelectors(inventory, query);
  const types: TypeEntry[] = [];
  for (const type of candidateTypes(inventory, query, (group) => selectors.ofGroup(group).all)) {
    types.push(type);
    if (types.length > LIMITS.grantedTypes.value) return tooManyTypes(query);
  }
  return commonGrant(query.namespace, candidatesOf(inventory, types, selectors));
}

function* candidatesOf(
  inventory: Inventory, types: readonly TypeEntry[], selectors: NamespaceSelectors,
): Iterable<Candidate> {
  const versioned = new Set(types.flatMap(({ group, kind, version }) => (version === "" ? [] : [`${kind}.${group}`])));
  for (const type of types) {
    yield { name: describeType(type, versioned), grant: grantForType(inventory, type, selectors) };
  }
}

function tooManyTypes({ namespace }: NamespaceQuery): Grant {
  return deny(
    "ERR_SELECTOR_AMBIGUOUS",
    `The IAMRoleSelectors of namespace ${namespace} name more than ${LIMITS.grantedTypes.value} kinds and versions. `
      + `Request one kind with kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/${namespace}, `
      + "or set --kind of the sidecar.",
  );
}

/** The selectors of one group that select resources of a namespace and match the labels of the request. */
interface GroupSelectors {
  readonly all: readonly EffectiveSelector[];
  readonly selecting: SelectorsByKind;
  /** The selectors that read labels, if the labels of the request are unknown. */
  readonly undecided: SelectorsByKind;
}

/** The selectors of a namespace, which a request reads only once for each group. */
class NamespaceSelectors {
  readonly query: NamespaceQuery;
  readonly #inventory: Inventory;
  readonly #groups = new Map<string, GroupSelectors>();

  constructor(inventory: Inventory, query: NamespaceQuery) {
    this.#inventory = inventory;
    this.query = query;
  }

  ofGroup(group: string): GroupSelectors {
    const found = this.#groups.get(group) ?? this.#read(group);
    this.#groups.set(group, found);
    return found;
  }

  #read(group: string): GroupSelectors {
    const { labels, namespace } = this.query;
    const all = [...selectorsFor(this.#inventory, namespace, group)];
    const undecided = labels === null ? all.filter(({ resourceLabels }) => resourceLabels !== null) : [];
    return {
      all,
      selecting: new SelectorsByKind(group, all.filter((selector) => matchesLabels(selector, labels))),
      undecided: new SelectorsByKind(group, undecided),
    };
  }
}

/**
 * Grants the role of a selector. If the query has a scope, a resource in the namespace of the scope must be able to
 * resolve to the selector.
 */
export function selectorGrantByName(inventory: Inventory, name: string, query: RoleQuery): Grant {
  const faulty = inventory.selectors.faulty.get(name) ?? inventory.selectors.malformed.get(name);
  if (faulty !== undefined) return malformed(faulty);
  const selector = inventory.selectors.get(name);
  if (selector === undefined) {
    return deny(
      "ERR_SELECTOR_UNKNOWN",
      `IAMRoleSelector ${quote(name)} does not exist. Correct the name, or create it.`,
    );
  }
  if (!selectsAnyType(inventory, selector, query)) {
    const message = `This sidecar serves ${describeKinds(query)}, `
      + `but IAMRoleSelector ${name} selects none of these kinds.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message, [name]);
  }
  const { scope } = query;
  if (scope === null) return role(inventory, selector, query);
  const unknown = unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  if (resolvesInScope(inventory, selector, query, scope)) return role(inventory, selector, query);
  const message = `No resource in namespace ${scope}, the scope of this sidecar, resolves to IAMRoleSelector ${name}.`;
  return deny("ERR_SELECTOR_NOT_GRANTED", message, [name]);
}

/**
 * Grants a role by its ARN. If several selectors grant the role, the grant names the selector whose name sorts first,
 * so that the result is deterministic.
 */
export function selectorGrantOfRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  const unknown = query.scope === null ? null : unknownNamespace(inventory, query.scope);
  if (unknown !== null) return unknown;
  const withRole = inventory.selectors.ofRole(roleARN);
  const granting = firstByName(withRole, (selector) => selector.grantable && grants(inventory, selector, query));
  if (granting !== null) return role(inventory, granting, query);
  const faulty = firstByName(inventory.selectors.faultyOfRole(roleARN), () => true);
  return faulty === null ? notGranted(roleARN, withRole, query) : malformed(faulty);
}

/** Returns the matching item whose name sorts first. */
function firstByName<Named extends { readonly name: string }>(
  items: Iterable<Named>, matches: (item: Named) => boolean,
): Named | null {
  return [...items].toSorted((a, b) => compareText(a.name, b.name)).find(matches) ?? null;
}

function grants(inventory: Inventory, selector: EffectiveSelector, query: RoleQuery): boolean {
  const { scope } = query;
  if (scope !== null) return resolvesInScope(inventory, selector, query, scope);
  return selectsAnyType(inventory, selector, query);
}

function selectsAnyType(inventory: Inventory, selector: EffectiveSelector, scope: GrantScope): boolean {
  for (const _ of selectedTypes(inventory, selector, scope)) return true;
  return false;
}

function notGranted(roleARN: string, withRole: ReadonlySet<EffectiveSelector>, query: RoleQuery): Grant {
  const names = namesOf(withRole);
  const others = names.length === 0 ? "No selector has this role" : `Selectors with this role: ${names.join(", ")}`;
  return deny(
    "ERR_SELECTOR_NOT_GRANTED",
    `No IAMRoleSelector grants ${quote(roleARN)} to ${describeKinds(query)}${scopeSuffix(query)}. ${others}. `
      + "Create or change a selector with this spec.arn so that it selects the resources, or request another role.",
    names,
  );
}

function namesOf(selectors: Iterable<EffectiveSelector>): string[] {
  return Array.from(selectors, ({ name }) => name).toSorted(compareText);
}

function* selectorsFor(inventory: Inventory, namespace: string, group: string): Iterable<EffectiveSelector> {
  yield* inventory.selectors.inNamespace(namespace);
  for (const clusterWide of inventory.selectors.clusterWide(group)) yield* clusterWide;
}

function matchesLabels({ resourceLabels }: EffectiveSelector, labels: Labels | null): boolean {
  return resourceLabels === null || (labels !== null && satisfies(labels, resourceLabels));
}

function grantForType(inventory: Inventory, type: TypeEntry, selectors: NamespaceSelectors): Grant {
  const { query } = selectors;
  const selecting = selectors.ofGroup(type.group).selecting.matching(type);
  const undecided = selectors.ofGroup(type.group).undecided.matching(type);
  // If two selectors match regardless of labels, they conflict, and further selectors make no difference.
  if (undecided.length > 0 && selecting.length < 2) return labelsRequired(query.namespace, undecided);
  if (selecting.length > 1) return conflict(selecting);
  const [only] = selecting;
  if (only === undefined) return unmatched(query);
  const faulty = inventory.selectors.faulty.get(only.name);
  return faulty === undefined ? role(inventory, only, query) : malformed(faulty);
}

function unmatched(query: NamespaceQuery): Grant {
  if (query.unmatched === "base") return { verdict: "base" };
  return deny(
    "ERR_SELECTOR_UNMATCHED",
    `No IAMRoleSelector selects ${describeKinds(query)} in namespace ${query.namespace}, `
      + "and --unmatched deny denies the base identity.",
  );
}

/**
 * Whether the selector is the only one that selects a resource of some requested type in the namespace. The resource
 * has only the labels that the selector requires.
 */
function resolvesInScope(
  inventory: Inventory, selector: EffectiveSelector, query: GrantScope, namespace: string,
): boolean {
  const labels = selector.resourceLabels === null ? NO_LABELS : minimalLabels(selector.resourceLabels);
  const canSelect = selectsNamespace(selector, namespace, inventory.namespaces.labelsOf(namespace))
    && matchesLabels(selector, labels);
  if (!canSelect) return false;
  const selectors = new NamespaceSelectors(inventory, { ...query, namespace, labels, unmatched: "deny" });
  for (const type of selectedTypes(inventory, selector, query)) {
    if (selectors.ofGroup(type.group).selecting.matching(type).length === 1) return true;
  }
  return false;
}

const NO_LABELS: Labels = new Map();

/** Returns a minimal set of labels that satisfies the label selector, if such a set exists. */
function minimalLabels({ matchLabels, matchExpressions }: LabelSelector): Labels {
  const labels = new Map(matchLabels);
  for (const { key, operator, values } of matchExpressions) {
    if ((operator === "In" || operator === "Exists") && !labels.has(key)) labels.set(key, values[0] ?? "");
  }
  return labels;
}

/**
 * Grants the role of a selector. Denies the role if its selectors have different session settings, because a request
 * names only the role.
 */
function role(inventory: Inventory, selector: EffectiveSelector, { groups }: GrantScope): Grant {
  const { name, roleARN } = selector;
  const differing = new Set<string>();
  // The selectors of a set have equal session settings.
  for (const [other = selector] of inventory.selectors.sessionsOfRole(roleARN)) {
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

function sessionsDiffer(
  roleARN: string, withRole: ReadonlySet<EffectiveSelector>, differing: ReadonlySet<string>,
): Grant {
  const names = namesOf(withRole);
  const settings = [...differing].map(shortName).join(", ");
  return deny(
    "ERR_SELECTOR_EXTRAS",
    `IAMRoleSelectors ${listOf(names)} set different session settings for ${roleARN} (${settings}). `
      + "Set the same annotation values on these selectors.",
    names,
  );
}

function conflict(selecting: readonly EffectiveSelector[]): Grant {
  const names = namesOf(selecting);
  const message = `Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [${names.join(", ")}]`;
  return deny("ERR_SELECTOR_CONFLICT", message, names);
}

function malformed({ name, faults }: DecodedSelector): Grant {
  const found = faults
    .filter(({ check, fault }) => (check.severity === "deny" && !check.waivable) || fault.dropsSelector === true)
    .map(({ check, fault }) => `${check.id} ${formatFieldPath(fault.path)}: ${fault.message}`);
  const more = found.splice(LIMITS.faultsPerCheck.value).length;
  if (more > 0) found.push(`and ${countOf(more, "more fault")}`);
  const message = `IAMRoleSelector ${name} grants no role until its faults are corrected: ${found.join("; ")}.`;
  return deny("ERR_SELECTOR_MALFORMED", message, [name]);
}

function labelsRequired(namespace: string, undecided: readonly EffectiveSelector[]): Grant {
  const names = namesOf(undecided);
  return deny(
    "ERR_SELECTOR_AMBIGUOUS",
    `In namespace ${namespace} the role depends on the labels of the resource, but the request has no labels. `
      + `IAMRoleSelectors that read labels: [${names.join(", ")}]. `
      + `Request /v1/credentials/namespaces/${namespace} with label=KEY=VALUE for each label of the resource.`,
    names,
  );
}
