// What STS may do to a sidecar, against the real process: each row is a fault, what a cold request is answered meanwhile, and how soon it is mended.
import { t as root, test, type Test } from "tap";
import type { STSCall } from "../../cli/local/sts-emulator/emulator.ts";
import { type Fault, THROTTLED } from "../../cli/local/sts-emulator/faults.ts";
import { stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { elementOf, type VendedKeys, WHO } from "../sidecar/sts/signed-request.ts";
import { until } from "./apiserver/until.ts";
import { type Answer, BASE, PLANTED, PlantedSidecar } from "./planted-sidecar.ts";
import { ANSWER_LIMIT_MS } from "./server-process.ts";

/** What is wanted of each answer, in seconds, as a bucket of their histogram. */
const WANTED = "0.9";
/** A call that hangs is given up after 5 s, and backing off counts from its start. */
const RECOVERY_LIMIT_MS = 7_000;
/** Longer than the pause between two trials of the circuit. */
const OUTAGE_MS = 6_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Status and code of the credential path, and of /sts. */
type Expected = readonly [path: string, sts: string];

interface Row {
  readonly name: string;
  readonly expected: Expected;
  readonly fault?: (call: STSCall) => Fault | null;
  /** By how much STS's clock is ahead. */
  readonly aheadMs?: number;
  /** Nobody listens where STS was. */
  readonly gone?: true;
  /** It is about the sidecar itself, which is then not ready. */
  readonly unready?: true;
  /** What mends it beside the end of the fault. */
  readonly mend?: (sidecar: PlantedSidecar, names: readonly string[]) => Promise<unknown>;
}

const GRANTED: Expected = ["200 ok", "200 ok"];
const UNAVAILABLE: Expected = ["503 ERR_STS_UNAVAILABLE", "503 ServiceUnavailable"];

/** STS quotes what it was sent: of AssumeRole that is what the selector says, too. */
function refuse({ action }: STSCall, code: string, status: number): Fault {
  const extras = action === "AssumeRole" ? `, value '${PLANTED}-external-id' at 'externalId', '${PLANTED}-tag-value' at 'tags'` : "";
  return { do: "refuse", code, status, message: `No: key ${BASE.secretAccessKey}, token ${BASE.sessionToken}${extras}.` };
}

/** A refusal is remembered for a minute, and forgotten as soon as the selector is another. */
async function rewriteSelectors(sidecar: PlantedSidecar, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => sidecar.writeSelector(name, { "example.com/mended": "yes" })));
}

const ROWS: readonly Row[] = [
  { name: "is gone: connections are refused", gone: true, expected: UNAVAILABLE },
  { name: "resets each connection", fault: () => ({ do: "reset" }), expected: UNAVAILABLE },
  { name: "takes requests and never answers", fault: () => ({ do: "hang" }), expected: UNAVAILABLE },
  { name: "answers a character each 20 ms", fault: () => ({ do: "drip" }), expected: UNAVAILABLE },
  { name: "throttles, with 400", fault: () => THROTTLED, expected: UNAVAILABLE },
  { name: "answers 500", fault: (call) => refuse(call, "InternalFailure", 500), expected: UNAVAILABLE },
  { name: "answers half a document", fault: () => ({ do: "truncate" }), expected: UNAVAILABLE },
  { name: "points elsewhere", fault: () => ({ do: "redirect", location: "http://127.0.0.1:1/" }), expected: UNAVAILABLE },
  {
    name: "denies the role, with 403", fault: (call) => (call.action === "AssumeRole" ? refuse(call, "AccessDenied", 403) : null), mend: rewriteSelectors,
    expected: ["503 ERR_STS_REFUSED", "403 AccessDenied"],
  },
  {
    name: "says that the sidecar's own token has expired", fault: (call) => refuse(call, "ExpiredToken", 403), unready: true,
    expected: ["503 ERR_BASE_UNAVAILABLE", "503 ServiceUnavailable"],
  },
  { name: "has a clock 10 minutes ahead", aheadMs: 10 * MINUTE_MS, expected: GRANTED },
  { name: "has a clock 10 minutes behind", aheadMs: -10 * MINUTE_MS, expected: GRANTED },
];

/** A selector of its own for each way in each row, so that every request is cold. */
function coldNames(row: number): readonly [path: string, sts: string] {
  return [`cold-${row}-path`, `cold-${row}-sts`];
}

const CROWD = 200;
const OUTAGE = Array.from({ length: 8 }, (_, i) => `outage-${i}`);

root.setTimeout(120_000);

test("a sidecar process whose STS goes through every fault", async (t) => {
  t.setTimeout(120_000);
  const sidecar = await PlantedSidecar.start(t, ["warm", ...ROWS.flatMap((_, i) => coldNames(i)), "crowd", ...OUTAGE]);
  const keys = await sidecar.keys();
  t.same(await warm(sidecar, keys), HEALTHY, "before any");
  for (const [i, row] of ROWS.entries()) {
    await t.test(`STS ${row.name}`, async (tt) => outlives(tt, { sidecar, keys }, row, coldNames(i)));
  }
  await t.test("STS hangs, and 200 ask for one role at once and again", async (tt) => answersACrowd(tt, sidecar));
  await t.test("STS is dead for long: after 5 failures it is left alone but for a trial each 5 s", async (tt) => leavesAlone(tt, sidecar));
  t.ok(sidecar.refusals.length > 2 * OUTAGE.length, `${sidecar.refusals.length} refusals were read`);
  t.same(await sidecar.leaks(), [], "no secret is in any line of the log, metric or refusal");
  t.match(JSON.stringify(sidecar.server.log), /\[redacted\]/, "although STS had quoted them");
  const { all, wanted } = await answered(sidecar);
  t.ok(all > sidecar.refusals.length, "all are counted");
  t.comment(`${wanted} of ${all} requests were answered within ${WANTED} s of their head`);
  t.equal(await sidecar.server.stop(), 0, "and it ends as it should");
});

interface Subject {
  readonly sidecar: PlantedSidecar;
  readonly keys: VendedKeys;
}

async function outlives(t: Test, { sidecar, keys }: Subject, row: Row, names: readonly [path: string, sts: string]): Promise<void> {
  sidecar.aheadMs = row.aheadMs ?? 0;
  sidecar.faults = row.fault ?? (() => null);
  if (row.gone === true) await sidecar.sts.close();
  const askedMs = Date.now();
  const ask = async (): Promise<readonly Answer[]> => Promise.all([sidecar.credentials(names[0]), sidecar.assume(keys, names[1])]);
  const cold = await ask();
  t.same(cold.map(told), row.expected, "a cold request, by path and at /sts");
  for (const { ms } of cold) t.ok(ms < ANSWER_LIMIT_MS, `answered in ${Math.round(ms)} ms`);
  for (const answer of cold) t.ok(answer.status !== 200 || endOf(answer) <= askedMs + HOUR_MS + 1_000, "nothing is said to live for longer than was asked");
  t.same(await warm(sidecar, keys), HEALTHY, "what is warm goes on, and it is alive");
  t.equal((await sidecar.health("/readyz")).status, row.unready === true ? 503 : 200, "readiness");
  sidecar.aheadMs = 0;
  sidecar.faults = () => null;
  if (row.gone === true) await sidecar.startSTS();
  await row.mend?.(sidecar, names);
  const mendedMs = performance.now();
  const mended = await until(async () => (await ask()).every(({ status }) => status === 200), RECOVERY_LIMIT_MS);
  t.ok(mended, `mended within ${Math.round(performance.now() - mendedMs)} ms`);
  t.equal((await sidecar.health("/readyz")).status, 200, "ready again");
}

const HEALTHY = ["200 ok", "200 ok", "200 ok", "200"];

/** A role that is kept by path and at /sts, who the controller is, and liveness. */
async function warm(sidecar: PlantedSidecar, keys: VendedKeys): Promise<readonly string[]> {
  const answers = await Promise.all([sidecar.credentials("warm"), sidecar.assume(keys, "warm"), sidecar.askSTS(keys, { body: WHO })]);
  return [...answers.map((answer) => (answer.ms < ANSWER_LIMIT_MS ? told(answer) : `${told(answer)} in ${answer.ms} ms`)), String((await sidecar.health("/healthz")).status)];
}

/** Two rounds in 10 s, of callers that are told in time, and at most 3 calls. */
async function answersACrowd(t: Test, sidecar: PlantedSidecar): Promise<void> {
  sidecar.faults = () => ({ do: "hang" });
  const calls = sidecar.sts.calls.length;
  const slowest: number[] = [];
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(Array.from({ length: CROWD }, () => sidecar.credentials("crowd")));
    t.same([...new Set(answers.map(told))], [UNAVAILABLE[0]]);
    slowest.push(Math.max(...answers.map(({ ms }) => Math.round(ms))));
  }
  t.comment(`the slowest of each round had its answer after ${slowest.join(" and ")} ms, which is ${CROWD} connections made at once beside the wait`);
  t.ok(sidecar.sts.calls.length - calls <= 3, `${sidecar.sts.calls.length - calls} calls of STS`);
  sidecar.faults = () => null;
  t.ok(await until(async () => (await sidecar.credentials("crowd")).status === 200, RECOVERY_LIMIT_MS), "and given once STS is back");
}

async function leavesAlone(t: Test, sidecar: PlantedSidecar): Promise<void> {
  sidecar.faults = () => ({ do: "reset" });
  const answers: Answer[] = [];
  const ask = async (): Promise<readonly Answer[]> => Promise.all(OUTAGE.map((name) => sidecar.credentials(name)));
  const isOpen = async (): Promise<boolean> => {
    answers.push(...(await ask()));
    return (await sidecar.health("/metrics")).body.includes('sidecar_circuit_state{state="open"} 1\n');
  };
  t.ok(await until(isOpen, ANSWER_LIMIT_MS), "the circuit opens");
  const calls = sidecar.sts.calls.length;
  await until(async () => {
    answers.push(...(await ask()));
    return false;
  }, OUTAGE_MS);
  t.ok(sidecar.sts.calls.length - calls <= 2, `${sidecar.sts.calls.length - calls} calls of STS in ${OUTAGE_MS} ms of ${answers.length} requests`);
  t.same([...new Set(answers.map(told))], [UNAVAILABLE[0]]);
  const slowestMs = Math.max(...answers.map(({ ms }) => ms));
  t.ok(slowestMs < ANSWER_LIMIT_MS, `the slowest was answered in ${Math.round(slowestMs)} ms`);
  sidecar.faults = () => null;
  const backMs = performance.now();
  t.ok(await until(async () => (await ask()).every(({ status }) => status === 200), RECOVERY_LIMIT_MS), `all are back within ${Math.round(performance.now() - backMs)} ms`);
  for (const change of ["circuit opened", "circuit closed"]) t.equal(sidecar.server.log.filter(({ msg }) => String(msg).startsWith(change)).length, 1, `${change}, once`);
}

/** How many requests were answered, and how many of them in how long, as the sidecar counts. */
async function answered(sidecar: PlantedSidecar): Promise<{ readonly all: number; readonly wanted: number }> {
  const lines = (await sidecar.health("/metrics")).body.split("\n").filter((line) => line.includes("sidecar_request_duration_seconds_bucket{"));
  const sum = (le: string): number => lines.filter((line) => line.includes(`le="${le}"`)).reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
  return { all: sum("+Inf"), wanted: sum(WANTED) };
}

function told({ status, code }: Answer): string {
  return `${status} ${code}`;
}

/** When the session is said to end. */
function endOf({ body }: Answer): number {
  return Date.parse(elementOf(body, "Expiration") ?? stringAt(JSON.parse(body), "Expiration") ?? "");
}
