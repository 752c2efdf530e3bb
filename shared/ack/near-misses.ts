import type { ResourceQuery } from "../core/ack-resource.ts";
import { RESOLUTION } from "../core/annotation-keys.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Inventory } from "../core/inventory.ts";
import type { Edit, Repair } from "../core/repair.ts";
import { accountOfARN, parseRoleARN } from "../formats/arn.ts";
import { subdomainFaults } from "../formats/names.ts";
import { printable, quote } from "../formats/text.ts";
import { MISSES, type Misspelling } from "./miss-index.ts";
import { type ComparedResource, conditionsOf, selectorName } from "./selector-conditions.ts";
import { type JudgedSelector, repairsOf } from "./selector.ts";
import { selectorFor, stillItsRole } from "./role-repairs.ts";
import { SELECTORS } from "./selectors.ts";

/** A selector that probably should select a resource, and does not. */
export interface NearMiss {
  readonly selector: string;
  /**
   * `lost`: it selected the resource before; `malformed`: it would select the resource, but controllers ignore it;
   * `misspelled`: a name in it is similar to one of the resource.
   */
  readonly reason: "lost" | "malformed" | "misspelled";
  /** States what is wrong with the selector, in one clause. */
  readonly message: string;
  /** The ways to let it select the resource. None if that would move a resource to another account. */
  readonly repairs: readonly Repair[];
}

/** More would be no help. */
const MAX_MISSES = 3;

/**
 * Returns the selectors that probably should select a resource that no selector selects, the most likely first. The
 * time does not depend on the number of selectors, because their misspelled names are indexed.
 */
export function nearMisses(inventory: Inventory, query: ResourceQuery): readonly NearMiss[] {
  const compared = { inventory, query, type: inventory.kinds.typeOf(query) };
  const index = inventory.of(MISSES);
  const lost = lostSelector(compared);
  const found = [
    ...(lost === null ? [] : [lost]), ...index.malformedFor(compared).map(malformedMiss),
    ...index.misspelledFor(compared).map(misspelledMiss),
  ];
  const first = found.filter(({ miss }, i) => i === found.findIndex((one) => one.miss.selector === miss.selector));
  return first.slice(0, MAX_MISSES).map(({ miss, roleARN }) => (
    isInAccount(roleARN, query) ? miss : { ...miss, repairs: [] }
  ));
}

/** Returns the repairs of near misses. With several selectors, `when` tells for which to choose each. */
export function missRepairs(misses: readonly NearMiss[]): readonly Repair[] {
  const all = misses.flatMap(({ selector, repairs }) => repairs.map((repair) => ({ selector, repair })));
  if (all.length < 2) return all.map(({ repair }) => repair);
  return all.map(({ selector, repair: { edits, when = `if the role of ${printable(selector)} is meant` } }) => (
    { when, edits }
  ));
}

/**
 * Returns the advice to correct a malformed selector that has no repair, because only a person knows what was meant,
 * for example which role. Null if there is none, or if the resource exists in an account that the role may not be of.
 */
export function correctionOf(misses: readonly NearMiss[], { status }: ResourceQuery): string | null {
  const malformed = misses.find(({ reason }) => reason === "malformed");
  if (malformed === undefined || status.ownerAccountID !== null) return null;
  return `correct IAMRoleSelector ${printable(malformed.selector)}`;
}

interface Found {
  readonly miss: NearMiss;
  readonly roleARN: string;
}

/** Controllers never reconcile a resource with a role of another account than the one that its status records. */
function isInAccount(roleARN: string, { status }: ResourceQuery): boolean {
  return status.ownerAccountID === null || accountOfARN(roleARN) === status.ownerAccountID;
}

function malformedMiss({ name, roleARN, faults, ...judged }: JudgedSelector): Found {
  const decisive = faults.filter(({ dropsSelector, withholdsGrant }) => dropsSelector === true || withholdsGrant);
  const codes = [...new Set(decisive.map(({ code }) => code))].join(", ");
  const of = selectorName(name);
  // The finding of the selector is what a program repairs without asking.
  const repairs = repairsOf({ ...judged, name, roleARN, faults })
    .map(({ isSafe: _isSafe, ...repair }) => ({ ...repair, edits: repair.edits.map((edit) => ({ ...edit, of })) }));
  const message = `IAMRoleSelector ${printable(name)} would select it, but controllers ignore it (${codes})`;
  return { roleARN, miss: { selector: name, reason: "malformed", message, repairs } };
}

function misspelledMiss({ selector: { name, roleARN }, written, meant, edits }: Misspelling): Found {
  const message = `IAMRoleSelector ${printable(name)} has ${quote(written)}; perhaps ${printable(meant)} was meant`;
  const of = selectorName(name);
  const repairs = edits.length === 0 ? [] : [{ edits: edits.map((edit) => ({ ...edit, of })) }];
  return { roleARN, miss: { selector: name, reason: "misspelled", message, repairs } };
}

/** Returns the selector that the annotations of the resource name, which selected it before. */
function lostSelector(compared: ComparedResource): Found | null {
  const { inventory, query: { annotations } } = compared;
  const [name, role] = [annotations.get(RESOLUTION.selector), annotations.get(RESOLUTION.roleARN)];
  const selectors = inventory.of(SELECTORS);
  if (name === undefined || subdomainFaults(name).length > 0 || selectors.malformed.has(name)) return null;
  const selector = selectors.get(name);
  if (selector === undefined) {
    return role === undefined || parseRoleARN(role) === null ? null : deletedSelector(name, role, compared);
  }
  // Whoever can write the resource can write its annotations.
  const repairs = selectingRepairs(selector, compared)
    .map(({ edits }) => ({ when: stillItsRole(selector.roleARN), edits }));
  const message = `its annotations say that IAMRoleSelector ${name} selected it before`;
  return { roleARN: selector.roleARN, miss: { selector: name, reason: "lost", message, repairs } };
}

function deletedSelector(name: string, roleARN: string, { inventory, query }: ComparedResource): Found {
  const message = `IAMRoleSelector ${name}, which selected it before as its annotations say, does not exist`;
  const edits = [selectorFor({ inventory, resource: query }, roleARN)];
  const repairs = [{ when: stillItsRole(roleARN), edits }];
  return { roleARN, miss: { selector: name, reason: "lost", message, repairs } };
}

/** Returns the repair after which the selector selects the resource; none if no single value does. */
export function selectingRepairs(selector: EffectiveSelector, compared: ComparedResource): readonly Repair[] {
  const failing = conditionsOf(selector).filter(({ compare }) => !compare(compared).holds);
  const edits = failing.map(({ satisfy }) => satisfy(compared.query));
  const known = edits.filter((edit) => edit !== null).filter((edit) => !replacesLabel(edit, compared));
  return known.length < edits.length || known.length === 0 ? [] : [{ edits: known }];
}

/** Whether the edit gives a label that the Namespace has another value, which other selectors can require. */
function replacesLabel({ of, path: [, , label] }: Edit, { inventory, query }: ComparedResource): boolean {
  if (of?.kind !== "Namespace" || typeof label !== "object") return false;
  return inventory.namespaces.labelsOf(query.namespace).has(label.key);
}
