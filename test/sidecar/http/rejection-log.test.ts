import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { type Rejection, RejectionLog } from "../../../sidecar/http/rejection-log.ts";
import { FakeClock } from "../fake-clock.ts";

const MINUTE = 60_000;
const DENIED: Rejection = {
  error: new ResolverError("ERR_SELECTOR_NOT_GRANTED", "not for this group"), path: "/v1/credentials/selectors/:name", asked: { name: "team-a" }, selectors: ["team-a"],
};

interface Subject {
  readonly clock: FakeClock;
  readonly refusals: RejectionLog;
  readonly lines: Record<string, unknown>[];
  readonly counted: string[];
}

function subject(): Subject {
  const clock = new FakeClock();
  const lines: Record<string, unknown>[] = [];
  const counted: string[] = [];
  const log = createLogger({ name: "sidecar", level: "trace", destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const metrics = { refused: (code: string) => void counted.push(code), authFailure: (kind: string) => void counted.push(kind) };
  return { clock, lines, counted, refusals: new RejectionLog({ log, clock, metrics }) };
}

test("the same refusal is logged once, with the selectors' names, and counted each time", (t) => {
  const { refusals, lines, counted } = subject();
  for (let i = 0; i < 5; i++) refusals.tell({ ...DENIED, error: new ResolverError("ERR_SELECTOR_NOT_GRANTED", "not for this group") });
  t.match(lines, [{
    level: "warn", msg: "credentials refused", path: DENIED.path, asked: { name: "team-a" }, selectors: ["team-a"], code: "ERR_SELECTOR_NOT_GRANTED", status: 403,
    reason: "not for this group",
  }]);
  t.equal(lines.length, 1);
  t.notOk("left_out" in (lines[0] ?? {}));
  t.equal(counted.length, 5);
  t.end();
});

test("it is logged again when anything of it has changed, and after 10 minutes with a count of those in between", async (t) => {
  const { refusals, lines, clock } = subject();
  const others: readonly Rejection[] = [
    { ...DENIED, error: new ResolverError("ERR_SELECTOR_MALFORMED", "not for this group") }, { ...DENIED, path: "/v1/credentials" },
    { ...DENIED, asked: { name: "team-b" } }, { ...DENIED, selectors: ["team-a", "team-b"] }, { ...DENIED, error: new ResolverError("ERR_SELECTOR_NOT_GRANTED", "another") },
  ];
  for (const refusal of [DENIED, ...others]) refusals.tell(refusal);
  t.equal(lines.length, 6);
  const [, , , , , last = DENIED] = [DENIED, ...others];
  await clock.advance(10 * MINUTE - 1);
  refusals.tell(last);
  t.equal(lines.length, 6);
  await clock.advance(1);
  refusals.tell(last);
  t.match(lines.at(-1), { reason: "another", left_out: 1 });
  refusals.tell(last);
  await clock.advance(20 * MINUTE);
  refusals.tell(last);
  t.equal(lines.length, 8, "long after it is new, and nothing is owed");
});

test("whoever is not believed gets one line for each code and path, whatever words vary", (t) => {
  const { refusals, lines, counted } = subject();
  for (let i = 0; i < 100; i++) {
    refusals.tell({ error: new ResolverError("ERR_REQUEST_HOST", `header ${i}`), path: "unknown", asked: null, selectors: [] });
    refusals.tell({ error: new ResolverError("ERR_TOKEN_INVALID", "no token"), path: "unknown", asked: null, selectors: [] });
  }
  t.equal(lines.length, 2);
  t.notOk("asked" in (lines[0] ?? {}));
  t.equal(counted.filter((what) => what === "host").length, 100);
  t.equal(counted.filter((what) => what === "token").length, 100);
  t.end();
});

test("of ever new refusals a thousand are told apart, and the others are one", async (t) => {
  const { refusals, lines, clock } = subject();
  const tell = (i: number): void => refusals.tell({ ...DENIED, asked: { name: `team-${i}` } });
  for (let i = 0; i < 3_000; i++) tell(i);
  t.equal(lines.length, 1_001);
  await clock.advance(10 * MINUTE);
  tell(5_000);
  t.equal(lines.length, 1_002, "room again");
  t.match(lines.at(-1), { asked: { name: "team-5000" } });
});

test("an unexpected fault is an error with its place, and without its words", (t) => {
  const { refusals, lines } = subject();
  refusals.tell({ ...DENIED, error: new ResolverError("ERR_INTERNAL", "A fault of the sidecar"), cause: new TypeError("planted detail") });
  refusals.tell({ ...DENIED, asked: {}, error: new ResolverError("ERR_INTERNAL", "A fault of the sidecar"), cause: "planted text" });
  t.match(lines, [{ level: "error", msg: "request failed", fault: "TypeError", stack: [/^at .*rejection-log\.test/] }, { fault: "string" }]);
  t.notMatch(JSON.stringify(lines), /planted/);
  t.end();
});
