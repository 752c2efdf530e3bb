import { ResolverError } from "../formats/errors.ts";
import type { SourceStatus } from "../sources/source.ts";
import type { Readiness } from "./health.ts";

/** The maximum age of the inventory, in ms. With an older inventory, the server is unready. */
export const MAX_STALENESS_MS = 300_000;

interface InventoryReadinessInput {
  readonly inventory: SourceStatus;
  /** The current time of the steady clock, which sets `inventory.lastSyncMs`, in ms. */
  readonly steadyMs: number;
}

export interface WebhookReadinessInput extends InventoryReadinessInput {
  /** The current time in ms since the Unix epoch, which decides whether the certificate is expired. */
  readonly nowMs: number;
  readonly draining: boolean;
  /** The expiry time of the serving certificate. */
  readonly certificateNotAfter: Date;
  /** The names of the webhook for which the serving certificate is not valid. */
  readonly missingHosts: readonly string[];
}

export interface SidecarReadinessInput extends InventoryReadinessInput {
  /** The state of the sidecar's base identity. */
  readonly base: { readonly usable: boolean; readonly fault: string | null };
  /** The state of the watch of --identity-secret-namespace; null if the sidecar does not read Secrets. */
  readonly secrets: SourceStatus | null;
}

const MS_PER_SECOND = 1000;

/** Returns the error of a request that needs an inventory that is not loaded yet, or is too old. */
export function notLoaded({ lastSyncMs }: Pick<SourceStatus, "lastSyncMs">): ResolverError {
  const state = lastSyncMs === null ? "not loaded yet" : "older than 5 minutes";
  return new ResolverError("ERR_NOT_READY", `The inventory is ${state}. Retry in a moment.`);
}

/**
 * Returns ready if the inventory is loaded and not older than 5 minutes, the certificate is valid, and the
 * webhook is not draining. A certificate for other names is only a warning: the API server may call another name.
 */
export function webhookReadiness(input: WebhookReadinessInput): Readiness {
  const reasons = inventoryReasons(input);
  if (input.draining) reasons.unshift("the webhook is shutting down");
  const { certificateNotAfter, missingHosts } = input;
  if (input.nowMs >= certificateNotAfter.getTime()) {
    reasons.push(`the serving certificate expired at ${certificateNotAfter.toISOString()}`);
  }
  const readiness = toReadiness(reasons, input);
  if (missingHosts.length === 0) return readiness;
  const warning = `the serving certificate is not valid for ${missingHosts.join(", ")}`;
  return { ...readiness, warnings: [...readiness.warnings, warning] };
}

/**
 * Returns ready if the inventory and the list of Secrets are loaded and not older than 5 minutes, and the base
 * identity is usable. The sidecar remains ready during an STS outage, because it still serves cached sessions, which a
 * restart would lose. With an inventory that is older than 5 minutes, the sidecar still issues credentials, but
 * it is unready so that operators notice the fault.
 */
export function sidecarReadiness(input: SidecarReadinessInput): Readiness {
  const { base, secrets } = input;
  const reasons = inventoryReasons(input);
  if (!base.usable) reasons.push(base.fault ?? "STS has not verified the base identity yet");
  if (secrets === null) return toReadiness(reasons, input);
  const ofSecrets = { ...input, inventory: secrets };
  reasons.push(...inventoryReasons(ofSecrets, SECRETS));
  const { ready, warnings } = toReadiness(reasons, input);
  return { ready, reasons, warnings: [...warnings, ...staleWarnings(ofSecrets, SECRETS)] };
}

const INVENTORY = "the inventory";
const SECRETS = "the list of Secrets";

function inventoryReasons(
  { inventory, steadyMs }: InventoryReadinessInput, subject: string = INVENTORY,
): string[] {
  const { loaded, lastSyncMs } = inventory;
  if (!loaded || lastSyncMs === null) return [`${subject} is not loaded yet${causeOf(inventory)}`];
  const ageMs = steadyMs - lastSyncMs;
  if (ageMs <= MAX_STALENESS_MS) return [];
  const limit = `maximum: ${MAX_STALENESS_MS / MS_PER_SECOND} s`;
  return [`${subject} is ${toSeconds(ageMs)} s old (${limit})${causeOf(inventory)}`];
}

/**
 * Returns a warning if the inventory is stale. A stale inventory makes the server unready only when the age of the
 * inventory exceeds 5 minutes.
 */
function staleWarnings({ inventory, steadyMs }: InventoryReadinessInput, subject: string = INVENTORY): string[] {
  const { lastSyncMs, fault } = inventory;
  if (fault === null || lastSyncMs === null) return [];
  return [`${subject} is stale, and was last current ${toSeconds(steadyMs - lastSyncMs)} s ago${causeOf(inventory)}`];
}

/** Returns the fault as one line. A fault can have several lines, which are joined with semicolons. */
function causeOf({ fault }: SourceStatus): string {
  return fault === null ? "" : `: ${fault.replaceAll("\n", "; ")}`;
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / MS_PER_SECOND);
}

function toReadiness(reasons: readonly string[], input: InventoryReadinessInput): Readiness {
  return { ready: reasons.length === 0, reasons, warnings: staleWarnings(input) };
}
