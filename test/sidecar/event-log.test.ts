import { test } from "tap";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { EventLog } from "../../sidecar/event-log.ts";
import { CircuitOpen } from "../../sidecar/sts-upstream/circuit-breaker.ts";

function subject(): { log: EventLog; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: new EventLog(createLogger({ name: "sidecar", level: "trace", destination: { write: (line) => void lines.push(JSON.parse(line)) } })) };
}

const messages = (lines: readonly Record<string, unknown>[]): unknown[] => lines.map(({ msg }) => msg);

test("the circuit is told when it opens, with the reason, and when it closes, whatever was tried between", (t) => {
  const { log, lines } = subject();
  log.circuit("closed", null);
  for (let i = 0; i < 10; i++) {
    log.circuit("open", "STS cannot be reached");
    log.circuit("half-open", null);
  }
  log.circuit("closed", null);
  t.match(lines, [{ level: "warn", reason: "STS cannot be reached", msg: /^circuit opened: / }, { level: "info", msg: /^circuit closed: / }]);
  t.equal(lines.length, 2);
  t.end();
});

test("the base identity is told when it is proven, ages, is lost, or is another's", (t) => {
  const { log, lines } = subject();
  const proven = { is: "proven", arn: "arn:a", fault: null } as const;
  const states = [proven, { is: "ageing", arn: "arn:a", fault: "no STS" }, { is: "lost", arn: "arn:a", fault: "no STS" }, proven, { ...proven, arn: "arn:b" }] as const;
  for (const state of states) for (let i = 0; i < 3; i++) log.base(state);
  t.same(messages(lines), [
    "base identity proven with STS", "base identity could not be renewed; the one in hand is used to its end", "no base identity: nothing new can be asked of STS",
    "base identity proven with STS", "base identity proven with STS",
  ]);
  t.match(lines, [{ base_arn: "arn:a" }, { reason: "no STS" }, { reason: "no STS" }, { base_arn: "arn:a" }, { base_arn: "arn:b" }]);
  t.end();
});

test("a session that cannot be renewed is told, and that it is again, but not what the circuit has said already", (t) => {
  const { log, lines } = subject();
  const session = { key: "k", roleARN: "arn:role" };
  log.refresh(session, null);
  log.refresh(session, new CircuitOpen("open"));
  log.refresh(session, null);
  t.equal(lines.length, 0);
  log.refresh(session, new ResolverError("ERR_STS_REFUSED", "AccessDenied"));
  log.refresh(session, null);
  log.refresh(session, new Error("planted"));
  t.match(lines, [
    { level: "warn", role_arn: "arn:role", code: "ERR_STS_REFUSED", reason: "AccessDenied" }, { level: "info", role_arn: "arn:role", msg: "session is renewed again" },
    { level: "warn", code: "ERR_INTERNAL" },
  ]);
  t.notMatch(JSON.stringify(lines), /planted/);
  t.end();
});

test("sessions that live too shortly are told of once, with the fix", (t) => {
  const { log, lines } = subject();
  log.shortLived("arn:role", 900_000);
  log.shortLived("arn:other", 900_000);
  t.match(lines, [{ level: "warn", role_arn: "arn:role", life_seconds: 900, fix: /MaxSessionDuration/ }]);
  t.equal(lines.length, 1);
  t.end();
});

test("of sessions without number those told longest ago are forgotten", (t) => {
  const { log, lines } = subject();
  for (let i = 0; i <= 1_000; i++) log.refresh({ key: `k${i}`, roleARN: "arn:role" }, new Error("no"));
  log.refresh({ key: "k0", roleARN: "arn:role" }, null);
  log.refresh({ key: "k1", roleARN: "arn:role" }, null);
  t.equal(lines.length, 1_002);
  t.end();
});

test("that a duration is capped is told of once, with the fix", (t) => {
  const { log, lines } = subject();
  log.durationCapped("arn:role", 7200);
  log.durationCapped("arn:other", 7200);
  t.match(lines, [{ level: "warn", role_arn: "arn:role", wanted_seconds: 7200, fix: /at most 3600/ }]);
  t.equal(lines.length, 1);
  t.end();
});
