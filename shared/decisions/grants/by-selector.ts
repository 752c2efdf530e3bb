import type { Inventory } from "../inventory/inventory.ts";
import { formatFieldPath } from "../kubernetes/field-path.ts";
import { type Labels, type LabelSelector, labelsSatisfy } from "../kubernetes/label-selector.ts";
import { compareText, listOf, quote } from "../kubernetes/text.ts";
import type { DecodedSelector } from "../selectors/decode.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import { differingExtras, fillInGroups, shortName, tagsTooLong } from "../selectors/session-annotations.ts";
import { entryHolds, type TypeEntry } from "../selectors/type-entry.ts";
import {
  type Answer, commonGrant, denied, describeKinds, type Grant, type GrantScope, inNamespaceScope, type NamespaceQuery,
  type RoleQuery, unknownNamespace,
} from "./grant.ts";

/**
 * Where the kind or its version is open, the answer must be the same for every one that a selector names and for one that none
 * names; where the labels are open, no label may decide.
 */
export function selectorGrantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  return commonGrant(query.namespace, answersOf(inventory, query));
}

function* answersOf(inventory: Inventory, query: NamespaceQuery): Iterable<Answer> {
  const types = typesInQuestion(inventory, query, (group) => selectorsFor(inventory, query.namespace, group));
  const versioned = new Set(types.flatMap(({ group, kind, version }) => (version === "" ? [] : [`${kind}.${group}`])));
  for (const type of types) yield { what: describeType(type, versioned), grant: grantForType(inventory, type, query) };
}

/** `scope`: only if the selector alone is selected there, for a resource that carries just the labels which it wants. */
export function selectorGrantByName(inventory: Inventory, name: string, query: RoleQuery): Grant {
  const faulty = inventory.faulty.get(name) ?? inventory.malformed.get(name);
  if (faulty !== undefined) return malformed(faulty);
  const selector = inventory.selectors.get(name);
  if (selector === undefined) {
    return denied("ERR_SELECTOR_UNKNOWN", `There is no IAMRoleSelector ${quote(name)}. Correct the name, or create it.`);
  }
  const types = typesSelected(inventory, selector, query);
  if (types.length === 0) {
    return denied("ERR_SELECTOR_NOT_GRANTED", `IAMRoleSelector ${name} selects no kind of ${describeKinds(query)}, which is what this sidecar grants for.`, [name]);
  }
  const { scope } = query;
  if (scope === null) return role(inventory, selector, query);
  const unknown = unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  return types.some((type) => isSelectedAlone(inventory, selector, type, scope))
    ? role(inventory, selector, query)
    : denied("ERR_SELECTOR_NOT_GRANTED", `IAMRoleSelector ${name} is not what resolves in namespace ${scope}, the scope of this sidecar.`, [name]);
}

/** Of several that grant it the first by name, so that one asker always has the same. */
export function selectorGrantOfRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  const unknown = query.scope === null ? null : unknownNamespace(inventory, query.scope);
  if (unknown !== null) return unknown;
  const having = inventory.selectorsOfRole(roleARN);
  const granting = firstByName(having, (selector) => selector.grantable && grants(inventory, selector, query));
  if (granting !== null) return role(inventory, granting, query);
  const faulty = firstByName(inventory.faultyOfRole(roleARN), () => true);
  return faulty === null ? noneGrants(roleARN, having, query) : malformed(faulty);
}

/** Looks no closer at one that comes after the first which counts. */
function firstByName<Named extends { readonly name: string }>(all: Iterable<Named>, counts: (one: Named) => boolean): Named | null {
  let first: Named | null = null;
  for (const one of all) if ((first === null || compareText(one.name, first.name) < 0) && counts(one)) first = one;
  return first;
}

function grants(inventory: Inventory, selector: EffectiveSelector, query: RoleQuery): boolean {
  const { scope } = query;
  return typesSelected(inventory, selector, query).some((type) => scope === null || isSelectedAlone(inventory, selector, type, scope));
}

function noneGrants(roleARN: string, having: ReadonlySet<EffectiveSelector>, query: RoleQuery): Grant {
  const names = Array.from(having, ({ name }) => name).toSorted(compareText);
  const which = names.length === 0 ? "There is none with that role" : `Those with that role: ${names.join(", ")}`;
  return denied(
    "ERR_SELECTOR_NOT_GRANTED",
    `No IAMRoleSelector grants ${quote(roleARN)} to ${describeKinds(query)}${inNamespaceScope(query)}. ${which}. Have one with this spec.arn select what the role is for, or ask for another role.`,
    names,
  );
}

/** Each (version, kind) that could be decided differently from the others. "" stands for one that no selector names. */
function typesInQuestion(inventory: Inventory, { groups, kinds }: GrantScope, selectorsOf: (group: string) => readonly EffectiveSelector[]): TypeEntry[] {
  return groups.flatMap((group) => {
    const selectors = selectorsOf(group);
    if (kinds.length === 0) return typesOf(inventory, group, selectors);
    const asked = kinds.filter((kind) => kind.group === null || kind.group === group);
    return asked.flatMap(({ kind, version }) => versionsOf(inventory, { group, kind, version }, selectors).map((one) => ({ group, kind, version: one })));
  });
}

function typesSelected(inventory: Inventory, selector: EffectiveSelector, asker: GrantScope): TypeEntry[] {
  return typesInQuestion(inventory, asker, () => [selector]).filter((type) => holdsFor(selector, type));
}

function typesOf(inventory: Inventory, group: string, selectors: readonly EffectiveSelector[]): TypeEntry[] {
  const kinds = new Set(["", ...entriesFor(group, selectors).map((entry) => entry.kind)]);
  return [...kinds].flatMap((kind) => versionsOf(inventory, { group, kind, version: null }, selectors).map((version) => ({ group, kind, version })));
}

/** Controllers compare the version that is stored; where it is not known it may be any. */
function versionsOf(
  inventory: Inventory,
  { group, kind, version }: { readonly group: string; readonly kind: string; readonly version: string | null },
  selectors: readonly EffectiveSelector[],
): string[] {
  const decided = inventory.kindVersions(group, kind)?.storage ?? version;
  return decided === null ? [...new Set(["", ...entriesFor(group, selectors).map((entry) => entry.version)])] : [decided];
}

function entriesFor(group: string, selectors: readonly EffectiveSelector[]): TypeEntry[] {
  return selectors.flatMap(({ types }) => types ?? []).filter((entry) => entry.group === "" || entry.group === group);
}

function selectorsFor(inventory: Inventory, namespace: string, group: string): EffectiveSelector[] {
  const selectors = [...inventory.selectorsOfNamespace(namespace)];
  for (const some of inventory.selectorsOfEveryNamespace(group)) selectors.push(...some);
  return selectors;
}

function holdsFor(selector: EffectiveSelector, type: TypeEntry): boolean {
  return selector.types === null || selector.types.some((entry) => entryHolds(entry, type));
}

function grantForType(inventory: Inventory, type: TypeEntry, query: NamespaceQuery): Grant {
  const { namespace, labels } = query;
  const candidates = selectorsFor(inventory, namespace, type.group).filter((selector) => holdsFor(selector, type));
  const selecting = candidates.filter(({ resourceLabels }) => resourceLabels === null || (labels !== null && labelsSatisfy(labels, resourceLabels)));
  const open = labels === null ? candidates.filter(({ resourceLabels }) => resourceLabels !== null) : [];
  // Two that select whatever the labels are stay in conflict, whatever a third one does.
  if (open.length > 0 && selecting.length < 2) return labelsDecide(namespace, open);
  if (selecting.length > 1) return conflict(selecting);
  const [only] = selecting;
  if (only === undefined) return unmatched(query);
  const faulty = inventory.faulty.get(only.name);
  return faulty === undefined ? role(inventory, only, query) : malformed(faulty);
}

function unmatched(query: NamespaceQuery): Grant {
  if (query.unmatched === "base") return { verdict: "base" };
  return denied(
    "ERR_SELECTOR_UNMATCHED",
    `No IAMRoleSelector selects ${describeKinds(query)} in namespace ${query.namespace}, and the base identity is not given instead (--unmatched deny).`,
  );
}

function isSelectedAlone(inventory: Inventory, selector: EffectiveSelector, type: TypeEntry, namespace: string): boolean {
  const labels = selector.resourceLabels === null ? new Map<string, string>() : exampleOf(selector.resourceLabels);
  const selecting = selectorsFor(inventory, namespace, type.group).filter(
    (one) => holdsFor(one, type) && (one.resourceLabels === null || labelsSatisfy(labels, one.resourceLabels)),
  );
  return selecting.length === 1 && selecting[0] === selector;
}

/** The fewest labels that satisfy a selector which can be satisfied at all. */
function exampleOf({ matchLabels, matchExpressions }: LabelSelector): Labels {
  const labels = new Map(matchLabels);
  for (const { key, operator, values } of matchExpressions) {
    if ((operator === "In" || operator === "Exists") && !labels.has(key)) labels.set(key, values[0] ?? "");
  }
  return labels;
}

/** STS is asked for the role alone, by whichever selector: where they ask for different sessions of it, none of them is served. */
function role(inventory: Inventory, selector: EffectiveSelector, { groups }: GrantScope): Grant {
  const { name, roleARN } = selector;
  const having = inventory.selectorsOfRole(roleARN);
  const differing = new Set<string>();
  for (const other of having) for (const annotation of differingExtras(selector.extras, other.extras)) differing.add(annotation);
  if (differing.size > 0) return extrasDiffer(roleARN, having, differing);
  const extras = fillInGroups(selector.extras, groups.filter((group) => covers(selector, group)));
  const [tooLong] = tagsTooLong(extras);
  if (tooLong === undefined) return { verdict: "role", roleARN, selectors: [name], extras, grantedBy: selector };
  const message = `IAMRoleSelector ${name} asks for the session tag ${quote(tooLong)}, which with the groups of this sidecar filled in is longer than STS takes. Leave {group} out of it.`;
  return denied("ERR_SELECTOR_EXTRAS", message, [name]);
}

function covers({ types }: EffectiveSelector, group: string): boolean {
  return types === null || types.some((entry) => entry.group === "" || entry.group === group);
}

function extrasDiffer(roleARN: string, having: ReadonlySet<EffectiveSelector>, differing: ReadonlySet<string>): Grant {
  const names = Array.from(having, ({ name }) => name).toSorted(compareText);
  return denied(
    "ERR_SELECTOR_EXTRAS",
    `IAMRoleSelectors ${listOf(names)} ask for different sessions of ${roleARN} (${[...differing].map(shortName).join(", ")}), so nothing is granted on them. Annotate them alike.`,
    names,
  );
}

function conflict(selecting: readonly EffectiveSelector[]): Grant {
  const names = selecting.map(({ name }) => name).toSorted(compareText);
  return denied("ERR_SELECTOR_CONFLICT", `Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [${names.join(", ")}]`, names);
}

function malformed({ name, faults }: DecodedSelector): Grant {
  const found = faults
    .filter(({ check, fault }) => (check.severity === "deny" && !check.waivable) || fault.dropsSelector === true)
    .map(({ check, fault }) => `${check.id} ${formatFieldPath(fault.path)}: ${fault.message}`);
  return denied("ERR_SELECTOR_MALFORMED", `Nothing is granted on IAMRoleSelector ${name} until it is mended: ${found.join("; ")}.`, [name]);
}

function labelsDecide(namespace: string, open: readonly EffectiveSelector[]): Grant {
  const names = open.map(({ name }) => name).toSorted(compareText);
  return denied(
    "ERR_SELECTOR_AMBIGUOUS",
    `In namespace ${namespace} the labels of the resource decide, and none were given. ` +
      `IAMRoleSelectors that look at them: [${names.join(", ")}]. Ask at /v1/credentials/namespaces/${namespace} with the resource's labels: label=KEY=VALUE for each.`,
    names,
  );
}

/** Without a version it is every other one, where the kind is among those with one, `KIND.GROUP`. */
function describeType({ group, version, kind }: TypeEntry, versioned: ReadonlySet<string>): string {
  const named = version === "" ? group : `${version}.${group}`;
  if (kind === "") return `any other kind of ${named}`;
  return `${version === "" && versioned.has(`${kind}.${group}`) ? "any other version of " : ""}${kind}.${named}`;
}
