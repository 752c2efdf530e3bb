import type { SourceStatus } from "../inventory/source.ts";
import type { Readiness } from "./health.ts";

export interface ReadinessInput {
  readonly draining: boolean;
  readonly inventory: SourceStatus;
  /** The age in ms from which a view is too old. */
  readonly maxStalenessMs: number;
  readonly certificateNotAfter: Date;
  /** The clock of the inventory's `lastSyncMs`. */
  readonly nowMs: number;
}

const MS_PER_SECOND = 1000;

/** Ready means loaded, current and reachable over TLS; alive is another question. */
export function webhookReadiness(input: ReadinessInput): Readiness {
  const { draining, inventory, maxStalenessMs, certificateNotAfter, nowMs } = input;
  const reasons: string[] = [];
  if (draining) reasons.push("stopping");
  if (!inventory.loaded) reasons.push(`the inventory has not been loaded yet${becauseOf(inventory.fault)}`);
  const ageMs = inventory.lastSyncMs === null ? 0 : nowMs - inventory.lastSyncMs;
  if (inventory.loaded && ageMs > maxStalenessMs) {
    reasons.push(`the inventory was last current ${seconds(ageMs)} ago, more than --max-staleness ${seconds(maxStalenessMs)}${becauseOf(inventory.fault)}`);
  }
  if (nowMs >= certificateNotAfter.getTime()) reasons.push(`the serving certificate expired at ${certificateNotAfter.toISOString()}`);
  return { ready: reasons.length === 0, reasons };
}

function becauseOf(fault: string | null): string {
  // A reason is one line, and a fault may list several.
  return fault === null ? "" : `: ${fault.replaceAll("\n", "; ")}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / MS_PER_SECOND)} s`;
}

export interface ReadinessView {
  readonly inventory: SourceStatus;
  readonly maxStalenessMs: number;
  /** The sidecar's own identity. */
  readonly base: { readonly usable: boolean; readonly fault: string | null };
  /** By the clock of the inventory's source. */
  readonly nowMs: number;
}

/**
 * Whether requests can be answered. STS being out of reach is no reason as long as the base identity in hand is good: what is kept is
 * served on, and a Pod that is not ready would be restarted or waited for in vain. An old view is still granted from, and is one: a
 * cluster out of reach must not take roles away, nor go unseen.
 */
export function sidecarReadiness({ inventory, maxStalenessMs, base, nowMs }: ReadinessView): Readiness {
  const reasons: string[] = [];
  const because = becauseOf(inventory.fault);
  if (!inventory.loaded) reasons.push(`the inventory is not loaded${because}`);
  else if (inventory.lastSyncMs === null || nowMs - inventory.lastSyncMs > maxStalenessMs) {
    reasons.push(`the inventory is older than --max-staleness${because}`);
  }
  if (!base.usable) reasons.push(base.fault ?? "the sidecar's own identity is not proved with STS yet");
  return { ready: reasons.length === 0, reasons };
}
