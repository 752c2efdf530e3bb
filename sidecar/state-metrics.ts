import { Gauge, type Registry } from "prom-client";
import type { CircuitState } from "./circuit.ts";
import { SIDECAR_PREFIX } from "./metrics.ts";

/** What the gauges read of the sidecar at each scrape. */
export interface SidecarState {
  /** The sessions that are kept, at most as many as the cache holds. */
  expirations(): Iterable<{ readonly role: string; readonly expirationMs: number | null }>;
  readonly refreshLagMs: number;
  readonly circuit: CircuitState;
  /** Calls of STS for roles: on their way, and waiting for their turn. */
  readonly inFlight: number;
  readonly waiting: number;
  /** Null before it has been proved. */
  readonly base: { readonly ageMs: number; readonly expirationMs: number | null } | null;
  /** Roles that the last check of IRS-27 could not assume. */
  readonly failingRoles: number;
}

const CIRCUIT_STATES: readonly CircuitState[] = ["closed", "open", "half-open"];

/** Registers the gauges that tell how the sidecar stands. `nowMs` is the clock of every epoch time in `state`. */
export function registerSidecarState(registry: Registry, state: SidecarState, nowMs: () => number): void {
  const secondsTo = (expirationMs: number): number => Math.round((expirationMs - nowMs()) / 1000);
  const gauge = (name: string, help: string, read: () => number | null): void => (
    register(registry, { name, help }, (metric) => {
      const value = read();
      if (value !== null) metric.set(value);
    })
  );
  register(registry, {
    name: "credentials_expiry_seconds",
    help: "Seconds until the session that is kept for a role expires; of several sessions of one role, the one that ends first.",
    labelNames: ["role"],
  }, (metric) => {
    for (const [role, expirationMs] of firstEnds(state.expirations())) metric.set({ role }, secondsTo(expirationMs));
  });
  register(registry, { name: "circuit_state", help: "1 for the state that the circuit before STS is in.", labelNames: ["state"] }, (metric) => {
    for (const each of CIRCUIT_STATES) metric.set({ state: each }, Number(each === state.circuit));
  });
  gauge("refresh_lag_seconds", "For how long the refresh is due that has been failing for the longest; 0 while all succeed.", () => state.refreshLagMs / 1000);
  gauge("sts_calls_in_flight", "Calls of STS for roles that are on their way.", () => state.inFlight);
  gauge("sts_calls_waiting", "Calls of STS for roles that wait for their turn in the budget.", () => state.waiting);
  gauge("base_identity_age_seconds", "Seconds since STS last said whose the base identity is; absent before it has.", () => (state.base === null ? null : state.base.ageMs / 1000));
  gauge("base_identity_expiry_seconds", "Seconds until the base identity's credentials expire; absent where they do not.", () => {
    const expirationMs = state.base?.expirationMs ?? null;
    return expirationMs === null ? null : secondsTo(expirationMs);
  });
  gauge("failing_roles", "Granted roles that --check IRS-27=warn found not assumable.", () => state.failingRoles);
}

interface GaugeText {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: string[];
}

/** A gauge that is told anew at each scrape; what `read` does not set is absent. */
function register(registry: Registry, { name, ...text }: GaugeText, read: (gauge: Gauge) => void): void {
  registry.registerMetric(new Gauge({
    ...text,
    name: SIDECAR_PREFIX + name,
    registers: [],
    collect(): void {
      this.reset();
      // Without labels a reset leaves a 0 behind.
      if (text.labelNames === undefined) this.remove();
      read(this);
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
