import { Registry } from "prom-client";
import { test } from "tap";
import { registerSidecarState, type SidecarState } from "../../sidecar/metrics.ts";

const NOW_MS = 1_000_000;
const QUIET: SidecarState = {
  sessions: { expirations: () => [], refreshLagMs: 0 },
  guard: { circuit: "closed", inFlight: 0, waiting: 0 },
  base: { lastVerification: null },
  probe: null,
};

async function metricsOf(state: Partial<SidecarState>): Promise<string> {
  const registry = new Registry();
  registerSidecarState(registry, { ...QUIET, ...state }, () => NOW_MS);
  const text = await registry.metrics();
  return text
    .replaceAll("ack_role_resolver_sidecar_", "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .join("\n");
}

test("reports zero for each count and no base identity if the sidecar is idle", async (t) => {
  t.equal(
    await metricsOf({}),
    [
      'circuit_state{state="closed"} 1',
      'circuit_state{state="open"} 0',
      'circuit_state{state="half-open"} 0',
      "refresh_lag_seconds 0",
      "sts_calls_in_flight 0",
      "sts_calls_waiting 0",
      "failing_roles 0",
    ].join("\n"),
  );
});

test("reports every state, and the earliest expiration of the sessions of a role", async (t) => {
  const sessions = [["a", 61_000], ["b", null], ["a", 60_000], ["a", 62_000]] as const;
  const text = await metricsOf({
    sessions: {
      expirations: () => sessions.map(([role, inMs]) => (
        { key: JSON.stringify([role, "digest"]), expirationMs: inMs === null ? null : NOW_MS + inMs }
      )),
      refreshLagMs: 1500,
    },
    guard: { circuit: "open", inFlight: 2, waiting: 3 },
    base: { lastVerification: { ageMs: 2500, expirationMs: NOW_MS + 4_000 } },
    probe: { failing: (check) => (check === "IRS-27" ? 4 : 0) },
  });
  t.equal(
    text,
    [
      'credentials_expiry_seconds{role="a"} 60',
      'circuit_state{state="closed"} 0',
      'circuit_state{state="open"} 1',
      'circuit_state{state="half-open"} 0',
      "refresh_lag_seconds 1.5",
      "sts_calls_in_flight 2",
      "sts_calls_waiting 3",
      "base_identity_age_seconds 2.5",
      "base_identity_expiry_seconds 4",
      "failing_roles 4",
    ].join("\n"),
  );
  t.notMatch(
    await metricsOf({ base: { lastVerification: { ageMs: 0, expirationMs: null } } }),
    "base_identity_expiry_seconds",
    "a long-lived key does not expire",
  );
});

test("removes a metric series that the next scrape does not set", async (t) => {
  const registry = new Registry();
  const base: { lastVerification: SidecarState["base"]["lastVerification"] } = {
    lastVerification: { ageMs: 1000, expirationMs: null },
  };
  registerSidecarState(registry, { ...QUIET, base }, () => NOW_MS);
  t.match(await registry.metrics(), "base_identity_age_seconds 1");
  base.lastVerification = null;
  t.notMatch(await registry.metrics(), /base_identity_age_seconds \d/);
});
