import type { ResourceQuery, ResourceStatus } from "../core/ack-resource.ts";
import {
  DEFAULT_REGION_ANNOTATION, IGNORED_NAMESPACES, REGION_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { ChainLink } from "../capa/identity-chain.ts";
import {
  type Choice, choiceOf, type Outcome, refusalMessage, selectingSelectors, selectionOf,
} from "./selection.ts";
import { accountOfARN } from "../formats/arn.ts";
import type { ErrorCode } from "../formats/errors.ts";
import { compareText, printable, quote } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { carmAnnotations } from "../carm/carm-maps.ts";
import { mapRoleOf } from "../carm/carm-role.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";

/** A region and its source. */
export interface Region {
  readonly value: string;
  readonly from: "status" | "resource" | "namespace" | "controller";
}

/**
 * Returns the configured region of a resource. Precedence: annotation of the resource, annotation of the namespace,
 * controller flag.
 */
export function desiredRegion(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Region | null {
  const ofNamespace = namespaceAnnotations(inventory, query.namespace, settings);
  return regionFrom(query.annotations.get(REGION_ANNOTATION), "resource")
    ?? regionFrom(ofNamespace.get(DEFAULT_REGION_ANNOTATION), "namespace")
    ?? regionFrom(settings.region, "controller");
}

/**
 * Returns the annotations that controllers read on a namespace. With CARM, controllers ignore the annotations of some
 * namespaces.
 */
function namespaceAnnotations(
  inventory: Inventory, namespace: string, { mode }: DecisionSettings,
): ReadonlyMap<string, string> {
  const annotations = inventory.namespaces.annotationsOf(namespace);
  return mode === "carm" ? carmAnnotations(namespace, annotations) : annotations;
}

/** Returns null if the value is missing or empty. */
export function regionFrom(value: string | null | undefined, from: Region["from"]): Region | null {
  return value === undefined || value === null || value === "" ? null : { value, from };
}

interface SelectingSelector {
  readonly name: string;
  readonly resourceVersion: string | null;
  readonly roleARN: string;
}

/** The role of a resource, and how the role was resolved. */
export interface Resolution {
  readonly outcome: Outcome;
  readonly via: "selector" | "team-map" | "account-map" | "identity" | null;
  /** The selector that sets the role, or all conflicting selectors, sorted by name; otherwise empty. */
  readonly selectors: readonly SelectingSelector[];
  /**
   * The ARN of the resolved role. For the outcome `default`, the controller's own role, or null if that role is
   * unknown.
   */
  readonly roleARN: string | null;
  readonly accountID: string | null;
  readonly region: Region | null;
  readonly code: ErrorCode | null;
  readonly message: string;
  /**
   * For an object that refers to a CAPA identity: the identities from the referenced identity to the source of the
   * credentials. Absent for an ACK resource.
   */
  readonly chain?: readonly ChainLink[];
}

/** Resolves the role of a resource as the controllers do in the configured mode. */
export function resolve(inventory: Inventory, query: ResourceQuery, settings: DecisionSettings): Resolution {
  const desired = desiredRegion(inventory, query, settings);
  const region = regionFrom(query.status.region, "status") ?? desired;
  const resolution = settings.mode === "carm"
    ? resolveByMaps(inventory, query, settings, region)
    : resolveBySelectors(inventory, query, settings, region);
  return withDrift(resolution, query.status, desired);
}

/**
 * Resolves the role by IAMRoleSelectors. Several selectors that select the resource conflict, even if their roles are
 * equal, unless the annotation `use-selector` picks one of them. If no selector selects the resource, the controller
 * uses its own role.
 */
function resolveBySelectors(
  inventory: Inventory, query: ResourceQuery, settings: DecisionSettings, region: Region | null,
): Resolution {
  const selecting = selectingSelectors(inventory, query);
  const choice = choiceOf(inventory, query);
  const { outcome, selectors } = selectionOf(selecting, choice);
  const [only] = selectors;
  if (choice !== null && outcome === "refused") return refused(refusalMessage(inventory, choice, selecting), region);
  if (only === undefined) {
    const message = "No IAMRoleSelector selects the resource, so the controller's own role is used.";
    return byDefault(settings, region, message);
  }
  if (outcome === "conflict") return conflict(selectors, region);
  return selected(only, region, choice === null || selecting.length === 1 ? "" : `, and ${choiceClause(choice)}`);
}

/**
 * Resolves the role by the CARM maps. A fault in the maps prevents reconciliation: CARM never falls back to another
 * role.
 */
function resolveByMaps(
  inventory: Inventory, query: ResourceQuery, settings: DecisionSettings, region: Region | null,
): Resolution {
  const lookup = mapRoleOf(inventory, query, settings);
  if (lookup === null) {
    return byDefault(settings, region, `${noOwnerClause(query, settings)}, so the controller's own role is used.`);
  }
  const { via, key, roleARN, code } = lookup;
  if (code !== null) {
    return {
      outcome: "refused",
      via,
      selectors: [],
      roleARN: null,
      accountID: null,
      region,
      code,
      message: lookup.message,
    };
  }
  const message = `The role comes from key ${quote(key)} of the ${via === "team-map" ? "team" : "account"} map.`;
  return { outcome: "selected", via, selectors: [], roleARN, accountID: accountOfARN(roleARN), region, code, message };
}

/** Returns why the namespace chooses no role. */
function noOwnerClause({ namespace }: ResourceQuery, { teamLevelCARM }: DecisionSettings): string {
  if (IGNORED_NAMESPACES.has(namespace)) return `CARM ignores the annotations of namespace ${namespace}`;
  return teamLevelCARM ? "The namespace names no account or team" : "The namespace names no account";
}

function selected(selector: EffectiveSelector, region: Region | null, choice: string): Resolution {
  const { name, resourceVersion, roleARN } = selector;
  return {
    outcome: "selected",
    via: "selector",
    selectors: [{ name, resourceVersion, roleARN }],
    roleARN,
    accountID: accountOfARN(roleARN),
    region,
    code: null,
    message: `IAMRoleSelector ${name} selects the resource${choice}.`,
  };
}

/** Returns `the annotation ack-role-resolver.io/use-selector of the namespace names it`. */
function choiceClause({ from }: Choice): string {
  return `the annotation ${USE_SELECTOR_ANNOTATION} of the ${from} names it`;
}

/** Returns the resolution of a resource whose annotation names a selector that does not select the resource. */
function refused(message: string, region: Region | null): Resolution {
  return {
    outcome: "refused",
    via: "selector",
    selectors: [],
    roleARN: null,
    accountID: null,
    region,
    code: "ERR_SELECTOR_CHOICE",
    message,
  };
}

function conflict(selecting: readonly EffectiveSelector[], region: Region | null): Resolution {
  const selectors = selecting.map(({ name, resourceVersion, roleARN }) => ({ name, resourceVersion, roleARN }));
  selectors.sort((a, b) => compareText(a.name, b.name));
  const names = selectors.map((selector) => selector.name).join(", ");
  return {
    outcome: "conflict",
    via: null,
    selectors,
    roleARN: null,
    accountID: null,
    region,
    code: "ERR_SELECTOR_CONFLICT",
    message: `Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [${names}]`,
  };
}

/** Returns the account of the controller's own role, or null if no setting specifies the account. */
export function controllerAccountOf({ controllerRole, controllerAccount }: DecisionSettings): string | null {
  return controllerAccount ?? (controllerRole === null ? null : accountOfARN(controllerRole));
}

function byDefault(settings: DecisionSettings, region: Region | null, message: string): Resolution {
  return {
    outcome: "default",
    via: null,
    selectors: [],
    roleARN: settings.controllerRole,
    accountID: controllerAccountOf(settings),
    region,
    code: null,
    message,
  };
}

/**
 * Returns a clause if the account in the status differs from the account of the role, and a clause if the region in the
 * status differs from the desired region. Controllers never reconcile a resource that has such a drift, with one
 * exception: if no selector selects the resource, they use their own role without a comparison of the accounts.
 */
export function driftsOf(
  { accountID }: Pick<Resolution, "accountID">, { ownerAccountID, region }: ResourceStatus, desired: Region | null,
): string[] {
  const drifts: string[] = [];
  if (ownerAccountID !== null && accountID !== null && ownerAccountID !== accountID) {
    drifts.push(`the resource exists in account ${ownerAccountID}, but its role is in account ${accountID}`);
  }
  if (region !== null && desired !== null && region !== desired.value) {
    drifts.push(`the resource exists in region ${region}, but its desired region is ${desired.value}`);
  }
  return drifts.map(printable); // users can write any text in the account and the regions
}

function withDrift(resolution: Resolution, status: ResourceStatus, desired: Region | null): Resolution {
  const drifts = driftsOf(resolution, status, desired);
  return drifts.length === 0
    ? resolution
    : { ...resolution, message: `${resolution.message} Drift: ${drifts.join("; ")}.` };
}
