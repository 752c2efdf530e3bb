import type { CheckInput } from "../core/check.ts";
import type { DecisionSettings, Origin } from "../core/context.ts";
import { Inventory } from "../core/inventory.ts";
import { replacementOf } from "../ack/selector-repairs.ts";
import { SELECTORS } from "../ack/selectors.ts";
import { isSelector } from "../core/ack-groups.ts";
import type { Resolution } from "../core/resolution.ts";
import { type Edit, remove, type Repair } from "../core/repair.ts";
import { runChecks } from "../judges.ts";
import { INVENTORY_KINDS, roleObjectOf } from "../kinds.ts";
import type { JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { drain } from "../formats/paced.ts";
import { listOf } from "../formats/text.ts";
import { compareInventories, type Impact, isDisruptive } from "./impact.ts";
import { isReplacement, type Located, type ObjectChange } from "./object-changes.ts";
import type { RelatedObjects } from "./related.ts";

/** What decides whether a repair is offered. */
interface RepairScope<T extends Located> {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly origin: Origin;
  readonly related: RelatedObjects<T>;
  /** Whether the objects are all of the cluster or the manifests, so that the effects of a repair can be compared. */
  readonly isWhole: boolean;
  /** The object that is diagnosed, whose role should change. */
  readonly subject: T;
}

type WriteScope = Pick<RepairScope<Located>, "inventory" | "settings" | "origin">;

/**
 * Returns the repairs of a stored object that the webhook would admit, and after which no other resource is worse off.
 * A repair that changes the roles of other resources says so.
 */
export function offeredRepairs<T extends Located>(
  repairs: readonly Repair[], found: T, scope: RepairScope<T>,
): readonly Repair[] {
  return repairs.flatMap((written) => {
    const repair = scope.origin === "cluster" ? withReplacements(written, found, scope) : written;
    if (repair === null) return [];
    const changes = scope.related.changesOf(repair, found);
    if (!areAdmitted(changes, scope)) return [];
    const isOfOthers = scope.isWhole && changes.some((one) => one.found === null || !isRoleObject(one.found.object));
    const impacts = isOfOthers ? impactsOn(changes, scope) : [];
    if (impacts.some(isDisruptive)) return [];
    return impacts.length === 0 ? [repair] : [{ ...repair, when: effectText(repair, impacts) }];
  });
}

const BY_COPY = "spec.arn cannot be changed, so a copy with the new role replaces the selector";
const AGAIN = "spec.arn cannot be changed, so the selector, which controllers ignore, is deleted and created again";

/**
 * Returns the repair with another selector instead of each effective one whose role it changes, because the API server
 * rejects that, and resources need the selector until the other one exists. Null if another one cannot be written.
 */
function withReplacements<T extends Located>(
  repair: Repair, found: T, { inventory, related }: RepairScope<T>,
): Repair | null {
  const notes = new Set(repair.when === undefined ? [] : [repair.when]);
  const edits: (Edit | null)[] = related.changesOf(repair, found).flatMap((change): readonly (Edit | null)[] => {
    const { name, found: old, after, edits: own } = change;
    if (old === null || after === null || !isSelector(old.object) || !isReplacement(old.object, after)) return own;
    const isUsed = inventory.of(SELECTORS).has(name.name);
    notes.add(isUsed ? BY_COPY : AGAIN);
    return isUsed ? [replacementOf(after, inventory), { of: name, ...remove([]) }] : own;
  });
  const known = edits.filter((edit) => edit !== null);
  if (known.length < edits.length) return null;
  return { ...repair, edits: known, ...(notes.size > 0 && { when: [...notes].join("; ") }) };
}

/** Whether the webhook admits the changes in their order. */
function areAdmitted<T extends Located>(changes: readonly ObjectChange<T>[], scope: RepairScope<T>): boolean {
  return changes.every((change, i) => {
    const inventory = i > 0 && scope.isWhole ? inventoryAfter(changes.slice(0, i), scope) : scope.inventory;
    return isAdmitted(change, { ...scope, inventory });
  });
}

function isRoleObject(object: JsonObject): boolean {
  return roleObjectOf(object) !== null;
}

/** Returns what the changes change for objects other than the one that is diagnosed. */
function impactsOn<T extends Located>(changes: readonly ObjectChange<T>[], scope: RepairScope<T>): readonly Impact[] {
  const { inventory, settings, subject } = scope;
  const { kind, namespace, name } = objectReference(subject.object);
  const { impacts } = drain(compareInventories(inventory, inventoryAfter(changes, scope), settings));
  return impacts.filter(({ resource }) => (
    resource.kind !== kind || resource.namespace !== namespace || resource.name !== name
  ));
}

function inventoryAfter<T extends Located>(
  changes: readonly ObjectChange<T>[], { inventory, related }: RepairScope<T>,
): Inventory {
  const changed = new Set(changes.map((change) => change.found));
  const unchanged = related.all.filter((one) => !changed.has(one)).map(({ object }) => object);
  const after = new Inventory(inventory.context, INVENTORY_KINDS);
  const objects = [...unchanged, ...changes.map((change) => change.after).filter((one) => one !== null)];
  after.apply(objects.map((object) => ({ type: "put", object })));
  return after;
}

function effectText({ when }: Repair, impacts: readonly Impact[]): string {
  const changes = impacts.map(({ resource: { kind, namespace, name }, before, after }) => (
    `${kind} ${namespace}/${name} from ${roleText(before)} to ${roleText(after)}`
  ));
  const effect = `this also changes the role of ${listOf(changes)}`;
  return when === undefined ? effect : `${when}; ${effect}`;
}

function roleText(resolution: Resolution | null): string {
  const outcome = resolution?.outcome;
  return resolution?.roleARN ?? (outcome === "default" ? "the controller's own role" : `none (${outcome})`);
}

/** Whether the checks deny none of the writes that the change needs, apart from faults that are there before. */
function isAdmitted(
  { found, after }: Pick<ObjectChange<Located>, "found" | "after">, scope: WriteScope,
): boolean {
  const old = found?.object ?? null;
  if (after === null) return old === null || denials({ object: old, old: null, operation: "DELETE" }, scope).size === 0;
  if (old === null) return denials({ object: after, old, operation: "CREATE" }, scope).size === 0;
  if (scope.origin === "cluster" && !isReplacement(old, after)) {
    return denials({ object: after, old, operation: "UPDATE" }, scope).size === 0;
  }
  // A manifest does not tell what is stored, and nothing uses a stored selector that is not effective.
  const before = denials({ object: old, old: null, operation: "CREATE" }, scope);
  return [...denials({ object: after, old: null, operation: "CREATE" }, scope)].every((code) => before.has(code));
}

/** Returns the codes of the checks that deny the write. */
function denials(
  write: Pick<CheckInput, "object" | "old" | "operation">,
  { inventory, settings, origin }: WriteScope,
): ReadonlySet<string> {
  const { findings } = runChecks({ ...write, requester: null, origin, inventory }, settings);
  return new Set(findings.filter(({ severity }) => severity === "deny").map(({ code }) => code));
}
