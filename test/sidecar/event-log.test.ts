import { test } from "tap";
import { ALL_CLOSED, NOTHING_CLOSED } from "../../shared/core/closures.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { EventLog } from "../../sidecar/event-log.ts";
import { CircuitOpenError } from "../../sidecar/sts-upstream/errors.ts";
import { RecordedLog } from "./recorded-log.ts";

function subject(): { log: EventLog; lines: Record<string, unknown>[] } {
  const { log, lines } = new RecordedLog();
  return { lines, log: new EventLog(log) };
}

const messages = (lines: readonly Record<string, unknown>[]): unknown[] => lines.map(({ msg }) => msg);

test("logs when and why the circuit opens, and when the circuit closes, but does not log probes", (t) => {
  const { log, lines } = subject();
  log.logCircuit("closed", null);
  for (let i = 0; i < 10; i++) {
    log.logCircuit("open", "STS cannot be reached");
    log.logCircuit("half-open", null);
  }
  log.logCircuit("closed", null);
  t.match(lines, [
    { level: "warn", reason: "STS cannot be reached", msg: /^circuit opened: / },
    { level: "info", msg: /^circuit closed: / },
  ]);
  t.equal(lines.length, 2);
  t.end();
});

test("logs when the base identity is verified, stale, unavailable or replaced", (t) => {
  const { log, lines } = subject();
  const verified = { status: "verified", arn: "arn:a", fault: null } as const;
  const states = [
    verified,
    { status: "stale", arn: "arn:a", fault: "no STS" },
    { status: "unavailable", arn: "arn:a", fault: "no STS" },
    verified,
    { ...verified, arn: "arn:b" },
  ] as const;
  for (const state of states) for (let i = 0; i < 3; i++) log.logBase(state);
  t.same(messages(lines), [
    "base identity verified with STS",
    "base identity refresh failed; the current credentials are used until they expire",
    "base identity is unavailable; the sidecar cannot request new sessions",
    "base identity verified with STS",
    "base identity verified with STS",
  ]);
  t.match(lines, [
    { base_arn: "arn:a" },
    { reason: "no STS" },
    { reason: "no STS" },
    { base_arn: "arn:a" },
    { base_arn: "arn:b" },
  ]);
  t.end();
});

test("logs a failed session refresh and its recovery, but logs no failure while the circuit is open", (t) => {
  const { log, lines } = subject();
  const open = new CircuitOpenError("open");
  for (const state of ["failing", "recovered"] as const) log.logRefresh("arn:role", open, state);
  t.equal(lines.length, 0);
  const rejected = new ResolverError("ERR_STS_REFUSED", "AccessDenied");
  for (const state of ["failing", "recovered"] as const) log.logRefresh("arn:role", rejected, state);
  log.logRefresh("arn:role", new Error("planted"), "failing");
  t.match(lines, [
    { level: "warn", role_arn: "arn:role", code: "ERR_STS_REFUSED", reason: "AccessDenied" },
    { level: "info", role_arn: "arn:role", msg: "session refresh succeeded after a failure" },
    { level: "warn", code: "ERR_INTERNAL" },
  ]);
  t.notMatch(JSON.stringify(lines), /planted/);
  t.end();
});

test("logs a short session lifetime once per process, and logs the fix", (t) => {
  const { log, lines } = subject();
  const durationField = "duration-seconds of the selector";
  log.logShortSession({ key: '["arn:role","digest"]', durationField }, 900_000);
  log.logShortSession({ key: '["arn:other","digest"]', durationField }, 900_000);
  const fix = "set MaxSessionDuration of the role and duration-seconds of the selector to at least 3600";
  t.match(lines, [{ level: "warn", role_arn: "arn:role", life_seconds: 900, fix }]);
  t.equal(lines.length, 1);
  t.end();
});

test("names only the role of a session whose lifetime is too short if nothing else sets its duration", (t) => {
  const { log, lines } = subject();
  log.logShortSession({ key: JSON.stringify(["arn:role", "digest", "owner"]) }, 900_000);
  t.match(lines, [{ role_arn: "arn:role", fix: "set MaxSessionDuration of the role to at least 3600" }]);
  t.end();
});

test("logs a limited session duration once per process, and logs the fix", (t) => {
  const { log, lines } = subject();
  log.logCappedDuration("arn:role", 7200);
  log.logCappedDuration("arn:other", 7200);
  t.match(lines, [{ level: "warn", role_arn: "arn:role", requested_seconds: 7200, fix: /at most 3600/ }]);
  t.equal(lines.length, 1);
  t.end();
});

test("logs the profile of the installation when it is learned, changed, stale and current again", (t) => {
  const { log, lines } = subject();
  const [open, closed] = [NOTHING_CLOSED, ALL_CLOSED];
  for (const closures of [open, open, closed]) log.logClosures(closures);
  const loaded = { loaded: true, lastSyncMs: 0 };
  log.logWatch("profile", { ...loaded, fault: "gone" });
  log.logWatch("profile", { ...loaded, fault: null });
  log.logWatch("profile", { ...loaded, loaded: false, fault: "forbidden" });
  t.match(lines, [
    { msg: "the profile of the installation applies", base: "vend", unmatched: "base" },
    { msg: "the profile of the installation applies", base: "identity-only", unmatched: "deny" },
    { level: "warn", fault: "gone", msg: "profile is stale; the last one is in use" },
    { level: "info", msg: "profile is current again" },
    { level: "warn", fault: "forbidden", msg: "profile is not loaded yet" },
  ]);
  t.equal(lines.length, 5);
  t.end();
});
