import { Counter, Histogram, type Registry } from "prom-client";
import { LATENCY_BUCKETS_SECONDS, METRIC_PREFIX, registerGauge, registerValue } from "../shared/server/metrics.ts";
import { ResponseMetrics } from "../shared/server/response-metrics.ts";
import type { BaseIdentity } from "./base/identity.ts";
import { roleOfSession } from "./credentials/session.ts";
import type { CircuitState } from "./sts-upstream/circuit-breaker.ts";

const PREFIX = `${METRIC_PREFIX}sidecar_`;

/** The check that rejected a request. The value `host` means the Host header, or a header of a proxy or browser. */
export type AuthFailure = "token" | "signature" | "host";

/** The sidecar's counters and histograms. Each label has a bounded set of values. */
export interface SidecarMetrics {
  /**
   * `path` is a route pattern, never the requested path. For requests that Node.js cannot parse, `path` is `unparsed`.
   */
  readonly responses: ResponseMetrics<"code">;
  /** `result` is `hit`, `miss` or `stale`. `stale` is a cached session whose last refresh failed. */
  readonly cacheLookups: Counter<"result">;
  /** `code` is `ok`, a documented STS error code, `other` or `unreachable`. */
  readonly stsCalls: Counter<"action" | "code">;
  readonly stsCallDuration: Histogram<"action">;
  /** `code` is an error code of docs/errors.md or of STS. */
  readonly rejections: Counter<"code">;
  readonly authFailures: Counter<"kind">;
  readonly tokenReloads: Counter<"result">;
  readonly accountRejections: Counter;
  /**
   * `result` is `ok`, `refused` or `skipped`. `refused`: STS rejected the call. `skipped`: STS was unavailable, or the
   * sidecar denied the role.
   */
  readonly roleProbes: Counter<"result">;
  readonly events: Counter<"outcome">;
}

/** The buckets end at 3.1 s, because a response takes at most 3 s, and one with container credentials 850 ms. */
const REQUEST_BUCKETS_SECONDS = LATENCY_BUCKETS_SECONDS.filter((bound) => bound < 1)
  .concat(0.5, 0.9, 1, 3.1)
  .toSorted((a, b) => a - b);
/** The buckets end at 5 s, because a call times out after 5 s. */
const STS_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Registers a counter. `name` lacks the common parts. */
export function sidecarCounter<L extends string>(
  registry: Registry, { name, ...options }: { readonly name: string; readonly help: string; readonly labelNames: L[] },
): Counter<L> {
  return new Counter({ ...options, name: `${PREFIX}${name}_total`, registers: [registry] });
}

export function createSidecarMetrics(registry: Registry): SidecarMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    sidecarCounter(registry, { name, help, labelNames });
  const metrics: SidecarMetrics = {
    responses: new ResponseMetrics(registry, {
      prefix: PREFIX, labelNames: ["code"], buckets: REQUEST_BUCKETS_SECONDS,
      help: {
        requests: "Responses by path and HTTP status.", duration: "Time from the request headers to the response.",
      },
    }),
    cacheLookups: counter(
      "cache_lookups", "Lookups of cached role sessions by result. A session is stale if its last refresh failed.",
      ["result"],
    ),
    stsCalls: counter("sts_calls", "STS calls by action and outcome.", ["action", "code"]),
    stsCallDuration: new Histogram({
      name: `${PREFIX}sts_call_duration_seconds`,
      help: "Duration of STS calls, until STS responds or the call times out.",
      labelNames: ["action"],
      buckets: STS_BUCKETS_SECONDS,
      registers,
    }),
    rejections: counter("refusals", "Error responses by error code.", ["code"]),
    authFailures: counter("auth_failures", "Requests with an invalid token, signature or Host header.", ["kind"]),
    tokenReloads: counter("token_reloads", "Reloads of a changed --token-file by result.", ["result"]),
    accountRejections: counter("account_refusals", "Denied requests for a role that is not in the pinned account.", []),
    roleProbes: counter("role_checks", "AssumeRole probes of checks such as IRS-27 by result.", ["result"]),
    events: counter("events", "Kubernetes Events about roles that STS rejects, by outcome.", ["outcome"]),
  };
  initializeAlertedSeries(metrics);
  return metrics;
}

/** Sets the series that alerts use to 0. If the first sample of a counter were 1, Prometheus would see no increase. */
function initializeAlertedSeries({ tokenReloads, authFailures, stsCalls }: SidecarMetrics): void {
  for (const result of ["ok", "failed"]) tokenReloads.inc({ result }, 0);
  for (const kind of ["token", "signature", "host"] as const satisfies readonly AuthFailure[]) {
    authFailures.inc({ kind }, 0);
  }
  stsCalls.inc({ action: "AssumeRole", code: "AccessDenied" }, 0);
}

/** The state that the gauges read at each scrape. */
export interface SidecarState {
  readonly sessions: {
    expirations(): Iterable<{ readonly key: string; readonly expirationMs: number | null }>;
    readonly refreshLagMs: number;
  };
  readonly guard: { readonly circuit: CircuitState; readonly inFlight: number; readonly waiting: number };
  readonly base: Pick<BaseIdentity, "lastVerification">;
  /** `failing` returns the number of objects of a check whose role STS rejected. */
  readonly probe: { readonly failing: (check: string) => number } | null;
}

const CIRCUIT_STATES: readonly CircuitState[] = ["closed", "open", "half-open"];

/** Registers the gauges of the sidecar's state. `nowMs` returns the current time on the wall clock. */
export function registerSidecarState(
  registry: Registry, { sessions, guard, base, probe }: SidecarState, nowMs: () => number,
): void {
  const secondsUntil = (expirationMs: number): number => Math.round((expirationMs - nowMs()) / 1000);
  const gauge = (name: string, help: string, read: () => number | null): void =>
    registerValue(registry, { name: `sidecar_${name}`, help }, read);
  const expiry = {
    name: "sidecar_credentials_expiry_seconds",
    help: "Seconds until the first cached session of the role expires.",
    labelNames: ["role"],
  };
  registerGauge(registry, expiry, (metric) => {
    for (const [role, expirationMs] of firstExpirations(sessions.expirations())) {
      metric.set({ role }, secondsUntil(expirationMs));
    }
  });
  const circuit = {
    name: "sidecar_circuit_state", help: "1 for the current state of the STS circuit.", labelNames: ["state"],
  };
  registerGauge(registry, circuit, (metric) => {
    for (const each of CIRCUIT_STATES) metric.set({ state: each }, Number(each === guard.circuit));
  });
  gauge(
    "refresh_lag_seconds",
    "Delay of the most overdue session refresh, in seconds; 0 if no refresh is overdue.",
    () => sessions.refreshLagMs / 1000,
  );
  gauge("sts_calls_in_flight", "AssumeRole calls in flight.", () => guard.inFlight);
  gauge("sts_calls_waiting", "AssumeRole calls queued behind the rate limit.", () => guard.waiting);
  gauge("base_identity_age_seconds", "Seconds since the last verification of the base identity by STS.", () => {
    const ageMs = base.lastVerification?.ageMs ?? null;
    return ageMs === null ? null : ageMs / 1000;
  });
  gauge(
    "base_identity_expiry_seconds",
    "Seconds until the credentials of the base identity expire; absent if they do not expire.",
    () => {
      const expirationMs = base.lastVerification?.expirationMs ?? null;
      return expirationMs === null ? null : secondsUntil(expirationMs);
    },
  );
  gauge("failing_roles", "Selectors whose role STS rejected in the last probe (--check IRS-27=warn).", () =>
    probe?.failing("IRS-27") ?? 0,
  );
}

function firstExpirations(sessions: ReturnType<SidecarState["sessions"]["expirations"]>): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const { key, expirationMs } of sessions) {
    if (expirationMs === null) continue;
    const role = roleOfSession(key);
    first.set(role, Math.min(expirationMs, first.get(role) ?? Infinity));
  }
  return first;
}
