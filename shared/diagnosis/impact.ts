import { resolve } from "../core/resolve.ts";
import type { ChainLink, Resolution } from "../core/resolution.ts";
import { IDENTITIES } from "../capa/identities.ts";
import { REFERRERS } from "../capa/referrers.ts";
import { RESOURCES } from "../ack/resources.ts";
import type { DecisionSettings } from "../core/context.ts";
import { STATIC_IDENTITY } from "../core/capa-kinds.ts";
import type { Referrer } from "../capa/referrer.ts";
import { resolveReferrer } from "../capa/resolve-identity.ts";
import type { Inventory } from "../core/inventory.ts";
import type { ResourceQuery } from "../core/ack-resource.ts";
import { compareText } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";

/**
 * The ways in which a resource can change, most disruptive first: new conflict, new fault in the CARM maps, fallback to
 * the controller's own role, other account, other role, other region, newly selected, other identity whose role is the
 * same or unknown, other source of the identity, other Secret of its static identity, other selector that has the same
 * role, resource added, resource removed. Only objects that refer to CAPA identities have identities.
 */
export const CHANGES = [
  "conflict", "refused", "default", "account", "role", "region", "selected", "identity", "source", "secret", "selector",
  "added", "removed",
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
  /** The names of the Secrets of the static identity, if the change is `secret`. A missing name is null. */
  readonly secrets?: { readonly before: string | null; readonly after: string | null };
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
  yield* paced(before.of(RESOURCES).all(), RESOURCES_BETWEEN_PAUSES, (resource) => {
    const later = after.of(RESOURCES).get(resource);
    const resolution = later === null ? null : resolve(after, later, settings);
    const account = (later ?? resource).status.ownerAccountID;
    add(impactOn(later ?? resource, { before: resolve(before, resource, settings), after: resolution, account }));
    return true;
  });
  yield* paced(before.of(REFERRERS).all(), RESOURCES_BETWEEN_PAUSES, (referrer) => {
    add(impactOnReferrer(referrer, { before, after, settings }));
    return true;
  });
  for (const resource of after.of(RESOURCES).all()) {
    if (before.of(RESOURCES).get(resource) !== null) continue;
    add({ resource, change: "added", before: null, after: resolve(after, resource, settings) });
  }
  for (const referrer of after.of(REFERRERS).all()) {
    if (before.of(REFERRERS).get(referrer) !== null) continue;
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

interface Inventories {
  readonly before: Inventory;
  readonly after: Inventory;
  readonly settings: DecisionSettings;
}

function impactOnReferrer(referrer: Referrer, { before, after, settings }: Inventories): Impact | null {
  const resource = after.of(REFERRERS).get(referrer);
  const earlier = resolveReferrer(before, referrer, settings);
  if (resource === null) return { resource: referrer, change: "removed", before: earlier, after: null };
  const later = resolveReferrer(after, resource, settings);
  const impact = impactOn(resource, { before: earlier, after: later, account: null });
  if (impact !== null || later.outcome === "refused") return impact;
  const secrets = { before: secretOf(before, earlier, resource), after: secretOf(after, later, resource) };
  return secrets.before === secrets.after
    ? null : { resource, change: "secret", before: earlier, after: later, secrets };
}

/** Returns the Secret of the static identity at the end of the chain, or null. */
function secretOf(inventory: Inventory, { chain }: Resolution, { namespace }: Referrer): string | null {
  const last = chain?.at(-1);
  const identity = last === undefined ? null : inventory.of(IDENTITIES).get(last, namespace);
  return identity?.kind === STATIC_IDENTITY ? identity.secretName : null;
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
  const isOfIdentity = before.chain !== undefined && after.chain !== undefined;
  if (isOfIdentity) return changeOfChain({ ...before, chain: before.chain }, { ...after, chain: after.chain });
  if (before.roleARN !== after.roleARN) return "role";
  if (before.region?.value !== after.region?.value) return "region";
  return causeOf(before) === causeOf(after) ? null : "selector";
}

function causeOf({ selectors, via, code }: Resolution): string {
  return JSON.stringify([selectors.map(({ name }) => name), via, code]);
}

type ChainResolution = Pick<Resolution, "outcome" | "roleARN" | "region"> & { readonly chain: readonly ChainLink[] };

function changeOfChain(before: ChainResolution, after: ChainResolution): Change | null {
  if (identityText(before) !== identityText(after)) return isOtherRole(before, after) ? "role" : "identity";
  if (before.roleARN !== after.roleARN) return "role";
  if (after.outcome === "refused") return null;
  if (before.region?.value !== after.region?.value) return "region";
  return sourcesKey(before) === sourcesKey(after) ? null : "source";
}

/** Whether both identities have a role, and the roles differ. */
function isOtherRole(before: ChainResolution, after: ChainResolution): boolean {
  return before.roleARN !== null && after.roleARN !== null && before.roleARN !== after.roleARN;
}

function identityText({ chain: [identity] }: ChainResolution): string {
  return JSON.stringify([identity?.kind, identity?.name]);
}

function sourcesKey({ chain: [, ...sources] }: ChainResolution): string {
  return JSON.stringify(sources.map(({ kind, name, roleARN }) => [kind, name, roleARN]));
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
    conflict: 0, refused: 0, default: 0, account: 0, role: 0, region: 0, selected: 0, identity: 0, source: 0,
    secret: 0, selector: 0, added: 0, removed: 0,
  };
  for (const { change } of impacts) counts[change]++;
  return counts;
}
