import { resolve } from "../core/resolve.ts";
import type { ChainLink, Resolution } from "../core/resolution.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { annotatedKey, type AnnotatedObject } from "../core/annotated-objects.ts";
import { defaultScope } from "../core/closures.ts";
import { limitChange, type SessionLimits } from "../core/session-change.ts";
import { NO_EXTRAS } from "../core/session.ts";
import { isResource, type ResourceQuery } from "../core/ack-resource.ts";
import { compareText } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { annotatedObjects, annotatedWithKey } from "./stale-resources.ts";

/**
 * The ways in which a resource can change, most disruptive first: new conflict, new fault in the CARM maps, fallback to
 * the controller's own role, other account, other role, other region, newly selected, sessions that may do more or
 * less, other identity whose role is the same or unknown, other source of the identity, other Secret of its static
 * identity, other selector that has the same role, resource added, resource removed. Only objects that refer to CAPA
 * identities have identities.
 */
export const CHANGES = [
  "conflict", "refused", "default", "account", "role", "region", "selected", "wider", "narrower", "identity", "source",
  "secret", "selector", "added", "removed",
] as const;
export type Change = (typeof CHANGES)[number];

/** The object that is compared. */
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

/** Compares the resolution of each object that has a role, in time that is proportional to their number. */
export function* compareInventories(
  before: Inventory, after: Inventory, settings: DecisionSettings,
): Paced<ImpactComparison> {
  const impacts: Impact[] = [];
  let resources = 0;
  const add = (impact: Impact | null): void => {
    resources++;
    if (impact !== null) impacts.push(impact);
  };
  yield* paced(annotatedObjects(before), RESOURCES_BETWEEN_PAUSES, (object) => {
    add(impactOn(object, { before, after, settings }));
    return true;
  });
  for (const object of annotatedObjects(after)) {
    if (annotatedWithKey(annotatedKey(object), before) !== null) continue;
    add({ resource: object, change: "added", before: null, after: resolve(after, object, settings) });
  }
  return { impacts: impacts.toSorted(compareImpacts), resources };
}

interface Inventories {
  readonly before: Inventory;
  readonly after: Inventory;
  readonly settings: DecisionSettings;
}

function impactOn(object: AnnotatedObject, { before, after, settings }: Inventories): Impact | null {
  const later = annotatedWithKey(annotatedKey(object), after);
  const [resource, earlierRole] = [later ?? object, resolve(before, object, settings)];
  if (later === null) return { resource, change: "removed", before: earlierRole, after: null };
  const laterRole = resolve(after, later, settings);
  const roles = { before: earlierRole, after: laterRole };
  const change = changeOf(isResource(later) ? later.status.ownerAccountID : null, earlierRole, laterRole);
  const isSameRole = change === null || change === "selector";
  const other = (isSameRole ? limitOf(later, { before, after, settings }, roles) : null) ?? change;
  if (other !== null) return { resource, change: other, ...roles };
  if (laterRole.outcome === "refused") return null;
  const secretIn = (inventory: Inventory, role: Resolution): string | null => (
    inventory.sourceOf(later, settings).secretOf?.(role, later, inventory) ?? null
  );
  const secrets = { before: secretIn(before, earlierRole), after: secretIn(after, laterRole) };
  return secrets.before === secrets.after ? null : { resource, change: "secret", ...roles, secrets };
}

interface Roles {
  readonly before: Resolution;
  readonly after: Resolution;
}

/** Returns how the limit of the sessions changes that a sidecar issues for the object; null if it does not. */
function limitOf(
  object: AnnotatedObject, { before, after, settings }: Inventories, roles: Roles,
): "wider" | "narrower" | null {
  const limitsIn = (inventory: Inventory, role: Resolution): SessionLimits => {
    const session = inventory.sourceOf(object, settings).sessionOf?.(role, inventory)?.settings;
    return { ...NO_EXTRAS, ...session };
  };
  const byDefault = defaultScope(settings.injection.closures);
  return limitChange(limitsIn(before, roles.before), limitsIn(after, roles.after), byDefault);
}

function changeOf(recorded: string | null, before: Resolution, after: Resolution): Change | null {
  if (after.outcome !== before.outcome && after.outcome !== "selected") return after.outcome;
  // A resource stays in the account that ACK recorded at its first attempt, even if its role is in another account.
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
    conflict: 0, refused: 0, default: 0, account: 0, role: 0, region: 0, selected: 0, wider: 0, narrower: 0,
    identity: 0, source: 0, secret: 0, selector: 0, added: 0, removed: 0,
  };
  for (const { change } of impacts) counts[change]++;
  return counts;
}
