import type { SourceStatus } from "../shared/inventory/source.ts";
import type { Readiness } from "../shared/server/health.ts";

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
export function readiness({ inventory, maxStalenessMs, base, nowMs }: ReadinessView): Readiness {
  const reasons: string[] = [];
  // A reason is one line, and a fault may list several.
  const because = inventory.fault === null ? "" : `: ${inventory.fault.replaceAll("\n", "; ")}`;
  if (!inventory.loaded) reasons.push(`the inventory is not loaded${because}`);
  else if (inventory.lastSyncMs === null || nowMs - inventory.lastSyncMs > maxStalenessMs) {
    reasons.push(`the inventory is older than --max-staleness${because}`);
  }
  if (!base.usable) reasons.push(base.fault ?? "the sidecar's own identity is not proved with STS yet");
  return { ready: reasons.length === 0, reasons };
}
