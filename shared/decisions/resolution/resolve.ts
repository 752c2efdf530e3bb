import { lookUpMaps } from "../carm/maps.ts";
import type { DecisionSettings } from "../context.ts";
import type { ErrorCode } from "../errors.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery, ResourceStatus } from "../kubernetes/ack-resource.ts";
import { accountOfARN } from "../kubernetes/arn.ts";
import type { Labels } from "../kubernetes/label-selector.ts";
import { compareText, printable } from "../kubernetes/text.ts";
import { type EffectiveSelector, selectsWithinNamespace } from "../selectors/effective.ts";
import { type Region, regionOf, wantedRegion } from "./region.ts";

export type Outcome = "selected" | "default" | "conflict" | "refused";

export interface SelectingSelector {
  readonly name: string;
  readonly resourceVersion: string | null;
  readonly roleARN: string;
}

/** Which role a resource is managed with, and why. */
export interface Resolution {
  readonly outcome: Outcome;
  readonly via: "selector" | "team-map" | "account-map" | "identity" | null;
  /** The one that was selected, every one in a conflict (sorted by name), else none. */
  readonly selectors: readonly SelectingSelector[];
  /** The controller's own role when that is the outcome and it is known. */
  readonly roleARN: string | null;
  readonly accountID: string | null;
  readonly region: Region | null;
  readonly code: ErrorCode | null;
  readonly message: string;
}

/** Every selector that selects the resource, in no order; `namespaceLabels` in place of those that the namespace carries. */
export function selectingSelectors(inventory: Inventory, query: ResourceQuery, namespaceLabels?: Labels): EffectiveSelector[] {
  const type = inventory.typeOf(query);
  const selecting: EffectiveSelector[] = [];
  for (const selector of inventory.selectorsOfNamespace(query.namespace, namespaceLabels)) {
    if (selectsWithinNamespace(selector, type, query.labels)) selecting.push(selector);
  }
  for (const selectors of inventory.selectorsOfEveryNamespace(query.group)) {
    for (const selector of selectors) if (selectsWithinNamespace(selector, type, query.labels)) selecting.push(selector);
  }
  return selecting;
}

/** Decides as the controllers do, in the mode that they run in. */
export function resolve(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Resolution {
  const region = regionOf(inventory, query, settings);
  const resolution = settings.mode === "carm" ? byMaps(inventory, query, settings, region) : bySelectors(inventory, query, settings, region);
  return withDrift(resolution, query.status, wantedRegion(inventory, query, settings));
}

/** One selector selects, several conflict even over one role, none leaves the controller's own. */
function bySelectors(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings, region: Region | null): Resolution {
  const selecting = selectingSelectors(inventory, query);
  const [only] = selecting;
  if (only === undefined) return byDefault(settings, region, "No IAMRoleSelector selects it, so the controller's own role is used.");
  return selecting.length > 1 ? conflict(selecting, region) : selected(only, region);
}

/** The legacy maps: what they refuse stops the resource, and never falls to another role. */
function byMaps(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings, region: Region | null): Resolution {
  const answer = lookUpMaps(inventory, query, settings);
  if (answer === null) return byDefault(settings, region, "Its namespace names no account or team, so the controller's own role is used.");
  const { via, key } = answer;
  if (answer.code !== null) return { outcome: "refused", via, selectors: [], roleARN: null, accountID: null, region, code: answer.code, message: printable(answer.message) };
  const { roleARN } = answer;
  const message = printable(`The ${via === "team-map" ? "team" : "account"} map gives ${key} its role.`); // a key may be any text
  return { outcome: "selected", via, selectors: [], roleARN, accountID: accountOfARN(roleARN), region, code: null, message };
}

function selected(selector: EffectiveSelector, region: Region | null): Resolution {
  const { name, resourceVersion, roleARN } = selector;
  return {
    outcome: "selected", via: "selector", selectors: [{ name, resourceVersion, roleARN }], roleARN, accountID: accountOfARN(roleARN), region,
    code: null, message: `IAMRoleSelector ${name} selects it.`,
  };
}

function conflict(selecting: readonly EffectiveSelector[], region: Region | null): Resolution {
  const selectors = selecting.map(({ name, resourceVersion, roleARN }) => ({ name, resourceVersion, roleARN }));
  selectors.sort((a, b) => compareText(a.name, b.name));
  const names = selectors.map((selector) => selector.name).join(", ");
  return {
    outcome: "conflict", via: null, selectors, roleARN: null, accountID: null, region, code: "ERR_SELECTOR_CONFLICT",
    message: `Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [${names}]`,
  };
}

/** The account of the controllers' own role, or null when neither setting says it. */
export function controllerAccountOf({ controllerRole, controllerAccount }: DecisionSettings): string | null {
  return controllerAccount ?? (controllerRole === null ? null : accountOfARN(controllerRole));
}

function byDefault(settings: DecisionSettings, region: Region | null, message: string): Resolution {
  const { controllerRole } = settings;
  const accountID = controllerAccountOf(settings);
  return { outcome: "default", via: null, selectors: [], roleARN: controllerRole, accountID, region, code: null, message };
}

/** A resource that exists stays where it is: another account or region is drift, which controllers stop at for ever. */
export function driftsOf({ accountID }: Pick<Resolution, "accountID">, { ownerAccountID, region }: ResourceStatus, wanted: Region | null): string[] {
  const drifts: string[] = [];
  if (ownerAccountID !== null && accountID !== null && ownerAccountID !== accountID) {
    drifts.push(`it exists in account ${ownerAccountID}, and the role is in ${accountID}`);
  }
  if (region !== null && wanted !== null && region !== wanted.value) drifts.push(`it exists in region ${region}, and ${wanted.value} is wanted`);
  return drifts.map(printable); // the account and the regions are texts that users may write
}

function withDrift(resolution: Resolution, status: ResourceStatus, wanted: Region | null): Resolution {
  const drifts = driftsOf(resolution, status, wanted);
  return drifts.length === 0 ? resolution : { ...resolution, message: `${resolution.message} Drift: ${drifts.join("; ")}.` };
}
