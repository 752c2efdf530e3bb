import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { compareText } from "../kubernetes/text.ts";
import { type Paced, paced } from "../paced.ts";
import { type Resolution, resolve } from "./resolve.ts";

/**
 * The ways in which a resource can change, most disruptive first: new conflict, new fault in the CARM maps, fallback to
 * the controller's own role, other account, other role, other region, newly selected, other selector with the same
 * role, resource added, resource removed.
 */
export const CHANGES = [
  "conflict", "refused", "default", "account", "role", "region", "selected", "selector", "added", "removed",
] as const;
export type Change = (typeof CHANGES)[number];

/** A resource whose resolution differs between two inventories, or that exists in only one inventory. */
export interface Impact {
  readonly resource: ACKResource;
  readonly change: Change;
  /** The resolution in the first inventory; null if the first inventory does not contain the resource. */
  readonly before: Resolution | null;
  /** The resolution in the second inventory; null if the second inventory does not contain the resource. */
  readonly after: Resolution | null;
}

export interface ImpactComparison {
  /** The changed resources, sorted by type of change, then by namespace, kind, name and group. */
  readonly impacts: readonly Impact[];
  /** The number of compared resources, including unchanged resources. */
  readonly resources: number;
}

const RESOURCES_BETWEEN_PAUSES = 200;

/** Compares the resolution of each resource in two inventories. The time is proportional to the number of resources. */
export function* compareInventories(
  before: Inventory, after: Inventory, settings: DecisionSettings,
): Paced<ImpactComparison> {
  const impacts: Impact[] = [];
  let resources = 0;
  const add = (impact: Impact | null): void => {
    resources++;
    if (impact !== null) impacts.push(impact);
  };
  yield* paced(before.resources.all(), RESOURCES_BETWEEN_PAUSES, (resource) => {
    const later = after.resources.get(resource);
    const resolution = later === null ? null : resolve(after, later, settings);
    add(impactOn(later ?? resource, resolve(before, resource, settings), resolution));
    return true;
  });
  for (const resource of after.resources.all()) {
    if (before.resources.get(resource) !== null) continue;
    add({ resource, change: "added", before: null, after: resolve(after, resource, settings) });
  }
  return { impacts: impacts.toSorted(compareImpacts), resources };
}

function impactOn(resource: ACKResource, before: Resolution, after: Resolution | null): Impact | null {
  const change = after === null ? "removed" : changeOf(resource, before, after);
  return change === null ? null : { resource, change, before, after };
}

function changeOf({ status }: ACKResource, before: Resolution, after: Resolution): Change | null {
  if (after.outcome !== before.outcome && after.outcome !== "selected") return after.outcome;
  // A resource that exists in AWS stays in the account that ACK recorded, even if its role is in another account.
  const account = status.ownerAccountID ?? before.accountID;
  const hasMoved = before.accountID !== after.accountID && account !== null;
  if (hasMoved && after.accountID !== null && account !== after.accountID) return "account";
  if (after.outcome !== before.outcome) return "selected";
  return changeWithinOutcome(before, after);
}

function changeWithinOutcome(before: Resolution, after: Resolution): Change | null {
  if (before.roleARN !== after.roleARN) return "role";
  if (before.region?.value !== after.region?.value) return "region";
  return causeOf(before) === causeOf(after) ? null : "selector";
}

function causeOf({ selectors, via, code }: Resolution): string {
  return JSON.stringify([selectors.map(({ name }) => name), via, code]);
}

/** The changes after which controllers no longer reconcile a resource, or reconcile it in another account. */
export const DISRUPTIVE: ReadonlySet<Change> = new Set(["conflict", "refused", "default", "account"]);

/** Whether the change is disruptive, or adds a resource that controllers will not reconcile. */
export function isDisruptive({ change, after }: Impact): boolean {
  const isStopped = after?.outcome === "conflict" || after?.outcome === "refused";
  return DISRUPTIVE.has(change) || (change === "added" && isStopped);
}

function compareImpacts(a: Impact, b: Impact): number {
  return CHANGES.indexOf(a.change) - CHANGES.indexOf(b.change)
    || compareText(a.resource.namespace, b.resource.namespace)
    || compareText(a.resource.kind, b.resource.kind)
    || compareText(`${a.resource.name}`, `${b.resource.name}`)
    || compareText(a.resource.group, b.resource.group);
}

/** Returns the number of resources for each type of change; 0 if no resource changes in this way. */
export function countsOf(impacts: readonly Impact[]): Record<Change, number> {
  const counts = {
    conflict: 0, refused: 0, default: 0, account: 0, role: 0, region: 0, selected: 0, selector: 0, added: 0, removed: 0,
  };
  for (const { change } of impacts) counts[change]++;
  return counts;
}
