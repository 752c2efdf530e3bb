import { ResolverError } from "../decisions/errors.ts";
import type { SourceStatus } from "../inventory/source.ts";
import type { Readiness } from "./health.ts";

interface InventoryReadinessInput {
  readonly inventory: SourceStatus;
  /** The value of --max-staleness, in ms. An older inventory makes the server unready. */
  readonly maxStalenessMs: number;
  /** The current time, on the same clock as `inventory.lastSyncMs`. */
  readonly nowMs: number;
}

export interface WebhookReadinessInput extends InventoryReadinessInput {
  readonly draining: boolean;
  readonly certificateNotAfter: Date;
}

export interface SidecarReadinessInput extends InventoryReadinessInput {
  /** The sidecar's base identity. */
  readonly base: { readonly usable: boolean; readonly fault: string | null };
}

const MS_PER_SECOND = 1000;

/** Throws ERR_NOT_READY before the first complete load. An unloaded inventory is never treated as empty. */
export function requireLoaded({ loaded }: Pick<SourceStatus, "loaded">): void {
  if (!loaded) throw new ResolverError("ERR_NOT_READY", "The inventory is not loaded yet. Retry in a moment.");
}

/** Returns ready if the inventory is loaded and current, the certificate is valid, and the webhook is not draining. */
export function webhookReadiness(input: WebhookReadinessInput): Readiness {
  const reasons = inventoryReasons(input);
  if (input.draining) reasons.unshift("the webhook is shutting down");
  const { certificateNotAfter } = input;
  if (input.nowMs >= certificateNotAfter.getTime()) {
    reasons.push(`the serving certificate expired at ${certificateNotAfter.toISOString()}`);
  }
  return toReadiness(reasons);
}

/**
 * Returns ready if the inventory is loaded and current, and the base identity is usable. An STS outage alone does not
 * make the sidecar unready: it still serves cached sessions, and a restart would lose them. A stale inventory still
 * grants, but makes the Pod unready, so that the outage is visible.
 */
export function sidecarReadiness(input: SidecarReadinessInput): Readiness {
  const reasons = inventoryReasons(input);
  if (!input.base.usable) reasons.push(input.base.fault ?? "the base identity is not verified with STS yet");
  return toReadiness(reasons);
}

function inventoryReasons({ inventory, maxStalenessMs, nowMs }: InventoryReadinessInput): string[] {
  const { loaded, lastSyncMs, fault } = inventory;
  // A reason is one line; a fault can have several.
  const cause = fault === null ? "" : `: ${fault.replaceAll("\n", "; ")}`;
  if (!loaded || lastSyncMs === null) return [`the inventory is not loaded yet${cause}`];
  const ageMs = nowMs - lastSyncMs;
  if (ageMs <= maxStalenessMs) return [];
  const ageSeconds = Math.ceil(ageMs / MS_PER_SECOND);
  return [`the inventory is ${ageSeconds} s old (--max-staleness is ${maxStalenessMs / MS_PER_SECOND} s)${cause}`];
}

function toReadiness(reasons: readonly string[]): Readiness {
  return { ready: reasons.length === 0, reasons };
}
