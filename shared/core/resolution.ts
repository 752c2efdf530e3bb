import { accountOfARN } from "../formats/arn.ts";
import type { ErrorCode } from "../formats/errors.ts";
import type { ResourceStatus } from "./ack-resource.ts";
import type { DecisionSettings } from "./context.ts";

export const OUTCOMES = ["selected", "default", "conflict", "refused"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A region and its source. */
export interface Region {
  readonly value: string;
  readonly from: "status" | "resource" | "namespace" | "controller";
}

/** An identity in a chain, in the format of `resolve -o json`. */
export interface ChainLink {
  readonly kind: string;
  readonly name: string;
  readonly roleARN: string | null;
  /** Whether an object in the namespace may use this identity. */
  readonly allowed: boolean;
  /** A clause that states why the identity may or may not be used. */
  readonly reason: string;
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

/** Returns null if the value is missing or empty. */
export function regionFrom(value: string | null | undefined, from: Region["from"]): Region | null {
  return value === undefined || value === null || value === "" ? null : { value, from };
}

/** Returns the account of the controller's own role, or null if no setting specifies the account. */
export function controllerAccountOf({ controllerRole, controllerAccount }: DecisionSettings): string | null {
  return controllerAccount ?? (controllerRole === null ? null : accountOfARN(controllerRole));
}

/** Returns the resolution of a resource whose controller uses its own role. */
export function byDefault(settings: DecisionSettings, region: Region | null, message: string): Resolution {
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

/** Starts the part of a message that says how the status differs. */
export const DRIFT = " Drift: ";

/** What the status of a resource records, and what applies instead. Users can write any text in both. */
interface Drift {
  readonly recorded: string;
  readonly current: string;
}

/**
 * Returns the account in the status and that of the role if they differ; otherwise null. Controllers never reconcile
 * such a resource, with one exception: if no selector selects the resource, they use their own role without a
 * comparison of the accounts.
 */
export function accountDrift(
  { accountID }: Pick<Resolution, "accountID">, { ownerAccountID }: ResourceStatus,
): Drift | null {
  return driftOf(ownerAccountID, accountID);
}

/** The same for the region in the status and the desired one. */
export function regionDrift(
  { region }: ResourceStatus, desired: Region | null,
): (Drift & Pick<Region, "from">) | null {
  const drift = desired === null ? null : driftOf(region, desired.value);
  return desired === null || drift === null ? null : { ...drift, from: desired.from };
}

function driftOf(recorded: string | null, current: string | null): Drift | null {
  return recorded === null || current === null || recorded === current ? null : { recorded, current };
}
