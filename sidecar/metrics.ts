import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { LATENCY_BUCKETS_SECONDS, METRIC_PREFIX } from "../shared/server/metrics.ts";
import type { CircuitState } from "./sts-upstream/circuit-breaker.ts";

/** What of a request was not believed: its token, its signature, or that it is for this listener and of no proxy or browser. */
export type AuthFailure = "token" | "signature" | "host";

/** What the sidecar counts as it happens. Every label has a bounded set of values; what it reads at a scrape is in state-metrics.ts. */
export interface SidecarMetrics {
  /** `path` is the route's pattern, never the path that was asked. */
  request(path: string, status: number, seconds: number): void;
  /** What node refused before it was a request of any path. */
  unparsed(status: number): void;
  /** `stale`: served on after a refresh failed. */
  lookup(result: "hit" | "miss" | "stale"): void;
  /** `code` is `ok`, STS's own code where it is a documented one, `other` or `unreachable`. */
  stsCall(action: string, code: string, seconds: number): void;
  /** `code` is that of the error answered, of docs/errors.md. */
  refused(code: string): void;
  authFailure(kind: AuthFailure): void;
  /** Another token was taken over from its file. */
  tokenReloaded(): void;
  /** The token's file turned unusable; the last token stays good. */
  tokenReloadFailed(): void;
  accountRefused(): void;
  /** IRS-27: whether the base identity could assume a role that a selector grants; `skipped` where STS could not be asked. */
  roleChecked(result: "ok" | "refused" | "skipped"): void;
}

export const SIDECAR_PREFIX = `${METRIC_PREFIX}sidecar_`;

/** To 1 s alone, which no answer may reach. */
const ANSWER_BUCKETS_SECONDS = LATENCY_BUCKETS_SECONDS.filter((bound) => bound < 1).concat(0.5, 0.9, 1).toSorted((a, b) => a - b);
/** A call is given up after 5 s. */
const STS_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createSidecarMetrics(registry: Registry): SidecarMetrics {
  const registers = [registry];
  const counter = <L extends string = never>(name: string, help: string, ...labelNames: L[]): Counter<L> => (
    new Counter({ name: `${SIDECAR_PREFIX}${name}_total`, help, labelNames, registers })
  );
  const histogram = <L extends string>(name: string, help: string, options: { labelNames: L[]; buckets: number[] }): Histogram<L> => (
    new Histogram({ name: `${SIDECAR_PREFIX}${name}_duration_seconds`, help, ...options, registers })
  );
  const requests = counter("requests", "Answers by path and HTTP status.", "path", "code");
  const duration = histogram("request", "Time from a request's head to its answer.", { labelNames: ["path"], buckets: ANSWER_BUCKETS_SECONDS });
  const lookups = counter("cache_lookups", "Lookups of role sessions by result: hit, miss, or stale where a session was served on after a refresh failed.", "result");
  const calls = counter("sts_calls", "Calls of STS by action and outcome.", "action", "code");
  const callDuration = histogram("sts_call", "Time that STS took to answer, or to be given up.", { labelNames: ["action"], buckets: STS_BUCKETS_SECONDS });
  const refusals = counter("refusals", "Requests answered with an error, by its code.", "code");
  const authFailures = counter("auth_failures", "Requests whose token, signature or Host was not believed.", "kind");
  const reloads = counter("token_reloads", "Tokens taken over from --token-file (ok), and times that the file turned unusable (failed).", "result");
  const accounts = counter("account_refusals", "Roles refused for being in another account than the first answer's.");
  const checks = counter("role_checks", "Trial AssumeRole calls of --check IRS-27=warn by result.", "result");
  // A counter that first appears at 1 has had no increase by Prometheus' reckoning, so the alerts of docs/metrics.md would miss a first event.
  for (const result of ["ok", "failed"]) reloads.inc({ result }, 0);
  for (const kind of ["token", "signature", "host"] as const satisfies readonly AuthFailure[]) authFailures.inc({ kind }, 0);
  calls.inc({ action: "AssumeRole", code: "AccessDenied" }, 0);
  return {
    request(path, status, seconds) {
      requests.inc({ path, code: status });
      duration.observe({ path }, seconds);
    },
    unparsed: (status) => requests.inc({ path: "unparsed", code: status }),
    lookup: (result) => lookups.inc({ result }),
    stsCall(action, code, seconds) {
      calls.inc({ action, code });
      callDuration.observe({ action }, seconds);
    },
    refused: (code) => refusals.inc({ code }),
    authFailure: (kind) => authFailures.inc({ kind }),
    tokenReloaded: () => reloads.inc({ result: "ok" }),
    tokenReloadFailed: () => reloads.inc({ result: "failed" }),
    accountRefused: () => accounts.inc(),
    roleChecked: (result) => checks.inc({ result }),
  };
}

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
