import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { compareText } from "../kubernetes/text.ts";
import { type Resolution, resolve } from "./resolve.ts";

/**
 * What happens to a resource, the gravest first: it comes into a conflict or a refusal, falls to the controller's own role, moves to
 * another account, role or region, is selected where it was not or by another selector with the same role, comes, or goes.
 */
export const CHANGES = ["conflict", "refused", "default", "account", "role", "region", "selected", "selector", "added", "removed"] as const;
export type Change = (typeof CHANGES)[number];

/** A resource whose resolution differs, or that is in one of the two inventories alone. */
export interface Impact {
  readonly resource: ACKResource;
  readonly change: Change;
  /** Null where the resource is not. */
  readonly before: Resolution | null;
  readonly after: Resolution | null;
}

/** Every resource of either inventory, compared one by one. */
export interface ImpactComparison {
  /** Sorted by the gravity of the change, then by namespace, kind, name and group. */
  readonly impacts: readonly Impact[];
  /** How many resources there are in either, those that do not change included. */
  readonly resources: number;
}

/** Compares what each resource resolves to in one inventory and in another. It takes time in proportion to the resources. */
export function compareInventories(before: Inventory, after: Inventory, settings: DecisionSettings): ImpactComparison {
  const impacts: Impact[] = [];
  let resources = 0;
  const add = (impact: Impact | null): void => {
    resources++;
    if (impact !== null) impacts.push(impact);
  };
  for (const resource of before.resources.all()) {
    const later = after.resources.get(resource);
    add(impactOn(later ?? resource, resolve(before, resource, settings), later === null ? null : resolve(after, later, settings)));
  }
  for (const resource of after.resources.all()) {
    if (before.resources.get(resource) === null) add({ resource, change: "added", before: null, after: resolve(after, resource, settings) });
  }
  return { impacts: impacts.toSorted(byGravity), resources };
}

function impactOn(resource: ACKResource, before: Resolution, after: Resolution | null): Impact | null {
  const change = after === null ? "removed" : changeOf(resource, before, after);
  return change === null ? null : { resource, change, before, after };
}

function changeOf({ status }: ACKResource, before: Resolution, after: Resolution): Change | null {
  if (after.outcome !== before.outcome && after.outcome !== "selected") return after.outcome;
  // A resource that exists is in the account that ACK recorded, whatever it resolves to.
  const account = status.ownerAccountID ?? before.accountID;
  const moves = before.accountID !== after.accountID && account !== null && after.accountID !== null && account !== after.accountID;
  if (moves) return "account";
  if (after.outcome !== before.outcome) return "selected";
  return withinOutcome(before, after);
}

function withinOutcome(before: Resolution, after: Resolution): Change | null {
  if (before.roleARN !== after.roleARN) return "role";
  if (before.region?.value !== after.region?.value) return "region";
  return reasonOf(before) === reasonOf(after) ? null : "selector";
}

function reasonOf({ selectors, via, code }: Resolution): string {
  return JSON.stringify([selectors.map(({ name }) => name), via, code]);
}

/** The changes that stop a resource, or put it where nobody may have meant it to be. */
export const GRAVE: ReadonlySet<Change> = new Set(["conflict", "refused", "default", "account"]);

/** Whether somebody has to look before it is done: the resource stops, falls to the controller's own role, or moves to another account. */
export function isGrave({ change, after }: Impact): boolean {
  const stopped = after?.outcome === "conflict" || after?.outcome === "refused";
  return GRAVE.has(change) || (change === "added" && stopped);
}

function byGravity(a: Impact, b: Impact): number {
  return CHANGES.indexOf(a.change) - CHANGES.indexOf(b.change)
    || compareText(a.resource.namespace, b.resource.namespace)
    || compareText(a.resource.kind, b.resource.kind)
    || compareText(`${a.resource.name}`, `${b.resource.name}`)
    || compareText(a.resource.group, b.resource.group);
}

/** How many resources change in which way, those in which none does included. */
export function countsOf(impacts: readonly Impact[]): Record<Change, number> {
  const counts = { conflict: 0, refused: 0, default: 0, account: 0, role: 0, region: 0, selected: 0, selector: 0, added: 0, removed: 0 };
  for (const { change } of impacts) counts[change]++;
  return counts;
}
