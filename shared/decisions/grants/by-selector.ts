import type { Inventory } from "../inventory/inventory.ts";
import { formatFieldPath } from "../kubernetes/field-path.ts";
import { type Labels, type LabelSelector, satisfies } from "../kubernetes/label-selector.ts";
import { compareText, listOf, quote } from "../kubernetes/text.ts";
import type { DecodedSelector } from "../selectors/decode.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import { differingExtras, fillInGroups, shortName, tagsTooLong } from "../selectors/session-annotations.ts";
import { entryMatches, type TypeEntry } from "../selectors/type-entry.ts";
import {
  type Candidate, commonGrant, deny, describeKinds, type Grant, type GrantScope, type NamespaceQuery, type RoleQuery,
  scopeSuffix, unknownNamespace,
} from "./grant.ts";

/**
 * Grants the role of a namespace. If the request omits the kind or version, every kind and version must resolve to the
 * same role, even those that no selector names. If the request omits the labels, the role must not depend on labels.
 */
export function selectorGrantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  return commonGrant(query.namespace, candidatesOf(inventory, query));
}

function* candidatesOf(inventory: Inventory, query: NamespaceQuery): Iterable<Candidate> {
  const types = candidateTypes(inventory, query, (group) => selectorsFor(inventory, query.namespace, group));
  const versioned = new Set(types.flatMap(({ group, kind, version }) => (version === "" ? [] : [`${kind}.${group}`])));
  for (const type of types) yield { name: describeType(type, versioned), grant: grantForType(inventory, type, query) };
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
  const types = selectedTypes(inventory, selector, query);
  if (types.length === 0) {
    const message = `This sidecar serves ${describeKinds(query)}, `
      + `but IAMRoleSelector ${name} selects none of these kinds.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message, [name]);
  }
  const { scope } = query;
  if (scope === null) return role(inventory, selector, query);
  const unknown = unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  if (types.some((type) => isOnlySelector(inventory, selector, type, scope))) return role(inventory, selector, query);
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

/**
 * Returns the matching item whose name sorts first. Tests an item only if its name sorts before the best match so far.
 */
function firstByName<Named extends { readonly name: string }>(
  items: Iterable<Named>, matches: (item: Named) => boolean,
): Named | null {
  let first: Named | null = null;
  for (const item of items) {
    if ((first === null || compareText(item.name, first.name) < 0) && matches(item)) first = item;
  }
  return first;
}

function grants(inventory: Inventory, selector: EffectiveSelector, query: RoleQuery): boolean {
  const { scope } = query;
  return selectedTypes(inventory, selector, query)
    .some((type) => scope === null || isOnlySelector(inventory, selector, type, scope));
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

/**
 * Returns the requested types that can resolve to different roles. "" stands for a kind or version that no selector
 * names.
 */
function candidateTypes(
  inventory: Inventory, { groups, kinds }: GrantScope, selectorsOf: (group: string) => readonly EffectiveSelector[],
): TypeEntry[] {
  return groups.flatMap((group) => {
    const selectors = selectorsOf(group);
    if (kinds.length === 0) return typesOf(inventory, group, selectors);
    const requested = kinds.filter((kind) => kind.group === null || kind.group === group);
    return requested.flatMap(({ kind, version }) => withVersions(inventory, { group, kind, version }, selectors));
  });
}

function selectedTypes(inventory: Inventory, selector: EffectiveSelector, scope: GrantScope): TypeEntry[] {
  return candidateTypes(inventory, scope, () => [selector]).filter((type) => matchesType(selector, type));
}

function typesOf(inventory: Inventory, group: string, selectors: readonly EffectiveSelector[]): TypeEntry[] {
  const kinds = new Set(["", ...entriesFor(group, selectors).map((entry) => entry.kind)]);
  return [...kinds].flatMap((kind) => withVersions(inventory, { group, kind, version: null }, selectors));
}

/**
 * Returns the kind in its storage version, which controllers compare. If no version is known, returns the kind in each
 * candidate version.
 */
function withVersions(
  inventory: Inventory,
  { group, kind, version }: { readonly group: string; readonly kind: string; readonly version: string | null },
  selectors: readonly EffectiveSelector[],
): TypeEntry[] {
  const known = inventory.kinds.versions(group, kind)?.storage ?? version;
  const versions = known === null ? ["", ...entriesFor(group, selectors).map((entry) => entry.version)] : [known];
  return Array.from(new Set(versions), (candidate) => ({ group, kind, version: candidate }));
}

function entriesFor(group: string, selectors: readonly EffectiveSelector[]): TypeEntry[] {
  return selectors.flatMap(({ types }) => types ?? []).filter((entry) => entry.group === "" || entry.group === group);
}

function selectorsFor(inventory: Inventory, namespace: string, group: string): EffectiveSelector[] {
  const selectors = [...inventory.selectors.inNamespace(namespace)];
  for (const clusterWide of inventory.selectors.clusterWide(group)) selectors.push(...clusterWide);
  return selectors;
}

function matchesType(selector: EffectiveSelector, type: TypeEntry): boolean {
  return selector.types === null || selector.types.some((entry) => entryMatches(entry, type));
}

function matchesLabels({ resourceLabels }: EffectiveSelector, labels: Labels | null): boolean {
  return resourceLabels === null || (labels !== null && satisfies(labels, resourceLabels));
}

function grantForType(inventory: Inventory, type: TypeEntry, query: NamespaceQuery): Grant {
  const { namespace, labels } = query;
  const candidates = selectorsFor(inventory, namespace, type.group).filter((selector) => matchesType(selector, type));
  const selecting = candidates.filter((selector) => matchesLabels(selector, labels));
  const undecided = labels === null ? candidates.filter(({ resourceLabels }) => resourceLabels !== null) : [];
  // If two selectors match regardless of labels, they conflict, and further selectors make no difference.
  if (undecided.length > 0 && selecting.length < 2) return labelsRequired(namespace, undecided);
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
 * Whether the selector is the only one that selects a resource of the type in the namespace. The resource has only the
 * labels that the selector requires.
 */
function isOnlySelector(
  inventory: Inventory, selector: EffectiveSelector, type: TypeEntry, namespace: string,
): boolean {
  const labels = selector.resourceLabels === null ? NO_LABELS : minimalLabels(selector.resourceLabels);
  const selecting = selectorsFor(inventory, namespace, type.group)
    .filter((other) => matchesType(other, type) && matchesLabels(other, labels));
  return selecting.length === 1 && selecting[0] === selector;
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
  const withRole = inventory.selectors.ofRole(roleARN);
  const differing = new Set<string>();
  for (const other of withRole) {
    for (const annotation of differingExtras(selector.extras, other.extras)) differing.add(annotation);
  }
  if (differing.size > 0) return sessionsDiffer(roleARN, withRole, differing);
  const extras = fillInGroups(selector.extras, groups.filter((group) => coversGroup(selector, group)));
  const [tooLong] = tagsTooLong(extras);
  if (tooLong === undefined) return { verdict: "role", roleARN, selectors: [name], extras, grantedBy: selector };
  const message = `IAMRoleSelector ${name} sets the session tag ${quote(tooLong)}, `
    + "which is too long for STS if {group} is replaced by the groups of this sidecar. Remove {group} from the tag.";
  return deny("ERR_SELECTOR_EXTRAS", message, [name]);
}

function coversGroup({ types }: EffectiveSelector, group: string): boolean {
  return types === null || types.some((entry) => entry.group === "" || entry.group === group);
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

/**
 * Describes a type in a message. Describes a kind without a version as `any other version` if `versioned` contains
 * `KIND.GROUP`.
 */
function describeType({ group, version, kind }: TypeEntry, versioned: ReadonlySet<string>): string {
  const qualified = version === "" ? group : `${version}.${group}`;
  if (kind === "") return `any other kind of ${qualified}`;
  const prefix = version === "" && versioned.has(`${kind}.${group}`) ? "any other version of " : "";
  return `${prefix}${kind}.${qualified}`;
}
