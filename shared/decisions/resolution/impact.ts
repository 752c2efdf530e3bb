import type { DecisionSettings } from "../context.ts";
import { resolveReferrer } from "../identities/resolve.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { compareText } from "../kubernetes/text.ts";
import { type Paced, paced } from "../paced.ts";
import { type Resolution, resolve } from "./resolve.ts";

/**
 * The ways in which a resource can change, most disruptive first: new conflict, new fault in the CARM maps, fallback to
 * the controller's own role, other account, other role, other region, newly selected, other selector or identities with
 * the same role, resource added, resource removed.
 */
export const CHANGES = [
  "conflict", "refused", "default", "account", "role", "region", "selected", "selector", "added", "removed",
] as const;
export type Change = (typeof CHANGES)[number];

/** The resource or the object with an identityRef that is compared. */
export type ComparedObject = Pick<ResourceQuery, "group" | "version" | "kind" | "namespace" | "name">;

/** A resource whose resolution differs between two inventories, or that exists in only one inventory. */
export interface Impact {
  readonly resource: ComparedObject;
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

/**
 * Compares the resolution of each resource, and of each object that has an identityRef, in two inventories. The time is
 * proportional to their number.
 */
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
    const account = (later ?? resource).status.ownerAccountID;
    add(impactOn(later ?? resource, { before: resolve(before, resource, settings), after: resolution, account }));
    return true;
  });
  yield* paced(before.referrers.all(), RESOURCES_BETWEEN_PAUSES, (referrer) => {
    const later = after.referrers.get(referrer);
    const resolution = later === null ? null : resolveReferrer(after, later, settings);
    const earlier = resolveReferrer(before, referrer, settings);
    add(impactOn(later ?? referrer, { before: earlier, after: resolution, account: null }));
    return true;
  });
  for (const resource of after.resources.all()) {
    if (before.resources.get(resource) !== null) continue;
    add({ resource, change: "added", before: null, after: resolve(after, resource, settings) });
  }
  for (const referrer of after.referrers.all()) {
    if (before.referrers.get(referrer) !== null) continue;
    add({ resource: referrer, change: "added", before: null, after: resolveReferrer(after, referrer, settings) });
  }
  return { impacts: impacts.toSorted(compareImpacts), resources };
}

interface ComparedResolutions {
  readonly before: Resolution;
  readonly after: Resolution | null;
  /** The account in which the resource exists; null if it is unknown. */
  readonly account: string | null;
}

function impactOn(resource: ComparedObject, { before, after, account }: ComparedResolutions): Impact | null {
  const change = after === null ? "removed" : changeOf(account, before, after);
  return change === null ? null : { resource, change, before, after };
}

function changeOf(recorded: string | null, before: Resolution, after: Resolution): Change | null {
  if (after.outcome !== before.outcome && after.outcome !== "selected") return after.outcome;
  // A resource that exists in AWS stays in the account that ACK recorded, even if its role is in another account.
  const account = recorded ?? before.accountID;
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

function causeOf({ selectors, via, code, chain = [] }: Resolution): string {
  return JSON.stringify([selectors.map(({ name }) => name), via, code, chain.map(({ kind, name }) => [kind, name])]);
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
