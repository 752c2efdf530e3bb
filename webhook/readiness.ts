import type { SourceStatus } from "../shared/inventory/source.ts";
import type { Readiness } from "../shared/server/health.ts";

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
export function readiness(input: ReadinessInput): Readiness {
  const { draining, inventory, maxStalenessMs, certificateNotAfter, nowMs } = input;
  const reasons: string[] = [];
  if (draining) reasons.push("stopping");
  if (!inventory.loaded) reasons.push(`the inventory has not been loaded yet${because(inventory.fault)}`);
  const ageMs = inventory.lastSyncMs === null ? 0 : nowMs - inventory.lastSyncMs;
  if (inventory.loaded && ageMs > maxStalenessMs) {
    reasons.push(`the inventory was last current ${seconds(ageMs)} ago, more than --max-staleness ${seconds(maxStalenessMs)}${because(inventory.fault)}`);
  }
  if (nowMs >= certificateNotAfter.getTime()) reasons.push(`the serving certificate expired at ${certificateNotAfter.toISOString()}`);
  return { ready: reasons.length === 0, reasons };
}

function because(fault: string | null): string {
  // A reason is one line, and a fault may list several.
  return fault === null ? "" : `: ${fault.replaceAll("\n", "; ")}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / MS_PER_SECOND)} s`;
}
