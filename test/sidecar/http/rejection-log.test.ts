import { Registry } from "prom-client";
import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import { type Rejection, RejectionLog } from "../../../sidecar/http/rejection-log.ts";
import { createSidecarMetrics } from "../../../sidecar/metrics.ts";
import { FakeClock } from "../fake-clock.ts";
import { RecordedLog } from "../recorded-log.ts";

const MINUTE = 60_000;
const DENIED: Rejection = {
  error: new ResolverError("ERR_SELECTOR_NOT_GRANTED", "not for this group"),
  path: "/v1/credentials/selectors/:name",
  requested: { name: "team-a" },
  selectors: ["team-a"],
};

interface Subject {
  readonly clock: FakeClock;
  readonly rejections: RejectionLog;
  readonly lines: Record<string, unknown>[];
  /** Returns the value of a counter for a label value. */
  readonly count: (name: "rejections" | "authFailures", label: string) => Promise<number>;
}

function subject(): Subject {
  const clock = new FakeClock();
  const { log, lines } = new RecordedLog();
  const metrics = createSidecarMetrics(new Registry());
  const count: Subject["count"] = async (name, label) => {
    const { values } = await metrics[name].get();
    return values.find(({ labels }) => Object.values(labels).includes(label))?.value ?? 0;
  };
  return { clock, lines, count, rejections: new RejectionLog({ log, clock, metrics }) };
}

test("logs a repeated rejection once, with the selector names, and counts each rejection", async (t) => {
  const { rejections, lines, count } = subject();
  for (let i = 0; i < 5; i++)
    rejections.record({ ...DENIED, error: new ResolverError("ERR_SELECTOR_NOT_GRANTED", "not for this group") });
  t.match(lines, [
    {
      level: "warn",
      msg: "request rejected",
      path: DENIED.path,
      requested: { name: "team-a" },
      selectors: ["team-a"],
      code: "ERR_SELECTOR_NOT_GRANTED",
      status: 403,
      reason: "not for this group",
    },
  ]);
  t.equal(lines.length, 1);
  t.notOk("suppressed" in (lines[0] ?? {}));
  t.equal(await count("rejections", "ERR_SELECTOR_NOT_GRANTED"), 5);
});

test("logs a changed rejection again, and a repeated rejection after 10 min with the number of repeats", async (t) => {
  const { rejections, lines, clock } = subject();
  const others: readonly Rejection[] = [
    { ...DENIED, error: new ResolverError("ERR_SELECTOR_MALFORMED", "not for this group") },
    { ...DENIED, path: "/v1/credentials" },
    { ...DENIED, requested: { name: "team-b" } },
    { ...DENIED, selectors: ["team-a", "team-b"] },
    { ...DENIED, error: new ResolverError("ERR_SELECTOR_NOT_GRANTED", "another") },
  ];
  for (const rejection of [DENIED, ...others]) rejections.record(rejection);
  t.equal(lines.length, 6);
  const [, , , , , last = DENIED] = [DENIED, ...others];
  await clock.advance(10 * MINUTE - 1);
  rejections.record(last);
  t.equal(lines.length, 6);
  await clock.advance(1);
  rejections.record(last);
  t.match(lines.at(-1), { reason: "another", suppressed: 1 });
  rejections.record(last);
  await clock.advance(20 * MINUTE);
  rejections.record(last);
  t.equal(lines.length, 8, "the rejection is logged again after its entry was evicted");
});

test("logs a repeated rejection after 10 min even if the wall clock was set back", async (t) => {
  const { rejections, lines, clock } = subject();
  rejections.record(DENIED);
  clock.jump(-7 * 24 * 60 * MINUTE);
  await clock.advance(10 * MINUTE);
  rejections.record(DENIED);
  t.equal(lines.length, 2);
});

test("logs rejections of unauthenticated clients once per error code and path, but not once per reason", async (t) => {
  const { rejections, lines, count } = subject();
  for (let i = 0; i < 100; i++) {
    rejections.record({
      error: new ResolverError("ERR_REQUEST_HOST", `header ${i}`),
      path: "unknown",
      requested: null,
      selectors: [],
    });
    rejections.record({
      error: new ResolverError("ERR_TOKEN_INVALID", "no token"),
      path: "unknown",
      requested: null,
      selectors: [],
    });
  }
  t.equal(lines.length, 2);
  t.notOk("requested" in (lines[0] ?? {}));
  t.equal(await count("authFailures", "host"), 100);
  t.equal(await count("authFailures", "token"), 100);
});

test("logs up to 1,000 different rejections separately, and all further rejections as one", async (t) => {
  const { rejections, lines, clock } = subject();
  const record = (i: number): void => rejections.record({ ...DENIED, requested: { name: `team-${i}` } });
  for (let i = 0; i < 3_000; i++) record(i);
  t.equal(lines.length, 1_001);
  await clock.advance(10 * MINUTE);
  record(5_000);
  t.equal(lines.length, 1_002, "evicted entries free the limit");
  t.match(lines.at(-1), { requested: { name: "team-5000" } });
});

test("logs an unexpected error with its stack, but does not log its message", (t) => {
  const { rejections, lines } = subject();
  rejections.record({
    ...DENIED,
    error: new ResolverError("ERR_INTERNAL", "The sidecar failed unexpectedly."),
    cause: new TypeError("planted detail"),
  });
  rejections.record({
    ...DENIED,
    requested: {},
    error: new ResolverError("ERR_INTERNAL", "The sidecar failed unexpectedly."),
    cause: "planted text",
  });
  t.match(lines, [
    { level: "error", msg: "request failed", fault: "TypeError", stack: [/^at .*rejection-log\.test/] },
    { fault: "string" },
  ]);
  t.notMatch(JSON.stringify(lines), /planted/);
  t.end();
});
