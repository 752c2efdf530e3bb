// Runs a real sidecar while STS fails. Tests uncached requests, cached sessions, and the recovery.
import { t as root, test, type Test } from "tap";
import type { STSCall } from "../../cli/local/sts-emulator/emulator.ts";
import { type Fault, THROTTLED } from "../cli/local/sts-emulator/faults.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { elementOf, type VendedKeys, WHO } from "../sidecar/sts/signed-request.ts";
import { until } from "./apiserver/until.ts";
import { BASE, type MeasuredResponse, PLANTED, PlantedSidecar } from "./planted-sidecar.ts";
import { RESPONSE_LIMIT_MS } from "./server-process.ts";

/** The target for the response time in seconds, which is also a bucket of the histogram. */
const TARGET = "0.9";
/**
 * The maximum time until the sidecar has recovered, in ms. A hanging STS call times out after 5 s, and the backoff
 * starts at the start of the call.
 */
const RECOVERY_LIMIT_MS = 7_000;
/** This time is longer than the interval between two probes of an open circuit. */
const OUTAGE_MS = 6_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The expected status and error code of the credentials endpoint, and of /sts. */
type Expected = readonly [path: string, sts: string];

interface Row {
  readonly name: string;
  readonly expected: Expected;
  readonly fault?: (call: STSCall) => Fault | null;
  /** How far the clock of STS is ahead of the local clock, in ms. */
  readonly aheadMs?: number;
  /** STS is stopped. */
  readonly stopped?: true;
  /** Set if the fault concerns the base identity, so that the sidecar is not ready. */
  readonly unready?: true;
  /** Corrects the cause of the fault after the fault has ended. */
  readonly fix?: (sidecar: PlantedSidecar, names: readonly string[]) => Promise<unknown>;
}

const GRANTED: Expected = ["200 ok", "200 ok"];
const UNAVAILABLE: Expected = ["503 ERR_STS_UNAVAILABLE", "503 ServiceUnavailable"];

/**
 * Returns an error that quotes the request, as STS does. For AssumeRole, this error includes annotations of the
 * selector.
 */
function errorOf({ action }: STSCall, code: string, status: number): Fault {
  const extras = `, value '${PLANTED}-external-id' at 'externalId', '${PLANTED}-tag-value' at 'tags'`;
  const quoted = `key ${BASE.secretAccessKey}, token ${BASE.sessionToken}${action === "AssumeRole" ? extras : ""}`;
  return { do: "reject", code, status, message: `No: ${quoted}.` };
}

/** The sidecar caches a denial for 60 s, but calls STS immediately after the selector changed. */
async function rewriteSelectors(sidecar: PlantedSidecar, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => sidecar.writeSelector(name, { "example.com/fixed": "yes" })));
}

const ROWS: readonly Row[] = [
  { name: "is stopped", stopped: true, expected: UNAVAILABLE },
  { name: "resets every connection", fault: () => ({ do: "reset" }), expected: UNAVAILABLE },
  { name: "never responds", fault: () => ({ do: "hang" }), expected: UNAVAILABLE },
  { name: "sends one character every 20 ms", fault: () => ({ do: "drip" }), expected: UNAVAILABLE },
  { name: "throttles with 400", fault: () => THROTTLED, expected: UNAVAILABLE },
  { name: "returns 500", fault: (call) => errorOf(call, "InternalFailure", 500), expected: UNAVAILABLE },
  { name: "returns a truncated document", fault: () => ({ do: "truncate" }), expected: UNAVAILABLE },
  { name: "redirects", fault: () => ({ do: "redirect", location: "http://127.0.0.1:1/" }), expected: UNAVAILABLE },
  {
    name: "denies the role with 403", expected: ["503 ERR_STS_REFUSED", "403 AccessDenied"], fix: rewriteSelectors,
    fault: (call) => (call.action === "AssumeRole" ? errorOf(call, "AccessDenied", 403) : null),
  },
  {
    name: "rejects the base token as expired", fault: (call) => errorOf(call, "ExpiredToken", 403), unready: true,
    expected: ["503 ERR_BASE_UNAVAILABLE", "503 ServiceUnavailable"],
  },
  { name: "has a clock 10 minutes ahead", aheadMs: 10 * MINUTE_MS, expected: GRANTED },
  { name: "has a clock 10 minutes behind", aheadMs: -10 * MINUTE_MS, expected: GRANTED },
];

/** Returns different selectors for each row and endpoint, so that every request is uncached. */
function uncachedNames(row: number): readonly [path: string, sts: string] {
  return [`uncached-${row}-path`, `uncached-${row}-sts`];
}

const CROWD = 200;
const OUTAGE = Array.from({ length: 8 }, (_, i) => `outage-${i}`);

root.setTimeout(120_000);

test("a sidecar responds correctly to each fault of STS", async (t) => {
  t.setTimeout(120_000);
  const names = ["cached", ...ROWS.flatMap((_, i) => uncachedNames(i)), "crowd", ...OUTAGE];
  const sidecar = await PlantedSidecar.start(t, names);
  const keys = await sidecar.keys();
  t.same(await cachedRequests(sidecar, keys), HEALTHY, "requests succeed before the faults start");
  for (const [i, row] of ROWS.entries()) {
    await t.test(`responds correctly if STS ${row.name}`, async (tt) =>
      testRow(tt, { sidecar, keys }, row, uncachedNames(i)),
    );
  }
  await t.test("responds in time if STS hangs while 200 clients request one role twice", async (tt) =>
    testCrowd(tt, sidecar),
  );
  await t.test("opens the circuit after 5 failures and then probes STS every 5 s", async (tt) =>
    testCircuit(tt, sidecar),
  );
  const errors = sidecar.errorBodies.length;
  t.ok(errors > 2 * OUTAGE.length, `${errors} error responses`);
  t.same(await sidecar.leaks(), [], "the log, metrics and errors contain no secret");
  t.match(JSON.stringify(sidecar.server.log), /\[redacted\]/, "the log redacts secrets that STS quoted");
  const { all, onTarget } = await countResponses(sidecar);
  t.ok(all > errors, "all responses are counted");
  t.comment(`${onTarget} of ${all} responses within ${TARGET} s`);
  t.equal(await sidecar.server.stop(), 0, "the sidecar exits with 0");
});

interface Subject {
  readonly sidecar: PlantedSidecar;
  readonly keys: VendedKeys;
}

async function testRow(t: Test, { sidecar, keys }: Subject, row: Row, names: Expected): Promise<void> {
  sidecar.aheadMs = row.aheadMs ?? 0;
  sidecar.faults = row.fault ?? (() => null);
  if (row.stopped === true) await sidecar.sts.close();
  const startMs = Date.now();
  const request = async (): Promise<readonly MeasuredResponse[]> =>
    Promise.all([sidecar.credentials(names[0]), sidecar.assume(keys, names[1])]);
  const responses = await request();
  t.same(responses.map(textOf), row.expected, "both endpoints return the expected result for an uncached session");
  for (const { ms } of responses) t.ok(ms < RESPONSE_LIMIT_MS, `${Math.round(ms)} ms`);
  for (const response of responses.filter(({ status }) => status === 200)) {
    t.ok(expirationOf(response) <= startMs + HOUR_MS + 1_000, "the session expires no later than requested");
  }
  t.same(await cachedRequests(sidecar, keys), HEALTHY, "cached sessions are served");
  t.equal((await sidecar.health("/readyz")).status, row.unready === true ? 503 : 200, "the readiness is correct");
  sidecar.aheadMs = 0;
  sidecar.faults = () => null;
  if (row.stopped === true) await sidecar.startSTS();
  await row.fix?.(sidecar, names);
  const fixedMs = performance.now();
  const isServed = async (): Promise<boolean> => (await request()).every(({ status }) => status === 200);
  const recovered = await until(isServed, RECOVERY_LIMIT_MS);
  t.ok(recovered, `recovered within ${Math.round(performance.now() - fixedMs)} ms`);
  t.equal((await sidecar.health("/readyz")).status, 200, "the sidecar is ready again");
}

const HEALTHY = ["200 ok", "200 ok", "200 ok", "200"];

/** Requests a cached role from the endpoint and from /sts, the identity of the controller, and liveness. */
async function cachedRequests(sidecar: PlantedSidecar, keys: VendedKeys): Promise<readonly string[]> {
  const responses = await Promise.all([
    sidecar.credentials("cached"), sidecar.assume(keys, "cached"), sidecar.callSTS(keys, { body: WHO }),
  ]);
  const texts = responses.map((one) => (one.ms < RESPONSE_LIMIT_MS ? textOf(one) : `${textOf(one)} in ${one.ms} ms`));
  return [...texts, String((await sidecar.health("/healthz")).status)];
}

/**
 * Sends two rounds of requests within 10 s. Every client must get a response in time, and STS must get at most 3 calls.
 */
async function testCrowd(t: Test, sidecar: PlantedSidecar): Promise<void> {
  sidecar.faults = () => ({ do: "hang" });
  const before = sidecar.sts.calls.length;
  const slowest: number[] = [];
  for (let round = 0; round < 2; round++) {
    const responses = await Promise.all(Array.from({ length: CROWD }, () => sidecar.credentials("crowd")));
    t.same([...new Set(responses.map(textOf))], [UNAVAILABLE[0]]);
    slowest.push(Math.max(...responses.map(({ ms }) => Math.round(ms))));
  }
  t.comment(`slowest response of each round: ${slowest.join(" and ")} ms, including ${CROWD} concurrent connects`);
  const calls = sidecar.sts.calls.length - before;
  t.ok(calls <= 3, `${calls} calls of STS`);
  sidecar.faults = () => null;
  const isServed = async (): Promise<boolean> => (await sidecar.credentials("crowd")).status === 200;
  t.ok(await until(isServed, RECOVERY_LIMIT_MS), "requests succeed after STS recovered");
}

async function testCircuit(t: Test, sidecar: PlantedSidecar): Promise<void> {
  sidecar.faults = () => ({ do: "reset" });
  const earlierLines = sidecar.server.log.length;
  const responses: MeasuredResponse[] = [];
  const request = async (): Promise<readonly MeasuredResponse[]> =>
    Promise.all(OUTAGE.map((name) => sidecar.credentials(name)));
  const isOpen = async (): Promise<boolean> => {
    responses.push(...(await request()));
    return (await sidecar.health("/metrics")).body.includes('sidecar_circuit_state{state="open"} 1\n');
  };
  t.ok(await until(isOpen, RESPONSE_LIMIT_MS), "the circuit opens");
  const before = sidecar.sts.calls.length;
  await until(async () => {
    responses.push(...(await request()));
    return false;
  }, OUTAGE_MS);
  const calls = sidecar.sts.calls.length - before;
  t.ok(calls <= 2, `${calls} calls of STS in ${OUTAGE_MS} ms for ${responses.length} requests`);
  t.same([...new Set(responses.map(textOf))], [UNAVAILABLE[0]]);
  const slowestMs = Math.max(...responses.map(({ ms }) => ms));
  t.ok(slowestMs < RESPONSE_LIMIT_MS, `slowest response: ${Math.round(slowestMs)} ms`);
  sidecar.faults = () => null;
  const fixedMs = performance.now();
  const isServed = async (): Promise<boolean> => (await request()).every(({ status }) => status === 200);
  const recovered = await until(isServed, RECOVERY_LIMIT_MS);
  t.ok(recovered, `recovered within ${Math.round(performance.now() - fixedMs)} ms`);
  for (const change of ["circuit opened", "circuit closed"]) {
    const lines = sidecar.server.log.slice(earlierLines).filter(({ msg }) => String(msg).startsWith(change));
    t.equal(lines.length, 1, `logs "${change}" once`);
  }
}

/**
 * Returns the number of all responses, and the number of responses within the target. Reads both from the metrics of
 * the sidecar.
 */
async function countResponses(sidecar: PlantedSidecar): Promise<{ readonly all: number; readonly onTarget: number }> {
  const { body } = await sidecar.health("/metrics");
  const lines = body.split("\n").filter((line) => line.includes("sidecar_request_duration_seconds_bucket{"));
  const countOf = (le: string): number => {
    const counts = lines.filter((line) => line.includes(`le="${le}"`)).map((line) => Number(line.split(" ").at(-1)));
    return counts.reduce((total, count) => total + count, 0);
  };
  return { all: countOf("+Inf"), onTarget: countOf(TARGET) };
}

function textOf({ status, code }: MeasuredResponse): string {
  return `${status} ${code}`;
}

/** Returns the expiration in the body, in epoch ms. */
function expirationOf({ body }: MeasuredResponse): number {
  return Date.parse(elementOf(body, "Expiration") ?? stringAt(JSON.parse(body), "Expiration") ?? "");
}
