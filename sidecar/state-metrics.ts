import { Gauge, type Registry } from "prom-client";
import { SIDECAR_PREFIX } from "./metrics.ts";

/** What the gauges read of the sidecar at each scrape. */
export interface SidecarState {
  /** The sessions that are kept, at most as many as the cache holds. */
  expirations(): Iterable<{ readonly role: string; readonly expirationMs: number | null }>;
}

/** Registers the gauges that tell what the sidecar holds. `nowMs` is the clock of every time in `state`. */
export function registerSidecarState(registry: Registry, state: SidecarState, nowMs: () => number): void {
  registry.registerMetric(new Gauge({
    name: `${SIDECAR_PREFIX}credentials_expiry_seconds`,
    help: "Seconds until the session that is kept for a role expires; of several sessions of one role, the one that ends first.",
    labelNames: ["role"],
    registers: [],
    collect(): void {
      this.reset();
      for (const [role, expirationMs] of firstEnds(state.expirations())) this.set({ role }, Math.round((expirationMs - nowMs()) / 1000));
    },
  }));
}

function firstEnds(sessions: ReturnType<SidecarState["expirations"]>): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { role, expirationMs } of sessions) {
    if (expirationMs !== null) ends.set(role, Math.min(expirationMs, ends.get(role) ?? Infinity));
  }
  return ends;
}
